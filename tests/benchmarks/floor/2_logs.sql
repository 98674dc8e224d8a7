-- Exports overlap: of several records of one attempt the one that ended counts.
delete from records where rowid in (
    select rowid from records
    where attempt_id in (select attempt_id from records group by attempt_id having count(*) > 1)
    qualify row_number() over (partition by attempt_id order by ended_at desc nulls last) > 1
);
create temp table tres as
select
    tres, nullif(regexp_extract(tres, 'gres/gpu=(\d+)', 1), '')::integer as gpus,
    nullif(regexp_extract(tres, 'gres/gpu:(\w+)=', 1), '') as gpu_type,
    nullif(regexp_extract(tres, 'cpu=(\d+)', 1), '')::integer as cpus,
    nullif(regexp_extract(tres, 'mem=(\d+)M', 1), '')::bigint as memory_mib
from (select alloc_tres as tres from records union select req_tres from records);
create table node_lists as
select node_list, expand(node_list) as nodes from (select distinct node_list from records where node_list is not null);

-- Kernel, health checks, node events, controller's log, inventory, tickets.
create table kernel_events as
select *, case kind
    when 'xid' then case
    when code in (48, 64, 94, 95, 140, 157, 161, 171, 172) then 'gpu_memory'
    when code in (46, 54, 79, 143) then 'gpu_unavailable'
    when code in (61, 62, 110, 119, 120, 158) then 'gpu_driver_firmware'
    when code in (74, 136) then 'gpu_nvlink' when code in (80, 167, 173) then 'pcie' end
    when 'sxid' then if(contains(message, ', Fatal'), 'gpu_nvlink', null) when 'aer' then 'pcie'
    when 'ue' then 'main_memory'
    when 'mce' then 'host_hardware' when 'ib' then 'ib_link' when 'eth' then 'eth_link'
    when 'nfs' then 'filesystem_mount'
    when 'io' then 'block_device' end as category
from (
    select
        parse_path(filename)[-3] as cluster_id, split_part(line, ' ', 2) as node_id,
        split_part(line, ' ', 1)::timestamptz::timestamp as observed_at, line[position('] ' in line) + 2:] as message,
        case
            when contains(line, 'NVRM: Xid') then 'xid' when contains(line, ': SXid') then 'sxid'
            when contains(line, 'AER: Uncorrected (Fatal)') then 'aer' when contains(line, ' UE ') then 'ue'
            when contains(line, ' CE ') then 'ce' when contains(line, 'Machine Check Exception') then 'mce'
            when regexp_matches(line, ' ib\w*: Link down') then 'ib' when contains(line, ': Link down') then 'eth'
            when contains(line, 'nfs: server') and contains(line, 'not responding') then 'nfs'
            when regexp_matches(line, 'I/O error|controller is down') then 'io'
            when contains(line, 'out of memory') then 'oom'
            when contains(line, 'Linux version') then 'boot'
        end as kind,
        nullif(regexp_extract(line, 'S?Xid \(PCI:[0-9a-f:.]+\): (\d+),', 1), '')::integer as code
    from read_csv(
        getvariable('sources') || '/*/kernel/*.log', delim = chr(1), header = false, quote = '', escape = '',
        auto_detect = false, ignore_errors = true, columns = {'line': 'VARCHAR'}, filename = true
    )
)
where kind is not null;

create table checks as
select
    "normal".cluster as cluster_id, "normal".node as node_id, "normal".health_check as check_name,
    "int".result as result,
    "normal"."type" as check_type, nullif("int".job_id, 0) as job_id_raw,
    make_timestamp(("double".end_time * 1000000)::bigint) as observed_at,
    case when "int".result > 0 then "normal"._msg end as message
