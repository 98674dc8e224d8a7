-- Two clusters, eight attempts and one repeated line; every kind of log has a row.
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
from range(8) t (i);

insert into raw.sacct by name
select * replace ('duplicate' as disposition, 'alpha/sacct/again.psv' as path) from raw.sacct where job_id_raw = 0;

insert into raw.health_checks by name
select
    'alpha' as cluster_id, 'alpha/health/gcm.jsonl' as path, i as line_number, 'loaded' as disposition,
    'node001' as node_name, 'node001' as node_id, 'check_ib' as check_name, 'OK' as result, 'ran' as result_quality,
    timestamp '2026-01-01' + to_hours(i) as observed_at, []::integer[] as xid_codes
from range(1, 4) t (i);

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
from range(1, 3) t (i);

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
) t (cluster_id, path, kind, lines_in, loaded, skipped, quarantined);

insert into ops.skips values
    ('alpha', 'alpha/sacct/all.psv', 'header', 1), ('alpha', 'alpha/sacct/all.psv', 'step', 33),
    ('alpha', 'alpha/sacct/again.psv', 'header', 1), ('alpha', 'alpha/sacct/again.psv', 'duplicate', 1),
    ('beta', 'beta/sacct/all.psv', 'header', 1);

insert into ops.quarantine values
    ('alpha', 'alpha/sacct/all.psv', 12, 'unknown_state', '''FOO''', '9|FOO|');

insert into ops.runs values ('run-1', timestamp '2026-01-03', null, 'running', '0.1.0', null);
