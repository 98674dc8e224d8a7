"""A few consistent rows in every table that has a suite: two clusters, eight attempts."""

from __future__ import annotations

from pathlib import Path

import duckdb

from assets.warehouse import RAW_SCHEMA
from tests.expectations.lemon_tables import LEMONS

RUN = "run-1"

RAW = """
insert into raw.clusters by name
select
    unnest(['alpha', 'beta']) as cluster_id, false as is_simulated, 'UTC' as timezone, 8 as gpus_per_node,
    600 as attribution_before_seconds, 300 as attribution_after_seconds, []::varchar[] as attribution_priority,
    true as runs_chain, 900 as runs_chain_gap_seconds, 60 as checkpoint_minutes, 5 as restart_minutes,
    0 as write_minutes, 28 as lemon_window_days, 90 as lemon_rate_days,
    '{}'::json as lemon_thresholds, 0.01 as quarantine_max_share, '[]'::json as annotations;

insert into raw.sacct by name
select
    if(i < 6, 'alpha', 'beta') as cluster_id, cluster_id || '/sacct/all.psv' as path, i + 2 as line_number,
    'loaded' as disposition,
    i::varchar as job_id, i as job_id_raw, 'ada' as user_name, 'local' as time_quality,
    timestamp '2026-01-01' + to_hours(i) as submitted_at, timestamp '2026-01-01' + to_hours(i) as started_at,
    timestamp '2026-01-01' + to_hours(i + 2) as ended_at, 7200 as elapsed_seconds, 0 as suspended_seconds,
    case i when 2 then 'NODE_FAIL' when 3 then 'FAILED' else 'COMPLETED' end as state, state as state_raw,
    ['node001', 'node002'] as node_ids, 16 as gpu_count, 'tres' as gpu_count_source,
    []::varchar[] as excluded_node_ids, []::varchar[] as warnings
from range(8) t(i);

insert into raw.sacct by name
select * replace ('duplicate' as disposition, 'alpha/sacct/again.psv' as path) from raw.sacct where job_id_raw = 0;

insert into raw.health_checks by name
select
    'alpha' as cluster_id, 'alpha/health/gcm.jsonl' as path, i as line_number, 'loaded' as disposition,
    'node001' as node_name, 'node001' as node_id, 'check_ib' as check_name, 'OK' as result, 'ran' as result_quality,
    timestamp '2026-01-01' + to_hours(i) as observed_at, []::integer[] as xid_codes
from range(1, 4) t(i);

insert into raw.kernel_messages by name
select
    'alpha' as cluster_id, 'alpha/kernel/syslog.log' as path, 1 as line_number, 'loaded' as disposition,
    'node001' as node_name, 'node001' as node_id, timestamp '2026-01-01 03:59' as occurred_at,
    'second' as time_quality, 'xid' as kind, 79 as code, 1 as repeat_count, 3 as line_count, 'off the bus' as message;

insert into raw.node_events by name
select
    'alpha' as cluster_id, 'alpha/events/events.psv' as path, 1 as line_number, 'loaded' as disposition,
    'node' as event_kind, 'node001' as node_name, 'node001' as node_id, timestamp '2026-01-01 04:00' as started_at,
    timestamp '2026-01-01 05:00' as ended_at, 'DOWN' as state, 'PSU' as reason;

insert into raw.slurmctld_events by name
select
    'alpha' as cluster_id, 'alpha/slurmctld/slurmctld.log' as path, 1 as line_number, 'loaded' as disposition,
    timestamp '2026-01-01 02:00' as logged_at, 'preempted' as kind, 1 as job_id_raw, 2 as instigator_job_id_raw,
    'preempted' as message;

insert into raw.nodes by name
select
    'alpha' as cluster_id, 'alpha/inventory/nodes.txt' as path, i as line_number, 'loaded' as disposition,
    'node00' || i as node_name, 'node00' || i as node_id, timestamp '2026-01-02' as captured_at, 8 as gpu_count,
    64 as cpu_count, []::varchar[] as partitions
from range(1, 3) t(i);

insert into raw.tickets by name
select
    'alpha' as cluster_id, 'alpha/tickets/jira.csv' as path, 2 as line_number, 'loaded' as disposition,
    'OPS-1' as ticket_id, 'node001' as node_name, 'node001' as node_id, timestamp '2026-01-01 06:00' as opened_at,
    timestamp '2026-01-03' as closed_at, 'PSU' as component;

insert into ops.files by name
select
    cluster_id, path, 'hash' as sha256, kind, 'text' as dialect, lines_in, loaded, skipped, quarantined,
    'run-1' as run_id, 100 as size_bytes,
    timestamp '2026-01-02' as modified_at, false as is_partial, []::varchar[] as warnings, '1' as reader
from (values
    ('alpha', 'alpha/sacct/all.psv', 'sacct', 337, 302, 34, 1),
    ('alpha', 'alpha/sacct/again.psv', 'sacct', 2, 0, 2, 0),
    ('beta', 'beta/sacct/all.psv', 'sacct', 3, 2, 1, 0)
) t(cluster_id, path, kind, lines_in, loaded, skipped, quarantined);

insert into ops.skips values
    ('alpha', 'alpha/sacct/all.psv', 'header', 1), ('alpha', 'alpha/sacct/all.psv', 'step', 33),
    ('alpha', 'alpha/sacct/again.psv', 'header', 1), ('alpha', 'alpha/sacct/again.psv', 'duplicate', 1),
    ('beta', 'beta/sacct/all.psv', 'header', 1);

insert into ops.quarantine values
    ('alpha', 'alpha/sacct/all.psv', 12, 'unknown_state', '''FOO''', '9|FOO|');

insert into ops.runs values ('run-1', timestamp '2026-01-03', null, 'running', '0.1.0', null);
"""

