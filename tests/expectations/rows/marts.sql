-- Marts of the raw rows as dbt builds them, as far as the suites check them.
insert into ops.spans values
    ('alpha', 'sacct', timestamp '2026-01-01 02:00', timestamp '2026-01-31 09:00', 'log'),
    ('beta', 'sacct', timestamp '2026-01-01 02:00', timestamp '2026-01-31 09:00', 'log');

insert into marts.dim_clusters by name
select
    cluster_id, is_simulated, 60 as checkpoint_minutes, timestamp '2026-01-01' as study_from_at,
    timestamp '2026-01-03' as study_to_at
from raw.clusters;

insert into marts.fct_attempts by name
select
    cluster_id, cluster_id || ':' || job_id_raw || ':' || epoch(submitted_at)::bigint as attempt_id, job_id,
    job_id_raw, submitted_at, started_at, ended_at, 0 as queue_seconds, 7200 as runtime_seconds, 2 as node_count,
    gpu_count, 32.0::double as gpu_hours, 2 * 7200 / 86400 as node_days, 16 as gpu_size_bin, state,
    true as is_terminal, true as has_ended, state = 'NODE_FAIL' as is_infrastructure_failure,
    if(state = 'NODE_FAIL', 'gpu_unavailable', null) as failure_category
from raw.sacct
where disposition = 'loaded';

insert into marts.fct_attempt_nodes by name
select cluster_id, attempt_id, unnest(['node001', 'node002']) as node_id from marts.fct_attempts;

insert into marts.fct_health_events by name
select
    'alpha' as cluster_id, 'alpha:e1' as event_id, 'node001' as node_id, timestamp '2026-01-01 03:30' as observed_at,
    'kernel' as source, 'xid' as check_name, 79 as code, 'gpu_unavailable' as failure_category,
    'critical' as severity, true as is_evidence;

insert into marts.fct_failures by name
select
    cluster_id, attempt_id, ended_at as failed_at, failure_category, 'window' as attribution_rule,
    true as is_attributed, true as has_coverage, 'node001' as culprit_node_id, 1 as evidence_count,
    attempt_id as incident_id, 8.0::double as lost_gpu_hours
from marts.fct_attempts
where is_infrastructure_failure;

insert into marts.fct_incidents by name
select
    cluster_id, incident_id, failed_at as started_at, failure_category, 1 as attempt_count, 1 as node_count
from marts.fct_failures;

insert into marts.fct_node_outages by name
select
    cluster_id, node_id, started_at as requested_at, started_at, ended_at, false as is_open, reason,
    'host_hardware' as failure_category, false as is_planned
from raw.node_events;

insert into marts.fct_job_runs by name
select
    cluster_id, attempt_id as run_id, 1 as attempt_count, started_at, ended_at, 0.0::double as queue_hours,
    1.5::double as productive_hours, 1.0::double as productive_hours_low, 2.0::double as productive_hours_high,
    0.5::double as unproductive_hours, 2.0::double as wallclock_hours, 0.75::double as ettr, 0.5::double as ettr_low,
    1.0::double as ettr_high, is_infrastructure_failure::int as infrastructure_failure_count
from marts.fct_attempts;

insert into marts.dim_nodes by name
select cluster_id, node_id, gpu_count from raw.nodes;

insert into marts.fct_node_days by name
select
    cluster_id, node_id, date '2026-01-01' as day_date, gpu_count, 96.0::double as allocated_gpu_hours,
    12.0::double as in_use_hours, 1.0::double as out_of_service_hours, 0 as failure_count
from marts.dim_nodes;

insert into marts.agg_job_states by name
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

insert into marts.agg_job_sizes by name
select
    cluster_id, gpu_size_bin, count(*) as job_count, 1.0::double as job_ratio, sum(gpu_hours) as gpu_hours,
    1.0::double as gpu_time_ratio
from marts.fct_attempts
group by all;

insert into marts.agg_failure_rates_by_cause by name
select
    cluster_id, failure_category, count(*) as failure_count, count(*)::double as expected_failure_count,
    192.0::double as gpu_hours, count(*) / 192.0 as failures_per_gpu_hour
