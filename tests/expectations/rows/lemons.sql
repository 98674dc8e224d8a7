-- The search for lemons: one lemon, one other node, a list judged once.
insert into marts.fct_incident_suspects by name
select
    cluster_id, incident_id, culprit_node_id as node_id, true as is_known,
    1.0::double as incident_probability, 1 as suspect_count, failed_at,
    true as is_multi_node, lost_gpu_hours
from marts.fct_failures;

insert into marts.agg_lemon_signals by name
select
    cluster_id, node_id, day_date as window_end_date, 1 as window_days, 0 as excl_jobid_count, 1 as xid_cnt,
    1 as tickets, 1 as out_count, 1 as multi_node_node_fails, 0 as single_node_node_fails,
    null::double as single_node_node_failure_rate, 0 as single_node_attempt_count, 0.5::double as in_use_node_days
from marts.fct_node_days;

insert into estimates.est_lemon_nodes by name
select
    'alpha' as cluster_id, node_id, rank, p as posterior_probability, 1 - p as local_fdr,
    fdr as false_discovery_ratio, rate, rate / 2 as rate_low, rate * 2 as rate_high, verdict, 'words' as reasons,
    0.0::double as inferred_failure_count, 3.0::double as days_since_last_failure,
    0.001::double as p_value, null::varchar as note,
    0.9::double as confidence_level, 'gamma_poisson_mixture' as method, '2' as method_version, failures as event_count,
    80.0::double as exposure, 10.0::double as saved_gpu_hours_per_month, 5.0::double as saved_gpu_hours_per_month_low,
    20.0::double as saved_gpu_hours_per_month_high, 900.0::double as given_up_gpu_hours_per_month,
    7000.0::double as attempts_gpu_hours_per_month, null::varchar as saving_note
from (
    values ('node001', 1, 0.99::double, 0.01::double, 90.0::double, 'lemon', 8), ('node002', 2, 0.01, 0.5, 6.0, 'ok', 0)
) t (node_id, rank, p, fdr, rate, verdict, failures);

insert into estimates.est_lemon_evaluations by name
select
    'alpha' as cluster_id, date '2026-01-28' as window_end_date, date '2026-02-25' as judged_end_date,
    1 as listed_count, 1 as named_count, 1 as bad_count, 2 as judged_count, 40 as large_job_count,
    1.0::double as precision, 0.05::double as precision_low, 1.0::double as precision_high, 1.0::double as recall,
    0.05::double as recall_low, 1.0::double as recall_high, 2.0::double as lift, 0.1::double as lift_low,
    2.0::double as lift_high, 12.0::double as lost_gpu_hours_avoidable, 3.0::double as lost_gpu_hours_avoidable_low,
    30.0::double as lost_gpu_hours_avoidable_high, 0.2::double as large_job_failure_ratio,
    0.1::double as large_job_failure_ratio_low, 0.3::double as large_job_failure_ratio_high,
    0.1::double as large_job_failure_ratio_without_lemons, 0.05::double as large_job_failure_ratio_without_lemons_low,
    0.2::double as large_job_failure_ratio_without_lemons_high, 0.9::double as confidence_level,
    'forward' as method, '2' as method_version,
    4 as event_count, 25.0::double as exposure;
