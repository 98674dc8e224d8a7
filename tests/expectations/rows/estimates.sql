-- Estimates that agree with the marts and with each other; build() adds their uncertainty.
insert into estimates.est_failure_rates by name
select
    cluster_id, 'all' as population, unnest(['attempts', 'incidents']) as counted_as, count(*)::double as failure_count,
    count(*)::double as failure_variance, counted_as = 'attempts' as is_reference,
    4.0::double as node_days, 250.0::double * count(*) as failures_per_1000_node_days,
    12.0::double as failures_per_1000_node_days_low, 2000.0::double as failures_per_1000_node_days_high
from marts.fct_failures
group by cluster_id;

insert into estimates.est_failure_rates_monthly by name
select *, date '2026-01-01' as month_date, 30 as seen_days from estimates.est_failure_rates;

insert into estimates.est_lost_gpu_hours by name
select
    cluster_id, period, 'all' as loss, 4.0::double as lost_gpu_hours, 2.0::double as expected_lost_gpu_hours,
    1.0::double as expected_lost_gpu_hours_low, 4.0::double as expected_lost_gpu_hours_high,
    0.9::double as confidence_level, 'weighted_poisson' as method, '2' as method_version, 1.0::double as event_count,
    30.0::double as exposure
from marts.dim_clusters
cross join (values ('study'), ('last_30_days'), ('30_days_before')) as periods (period);

insert into estimates.est_mttf_by_size by name
select
    cluster_id, 16 as gpu_size_bin, count(*) as failure_count, 12.0::double as runtime_hours,
    12.0::double / count(*) as mttf_hours, 2.0::double as mttf_hours_low, null::double as mttf_hours_high,
    11.0::double as mttf_theory_hours, 5.0::double as mttf_theory_hours_low,
    30.0::double as mttf_theory_hours_high
from marts.fct_failures
group by cluster_id;

insert into estimates.est_mttf_projections by name
select
    'alpha' as cluster_id, n as gpu_count, 100.0::double / n as mttf_hours, 50.0::double / n as mttf_hours_low,
    200.0::double / n as mttf_hours_high, 7.2::double * n as failures_30d, 3.0::double * n as failures_30d_low,
    20.0::double * n as failures_30d_high
from (values (8), (16), (1024)) t (n);

insert into estimates.est_ettr_by_size by name
select
    'alpha' as cluster_id, 16 as gpu_size_bin, 6 as run_count, 0.75::double as ettr_measured,
    0.5::double as ettr_measured_low, 1.0::double as ettr_measured_high, 0.6::double as ettr_bound_low,
    0.9::double as ettr_bound_high, 0.8::double as ettr_expected, 0.7::double as ettr_expected_low,
    0.9::double as ettr_expected_high, 0.81::double as ettr_expected_exact, 0.7::double as ettr_expected_exact_low,
    null::double as ettr_expected_exact_high, 0.8::double as ettr_expected_v2, 0.7::double as ettr_expected_v2_low,
    0.9::double as ettr_expected_v2_high, 0.9::double as progress_ratio, 0.8::double as progress_ratio_low,
    1.0::double as progress_ratio_high, 0.85::double as progress_ratio_bound_low,
    0.95::double as progress_ratio_bound_high, 20::double as queue_hours, 3::double as restart_hours,
    5::double as lost_work_hours, 2::double as write_hours, 90::double as productive_hours,
    120::double as wallclock_hours;

insert into estimates.est_ettr_by_qos by name
select
    'high' as qos, columns('cluster_id|gpu_size_bin|run_count|ettr_(measured|bound)|progress_ratio|_hours$')
from estimates.est_ettr_by_size;

insert into estimates.est_ettr_grid by name
select
    'free_writes' as scenario, 1024 as gpu_count, r as failures_per_1000_node_days, m as checkpoint_minutes,
    5.0::double as restart_minutes, 0.0::double as write_minutes, 1 - r * m / 1000 as ettr_expected,
    1 - r * m / 1100 as ettr_expected_exact, 0.9::double as ettr_target, 110 / r as checkpoint_minutes_longest,
    null::double as confidence_level, 'assumed' as method, '2' as method_version,
    null::bigint as event_count, null::double as exposure
from (values (1.0::double), (6.5)) rates (r), (values (10.0::double), (60.0)) intervals (m);