MARTS = """
insert into ops.spans values
    ('alpha', 'sacct', timestamp '2026-01-01 02:00', timestamp '2026-01-31 09:00', 'log'),
    ('beta', 'sacct', timestamp '2026-01-01 02:00', timestamp '2026-01-31 09:00', 'log');

create schema marts;

create table marts.dim_clusters as
select
    cluster_id, is_simulated, 60 as checkpoint_minutes, timestamp '2026-01-01' as study_from_at,
    timestamp '2026-01-03' as study_to_at
from raw.clusters;

create table marts.fct_attempts as
select
    cluster_id, cluster_id || ':' || job_id_raw || ':' || epoch(submitted_at)::bigint as attempt_id, job_id,
    job_id_raw, submitted_at, started_at, ended_at, 0 as queue_seconds, 7200 as runtime_seconds, 2 as node_count,
    gpu_count, 32.0::double as gpu_hours, 2 * 7200 / 86400 as node_days, 16 as gpu_size_bin, state,
    true as is_terminal, true as has_ended, state = 'NODE_FAIL' as is_infrastructure_failure,
    if(state = 'NODE_FAIL', 'gpu_unavailable', null) as failure_category
from raw.sacct
where disposition = 'loaded';

create table marts.fct_attempt_nodes as
select cluster_id, attempt_id, unnest(['node001', 'node002']) as node_id from marts.fct_attempts;

create table marts.fct_health_events as
select
    'alpha' as cluster_id, 'alpha:e1' as event_id, 'node001' as node_id, timestamp '2026-01-01 03:30' as observed_at,
    'kernel' as source, 'xid' as check_name, 79 as code, 'gpu_unavailable' as failure_category,
    'critical' as severity, true as is_evidence;

create table marts.fct_failures as
select
    cluster_id, attempt_id, ended_at as failed_at, failure_category, 'window' as attribution_rule,
    true as is_attributed, true as has_coverage, 'node001' as culprit_node_id, 1 as evidence_count,
    attempt_id as incident_id, 8.0::double as lost_gpu_hours
from marts.fct_attempts
where is_infrastructure_failure;

create table marts.fct_incidents as
select
    cluster_id, incident_id, failed_at as started_at, failure_category, 1 as attempt_count, 1 as node_count
from marts.fct_failures;

create table marts.fct_node_outages as
select
    cluster_id, node_id, started_at as requested_at, started_at, ended_at, false as is_open, reason,
    'host_hardware' as failure_category, false as is_planned
from raw.node_events;

create table marts.fct_job_runs as
select
    cluster_id, attempt_id as run_id, 1 as attempt_count, started_at, ended_at, 0.0::double as queue_hours,
    1.5::double as productive_hours, 1.0::double as productive_hours_low, 2.0::double as productive_hours_high,
    0.5::double as unproductive_hours, 2.0::double as wallclock_hours, 0.75::double as ettr, 0.5::double as ettr_low,
    1.0::double as ettr_high, is_infrastructure_failure::int as infrastructure_failure_count
from marts.fct_attempts;

create table marts.dim_nodes as
select cluster_id, node_id, gpu_count from raw.nodes;

create table marts.fct_node_days as
select
    cluster_id, node_id, date '2026-01-01' as day_date, 96.0::double as allocated_gpu_hours,
    12.0::double as in_use_hours, 1.0::double as out_of_service_hours, 0 as failure_count
from marts.dim_nodes;

create table marts.fct_preemptions (
    cluster_id varchar, attempt_id varchar, preempted_at timestamp, instigator_attempt_id varchar,
    is_inferred boolean, is_second_order boolean, lost_gpu_hours double
);

create table marts.agg_job_states as
with shares as (
    select
        cluster_id, state, false as is_infrastructure, count(*) as attempt_count,
        count(*) / sum(count(*)) over (partition by cluster_id) as attempt_ratio, sum(gpu_hours) as gpu_hours,
        sum(gpu_hours) / sum(sum(gpu_hours)) over (partition by cluster_id) as gpu_time_ratio
    from marts.fct_attempts
    group by cluster_id, state
)
from shares
union all
select * replace ('INFRASTRUCTURE' as state, true as is_infrastructure) from shares where state = 'NODE_FAIL';

create table marts.agg_job_sizes as
select
    cluster_id, gpu_size_bin, count(*) as job_count, 1.0::double as job_ratio, sum(gpu_hours) as gpu_hours,
    1.0::double as gpu_time_ratio
from marts.fct_attempts
group by all;

create table marts.agg_failure_rates_by_cause as
select
    cluster_id, failure_category, count(*) as failure_count, count(*)::double as expected_failure_count,
    192.0::double as gpu_hours, count(*) / 192.0 as failures_per_gpu_hour,
    0.1 * count(*) / 192.0 as failures_per_gpu_hour_low, 5.0 * count(*) / 192.0 as failures_per_gpu_hour_high
from marts.fct_failures
group by all;

create table marts.agg_cooccurrence as
select
    'alpha' as cluster_id, 'gpu_unavailable' as failure_category, other as other_category, 1 as failure_count,
    both_count, both_count::double as both_ratio
from (values ('pcie', 0), ('xid 79', 1), ('ipmi critical interrupt', null)) t(other, both_count);

create table marts.agg_failure_rates_daily as
select
    'alpha' as cluster_id, date '2026-01-01' + d::int as day_date, 'gpu_unavailable' as failure_category,
    if(d = 0, 1, 0) as failure_count, 1.0::double as node_days, (d + 1)::double as node_days_30d,
    1000.0::double / (d + 1) as failures_per_1000_node_days_30d
from range(2) t(d);

create table marts.agg_check_introductions as
select
    'alpha' as cluster_id, 'health_check' as source, 'check_ib' as check_name, 'ib_link' as failure_category,
    timestamp '2026-01-01 01:00' as first_reported_at, timestamp '2026-01-01 03:00' as last_reported_at,
    timestamp '2026-01-01 02:00' as first_failed_at, true as has_good_results, false as is_introduction;

create table marts.agg_lost_goodput as
select
    cluster_id, 16 as gpu_size_bin, count(*) as failure_count, sum(lost_gpu_hours) as first_order_gpu_hours,
    0 as second_order_count, 0.0::double as second_order_gpu_hours
from marts.fct_failures
group by cluster_id;

create table marts.agg_lost_hours_by_account as
select
    cluster_id, 'lab' as account, 'ada' as user_name, first_order_gpu_hours as lost_gpu_hours, first_order_gpu_hours,
    second_order_gpu_hours, null::double as lost_cost
from marts.agg_lost_goodput;

create table marts.agg_crash_loops as
select
    'alpha' as cluster_id, 'alpha:0:1' as run_id, timestamp '2026-01-01' as started_at,
    timestamp '2026-01-02' as ended_at, 3 as consecutive_failure_count, 4 as failure_count, 2 as victim_count,
    1 as second_order_victim_count, 16 as victim_gpu_count, 24.0::double as lost_gpu_hours;

create table marts.agg_attribution_controls as
select
    'alpha' as cluster_id, before_seconds, 300 as after_seconds, before_seconds = 600 as is_configured, is_control,
    16 as gpu_size_bin, 'gpu_unavailable' as failure_category, 4 as attempt_count,
    if(is_control, 0, before_seconds // 600) as hit_count
from (values (600), (1200)) w(before_seconds), (values (true), (false)) g(is_control);
"""