from read_json(
    getvariable('sources') || '/*/health/*.jsonl*', format = 'newline_delimited', ignore_errors = true, columns = {
        'int': 'STRUCT(result UTINYINT, job_id BIGINT)', 'double': 'STRUCT(end_time DOUBLE)',
        'normal': 'STRUCT(node VARCHAR, "cluster" VARCHAR, health_check VARCHAR, "type" VARCHAR, _msg VARCHAR)'
    }
)
where "int".result <= 2;

create table controller as
select
    parse_path(filename)[-3] as cluster_id, utc(line[2:24]::timestamp) as logged_at, case
        when contains(line, 'preempted JobId=') then 'preempted'
        when contains(line, '] Requeuing JobId=') then 'requeued'
        when regexp_matches(line, 'due to failure of node|on failed node') then 'node_failure'
        when contains(line, 'reason set to: ') then 'reason' when contains(line, 'state set to') then 'state'
        when contains(line, 'Prolog or job env setup failure') then 'prolog'
        when contains(line, 'not responding') then 'silent'
        when regexp_matches(line, 'now responding|returned to service') then 'returned' end as kind,
    nullif(regexp_extract(line, 'JobId=(?:\d+_\d+\()?(\d+)', 1), '')::bigint as job_id_raw,
    nullif(regexp_extract(line, 'resources for JobId=(?:\d+_\d+\()?(\d+)', 1), '')::bigint as instigator_job_id,
    nullif(regexp_extract(line, '(?i)\bnode ([a-z]\w*(?:-\w+)?\d)\b', 1), '') as node_id,
    nullif(split_part(line, 'set to: ', 2), '') as reason, nullif(split_part(line, 'state set to ', 2), '') as state
from read_csv(
    getvariable('sources') || '/*/slurmctld/*', delim = chr(1), header = false, quote = '', escape = '',
    auto_detect = false, ignore_errors = true, columns = {'line': 'VARCHAR'}, filename = true
)
where kind is not null;

create table outages as
with rows_read as (
    select
        "Cluster" as cluster_id, NodeName as node_id, utc(TimeStart::timestamp) as started_at,
        utc(try_cast(TimeEnd as timestamp)) as ended_at, rtrim(State, '*') as state, Reason as reason,
        starts_with(Reason, 'maint') as is_planned
    from read_csv(getvariable('sources') || '/*/events/*.psv', delim = '|', header = true, quote = '',
        all_varchar = true)
    where NodeName is not null
), numbered as (
    select *, sum(coalesce(started_at > previous_end + interval 60 second or reason <> previous_reason, true)::integer)
        over (partition by cluster_id, node_id order by started_at) as outage_number
    from (
        select *, lag(coalesce(ended_at, timestamp '9999-01-01')) over node_rows as previous_end,
            lag(reason) over node_rows as previous_reason
        from rows_read window node_rows as (partition by cluster_id, node_id order by started_at)
    )
)
select
    cluster_id, node_id, min(started_at) as started_at, case
        when count(*) = count(ended_at) then max(ended_at) end as ended_at,
    min_by(state, started_at) as state, min_by(reason, started_at) as reason, bool_and(is_planned) as is_planned
from numbered group by cluster_id, node_id, outage_number;

create table nodes as
select
    parse_path(filename)[-3] as cluster_id, regexp_extract(line, 'NodeName=(\S+)', 1) as node_id,
    regexp_extract(line, 'gres/gpu=(\d+)', 1)::integer as gpu_count, regexp_extract(line, ' State=(\S+)', 1) as state
from read_csv(
    getvariable('sources') || '/*/inventory/*.txt', delim = chr(1), header = false, quote = '', escape = '',
    auto_detect = false, columns = {'line': 'VARCHAR'}, filename = true
);
create table tickets as
select
    parse_path(filename)[-3] as cluster_id, ticket_id, node as node_id,
    utc(opened::timestamp) as opened_at, utc(try_cast(closed as timestamp)) as closed_at, component, action, status,
    summary
from read_csv(getvariable('sources') || '/*/tickets/*.csv', header = true, all_varchar = true, filename = true);