insert into estimates.est_checkpoint_plans by name
select
    'alpha' as cluster_id, n as gpu_count, 6.5::double as failures_per_1000_node_days,
    5.0::double as failures_per_1000_node_days_low, 8.0::double as failures_per_1000_node_days_high,
    100.0::double / n as mttf_hours, 50.0::double / n as mttf_hours_low, 200.0::double / n as mttf_hours_high,
    7.2::double * n as expected_interruptions, floor(3.0::double * n) as expected_interruptions_low,
    ceil(9.0::double * n) as expected_interruptions_high, 60.0::double as checkpoint_minutes_young,
    55.0::double as checkpoint_minutes_daly, 55.0::double as checkpoint_minutes_optimal,
    50.0::double as checkpoint_minutes_optimal_low, null::double as checkpoint_minutes_optimal_high,
    1 - n / 2048 as ettr_optimal, 0.4 - n / 4096 as ettr_optimal_low, 1.0::double as ettr_optimal_high,
    0.3::double as ettr_run_low, 0.9::double as ettr_run_high, 0.9::double as ettr_target,
    0.5::double as probability_ettr_ge_target
from (values (8), (16), (1024)) t (n);

insert into estimates.est_scale_tests by name
select
    cluster_id, 0.01::double as beta, -0.02::double as beta_low, 0.03::double as beta_high, 0.6::double as p_value,
    true as is_equivalent, 0.05::double as equivalence_margin, 0.9::double as dispersion, 'constant' as verdict
from marts.dim_clusters;

insert into estimates.est_rate_changes by name
select
    cluster_id, 'all' as failure_category, changed_at, changed_at - interval 2 day as changed_at_low,
    changed_at + interval 2 day as changed_at_high, rate_before, 0.5 * rate_before as rate_before_low,
    2 * rate_before as rate_before_high, 2 * rate_before as rate_after, rate_before as rate_after_low,
    4 * rate_before as rate_after_high,
    2.0::double as ratio, 1.1::double as ratio_low, null::double as ratio_high, 0.01::double as trend_p_value,
    null::varchar as annotation
from marts.dim_clusters
cross join (values (timestamp '2026-01-10', 1.0::double), (timestamp '2026-02-10', 2.0)) t (changed_at, rate_before);

insert into estimates.est_cause_rates by name
select
    'alpha' as cluster_id, category as failure_category, 'attempts' as counted_as, k as failure_count, k as incident_count,
    192.0::double as gpu_hours, if(k > 0, k / 192, null) as failures_per_gpu_hour,
    if(k > 0, k / 384, 0) as failures_per_gpu_hour_low, (k + 3) / 192 as failures_per_gpu_hour_high,
    1.0::double as dispersion
from (values ('gpu_unavailable', 1.0::double), ('pcie', 0.0)) causes (category, k);

insert into estimates.est_check_scores by name
select
    'alpha' as cluster_id, check_name, onsets as event_count, onsets as judged_count, 4 as survived_count,
    share as true_share, low, high,
    60.0::double as lead_seconds, 1.0::double as false_per_node_month, 0.5::double as false_per_node_month_low,
    2.0::double as false_per_node_month_high, 3.0::double as drained_node_hours, 2.0::double as alone_count,
    1.0::double as lost_count, verdict,
    'node-days' as exposure_unit, 'posterior_weighted' as method, 0.9::double as confidence_level, '2' as method_version,
    30.0::double as exposure
from (values
    ('check pci', 40, 0.9::double, 0.7::double, 1.0::double, 'keep'), ('link flaps', 40, 0.0, 0.0, 0.1, 'drop')
) as checks (check_name, onsets, share, low, high, verdict);

insert into estimates.est_hidden_failures by name
select
    'alpha' as cluster_id, 'failed_early' as kind, node_id, odds_ratio, 0.5 * odds_ratio as low, 2 * odds_ratio as high,
    0.1 / odds_ratio as q_value, odds_ratio > 2 as is_suspect, 3.0::double as expected_count, 9 as attempt_count,
    2 as user_count, 'mantel_haenszel' as method, 'jobs' as exposure_unit, 0.9::double as confidence_level,
    '2' as method_version, 3 * odds_ratio as event_count, 30.0::double as exposure
from (values ('n1', 1.0::double), ('n2', 4.0)) as nodes (node_id, odds_ratio);

insert into estimates.est_hidden_failures by name
select
    'alpha' as cluster_id, 'idle_gpus' as kind, false as is_suspect, 3 as attempt_count, 1 as user_count,
    12.0::double as held_gpu_hours, 'measured' as method, 'GPU-hours' as exposure_unit, 0.9::double as confidence_level,
    '2' as method_version, 3.0::double as event_count, 40.0::double as exposure;

insert into estimates.est_changes by name
select
    'alpha' as cluster_id, kind as change_kind, timestamp '2026-01-10' as changed_at, 'pcie' as failure_category,
    changed_at as last_changed_at, kind as change, ratio, 0.5 * ratio as low, 2 * ratio as high, 0.001::double as p_value,
    0.01::double as q_value, 0.6::double as smallest_ratio, verdict, 1.0::double as dispersion, 8 as changed_node_count,
    8 as node_count, 'before_after' as method, 'node-days' as exposure_unit, 0.9::double as confidence_level,
    '2' as method_version, 30.0::double as event_count, 400.0::double as exposure