from marts.fct_failures
group by all;

insert into marts.agg_cooccurrence by name
select
    'alpha' as cluster_id, 'gpu_unavailable' as failure_category, other as other_category, 1 as failure_count,
    both_count, both_count::double as both_ratio
from (values ('pcie', 0), ('xid 79', 1), ('ipmi critical interrupt', null)) t (other, both_count);

insert into marts.agg_failure_rates_daily by name
select
    'alpha' as cluster_id, date '2026-01-01' + d::int as day_date, 'gpu_unavailable' as failure_category,
    if(d = 0, 1, 0) as failure_count, 1.0::double as node_days, (d + 1)::double as node_days_30d,
    1000.0::double / (d + 1) as failures_per_1000_node_days_30d
from range(2) t (d);

insert into marts.agg_check_introductions by name
select
    'alpha' as cluster_id, 'health_check' as source, 'check_ib' as check_name, 'ib_link' as failure_category,
    timestamp '2026-01-01 01:00' as first_reported_at, timestamp '2026-01-01 03:00' as last_reported_at,
    timestamp '2026-01-01 02:00' as first_failed_at, true as has_good_results, false as is_introduction;

insert into marts.agg_unmapped_signals by name
select
    'alpha' as cluster_id, 'check' as kind, 'my_probe' as signal, 3 as event_count, 2 as node_count,
    timestamp '2026-01-01 01:00' as first_seen_at, timestamp '2026-01-01 03:00' as last_seen_at, 'no answer' as example,
    'alpha/health/a' as example_path, 7 as example_line_number, 0.5 as failed_end_ratio, 0.1 as completed_end_ratio,
    5.0::double as ratio, 2.0::double as ratio_low, 9.0::double as ratio_high;

insert into marts.agg_lost_goodput by name
select
    cluster_id, 16 as gpu_size_bin, count(*) as failure_count, sum(lost_gpu_hours) as first_order_gpu_hours,
    0 as second_order_count, 0.0::double as second_order_gpu_hours
from marts.fct_failures
group by cluster_id;

insert into marts.agg_lost_hours_by_account by name
select
    cluster_id, 'lab' as account, 'ada' as user_name, first_order_gpu_hours as lost_gpu_hours, first_order_gpu_hours,
    second_order_gpu_hours, null::double as lost_cost
from marts.agg_lost_goodput;

insert into marts.agg_lost_hours_by_account_monthly by name
select *, date '2026-01-01' as month_date from marts.agg_lost_hours_by_account;

insert into marts.agg_availability_monthly by name
select
    'alpha' as cluster_id, date '2026-01-01' as month_date, 60.0::double as allocated_node_hours,
    30.0::double as idle_node_hours, 4.0::double as planned_out_node_hours, 5.0::double as failed_node_hours,
    1.0::double as unknown_node_hours, 100.0::double as total_node_hours, 0.0::double as unmapped_node_hours,
    90 / 95::double as availability, 90 / 96::double as availability_low, 91 / 96::double as availability_high,
    0.99::double as objective, 1 - 5 / 0.95 as error_budget_left, 1 - 6 / 0.96 as error_budget_left_low,
    1 - 5 / 0.96 as error_budget_left_high, 5.0::double as burn_rate_1d, 5.0::double as burn_rate_3d,
    'fast' as burn_pace;

insert into marts.agg_crash_loops by name
select
    'alpha' as cluster_id, 'alpha:0:1' as run_id, timestamp '2026-01-01' as started_at,
    timestamp '2026-01-02' as ended_at, 3 as consecutive_failure_count, 4 as failure_count, 2 as victim_count,
    1 as second_order_victim_count, 16 as victim_gpu_count, 24.0::double as lost_gpu_hours;

insert into marts.agg_attribution_controls by name
select
    'alpha' as cluster_id, before_seconds, 300 as after_seconds, before_seconds = 600 as is_configured, is_control,
    16 as gpu_size_bin, 'gpu_unavailable' as failure_category, 4 as attempt_count,
    if(is_control, 0, before_seconds // 600) as hit_count
from (values (600), (1200)) w (before_seconds), (values (true), (false)) g (is_control);