# How sure an estimate is and what it rests on: every table of the schema carries these.
EVIDENCE = (
    "0.9::double as confidence_level, 'garwood' as method, '2' as method_version, 1 as event_count, "
    "4.0::double as exposure"
)

ESTIMATES = f"""
create schema estimates;

create table estimates.est_failure_rates as
select
    cluster_id, 'all' as population, unnest(['attempts', 'incidents']) as counted_as, count(*)::double as failure_count,
    count(*)::double as failure_variance, counted_as = 'attempts' as is_reference,
    4.0::double as node_days, 250.0::double * count(*) as failures_per_1000_node_days,
    12.0::double as failures_per_1000_node_days_low, 2000.0::double as failures_per_1000_node_days_high, {EVIDENCE}
from marts.fct_failures
group by cluster_id;

create table estimates.est_mttf_by_size as
select
    cluster_id, 16 as gpu_size_bin, count(*) as failure_count, 12.0::double as runtime_hours,
    12.0::double / count(*) as mttf_hours, 2.0::double as mttf_hours_low, null::double as mttf_hours_high,
    11.0::double as mttf_theory_hours, 5.0::double as mttf_theory_hours_low,
    30.0::double as mttf_theory_hours_high, {EVIDENCE}
from marts.fct_failures
group by cluster_id;

create table estimates.est_mttf_projections as
select
    'alpha' as cluster_id, n as gpu_count, 100.0::double / n as mttf_hours, 50.0::double / n as mttf_hours_low,
    200.0::double / n as mttf_hours_high, 7.2::double * n as failures_30d, 3.0::double * n as failures_30d_low,
    20.0::double * n as failures_30d_high, {EVIDENCE}
from (values (8), (16), (1024)) t(n);

create table estimates.est_ettr_by_size as
select
    'alpha' as cluster_id, 16 as gpu_size_bin, 6 as run_count, 0.75::double as ettr_measured,
    0.5::double as ettr_measured_low, 1.0::double as ettr_measured_high, 0.6::double as ettr_bound_low,
    0.9::double as ettr_bound_high, 0.8::double as ettr_expected, 0.7::double as ettr_expected_low,
    0.9::double as ettr_expected_high, 0.81::double as ettr_expected_exact, 0.7::double as ettr_expected_exact_low,
    null::double as ettr_expected_exact_high, 0.8::double as ettr_expected_v2, 0.7::double as ettr_expected_v2_low,
    0.9::double as ettr_expected_v2_high, {EVIDENCE}
from range(1);

create table estimates.est_ettr_by_qos as
select
    'high' as qos, columns(lambda c: c not like 'ettr_expected%') from estimates.est_ettr_by_size;

create table estimates.est_attribution_chance as
select
    'alpha' as cluster_id, 'gpu_unavailable' as failure_category, 0.25::double as attributed_ratio,
    0.01::double as attributed_ratio_low, 0.75::double as attributed_ratio_high, 0.05::double as chance_ratio,
    0.0::double as chance_ratio_low, 0.5::double as chance_ratio_high, 0.21::double as corrected_ratio,
    0.0::double as corrected_ratio_low, 0.7::double as corrected_ratio_high, {EVIDENCE}
from range(1);

create table estimates.est_attribution_windows as
select * exclude (failure_category), 600 as before_seconds, 300 as after_seconds
from estimates.est_attribution_chance;

create table estimates.est_ettr_grid as
select
    'free_writes' as scenario, 1024 as gpu_count, r as failures_per_1000_node_days, m as checkpoint_minutes,
    5.0::double as restart_minutes, 0.0::double as write_minutes, 1 - r * m / 1000 as ettr_expected,
    1 - r * m / 1100 as ettr_expected_exact, 0.9::double as ettr_target, 110 / r as checkpoint_minutes_longest,
    null::double as confidence_level, 'assumed' as method, '2' as method_version,
    null::bigint as event_count, null::double as exposure
from (values (1.0::double), (6.5)) rates(r), (values (10.0::double), (60.0)) intervals(m);

create table estimates.est_checkpoint_plans as
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
    0.5::double as probability_ettr_ge_target, {EVIDENCE}
from (values (8), (16), (1024)) t(n);

create table estimates.est_scale_tests as
select
    cluster_id, 0.01::double as beta, -0.02::double as beta_low, 0.03::double as beta_high, 0.6::double as p_value,
    true as is_equivalent, 0.05::double as equivalence_margin, 0.9::double as dispersion, 'constant' as verdict,
    {EVIDENCE}
from marts.dim_clusters;

create table estimates.est_rate_changes as
select
    cluster_id, 'all' as failure_category, changed_at, changed_at - interval 2 day as changed_at_low,
    changed_at + interval 2 day as changed_at_high, rate_before, 0.5 * rate_before as rate_before_low,
    2 * rate_before as rate_before_high, 2 * rate_before as rate_after, rate_before as rate_after_low,
    4 * rate_before as rate_after_high,
    2.0::double as ratio, 1.1::double as ratio_low, null::double as ratio_high, 0.01::double as trend_p_value,
    null::varchar as annotation, {EVIDENCE}
from marts.dim_clusters
cross join (values (timestamp '2026-01-10', 1.0::double), (timestamp '2026-02-10', 2.0)) t(changed_at, rate_before);

create table estimates.est_cause_rates as
select
    'alpha' as cluster_id, category as failure_category, k as failure_count, k as incident_count,
    192.0::double as gpu_hours, if(k > 0, k / 192, null) as failures_per_gpu_hour,
    if(k > 0, k / 384, 0) as failures_per_gpu_hour_low, (k + 3) / 192 as failures_per_gpu_hour_high,
    1.0::double as dispersion, {EVIDENCE}
from (values ('gpu_unavailable', 1.0::double), ('pcie', 0.0)) causes(category, k);

create table estimates.est_forecast_scores as
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
    months(month_date, exposure);

create table estimates.est_rate_ratios as
select
    'clusters' as comparison, 'alpha' as cluster_id, 'beta' as other_cluster_id, null::date as boundary_date,
    'all' as population, 'attempts' as counted_as, true as is_reference, 8 as failure_count,
    4.0::double as node_days, 2 as other_failure_count, 4.0::double as other_node_days, 4.0::double as ratio,
    1.1::double as ratio_low, 26.0::double as ratio_high, 0.08::double as p_value, {EVIDENCE}
from range(1);

create table estimates.est_time_to_failure as
select
    cluster_id, 16 as gpu_size_bin, 4 as attempt_count, 0.8::double as weibull_shape,
    0.7::double as weibull_shape_low, 0.9::double as weibull_shape_high, 12.0::double as scale_hours,
    2.0::double as scale_hours_low, null::double as scale_hours_high, 0.01::double as p_value, 'falls' as verdict,
    0.05::double as kolmogorov_distance, 0.4::double as goodness_of_fit_p_value, {EVIDENCE}
from marts.fct_failures
group by cluster_id;
"""


def build(path: Path) -> None:
    """Write the warehouse to a new file."""
    with duckdb.connect(str(path)) as con:
        con.execute(RAW_SCHEMA.read_text(encoding="utf-8"))
        for script in (RAW, MARTS, ESTIMATES, LEMONS):
            con.execute(script)