from (values ('driver', 0.4::double, 'helped'), ('check', 2.0, 'cannot tell')) as changes (kind, ratio, verdict);

insert into estimates.est_evidence_reach by name
select
    'alpha' as cluster_id, month_date, 0.8::double as reach, 0.6::double as low, 0.9::double as high,
    false as is_at_most, true as is_doubtful, 4.0::double as counted_count, 1 as late_seen_count, 1.0::double as late_count,
    0.0::double as late_count_low, 1.0::double as late_count_high, 4.0::double as compared_count,
    3.0::double as both_count, 1.0::double as unseen_count, 0.0::double as unseen_count_low,
    2.0::double as unseen_count_high, []::varchar[] as one_source_categories, 'attempts' as exposure_unit,
    'two_sources' as method, 0.9::double as confidence_level, '2' as method_version, 4.0::double as event_count,
    8.0::double as exposure
from (values (null::date), (date '2026-01-01')) as months (month_date);

insert into estimates.est_forecast_scores by name
select
    'alpha' as cluster_id, month_date, month_date < '2026-03-01' as is_over, 100.0::double as month_node_days,
    if(is_over, 100.0, null)::double as node_days, if(is_over, 2.0, null)::double as failure_count,
    100.0::double as node_days_expected, 2.5::double as failures_expected, 0.0::double as failures_expected_low,
    6.0::double as failures_expected_high, 25.0::double as rate_expected, 0.0::double as rate_expected_low,
    60.0::double as rate_expected_high, if(is_over, true, null) as has_rate_inside,
    if(is_over, -1.5, null)::double as log_score, if(is_over, -2.0, null)::double as log_score_naive,
    0.9::double as confidence_level, 'negative_binomial' as method, '2' as method_version,
    exposure / 50 as event_count, exposure
from (values (date '2026-01-01', 0.0::double), (date '2026-02-01', 100.0), (date '2026-03-01', 200.0))
    months (month_date, exposure);

insert into estimates.est_repairs by name
select
    'alpha' as cluster_id, failure_category, 'reboot' as repair_action, 4 as repair_count,
    0.25::double as relapse_7d_ratio, 0.1::double as relapse_7d_ratio_low, 0.5::double as relapse_7d_ratio_high,
    0.5::double as relapse_30d_ratio, 0.2::double as relapse_30d_ratio_low, 0.8::double as relapse_30d_ratio_high,
    2.0::double as repair_hours, 0.001::double as p_value, 'relapses sooner' as verdict, 0.9::double as confidence_level,
    'kaplan_meier' as method, '2' as method_version, 2.0::double as event_count, 40.0::double as exposure
from (values ('all'), ('pcie')) as causes (failure_category);

insert into estimates.est_location_rates by name
select
    'alpha' as cluster_id, 'rack' as place_kind, place, verdict, 8 as node_count, 6.0::double as ratio,
    3.0::double as low, 9.0::double as high, 0.01::double as q_value, 0 as burst_count,
    0.1::double as expected_burst_count, 0.0::double as common_cause_share, 0.9::double as common_cause_q_value,
    25.0::double as failures_per_1000_node_days, 20.0::double as failures_per_1000_node_days_low,
    31.0::double as failures_per_1000_node_days_high, 9.5::double as mttf_hours, 7.0::double as mttf_hours_low,
    13.0::double as mttf_hours_high, 8.0::double as independent_mttf_hours, 0.9::double as confidence_level,
    'garwood' as method, '2' as method_version, 12.0::double as event_count, 480.0::double as exposure
from (values ('r1', 'fails more')) as places (place, verdict);

insert into estimates.est_rate_ratios by name
select
    'clusters' as comparison, 'alpha' as cluster_id, 'beta' as other_cluster_id, null::date as boundary_date,
    'all' as population, 'attempts' as counted_as, true as is_reference, 8 as failure_count,
    4.0::double as node_days, 2 as other_failure_count, 4.0::double as other_node_days, 4.0::double as ratio,
    1.1::double as ratio_low, 26.0::double as ratio_high, 0.08::double as p_value;

insert into estimates.est_time_to_failure by name
select
    cluster_id, 16 as gpu_size_bin, 4 as attempt_count, 0.8::double as weibull_shape,
    0.7::double as weibull_shape_low, 0.9::double as weibull_shape_high, 12.0::double as scale_hours,
    2.0::double as scale_hours_low, null::double as scale_hours_high, 0.01::double as p_value, 'falls' as verdict,
    0.05::double as kolmogorov_distance, 0.4::double as goodness_of_fit_p_value
from marts.fct_failures
group by cluster_id;
