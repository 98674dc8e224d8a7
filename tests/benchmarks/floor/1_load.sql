-- What a careful analyst writes for clean clusters of one site: load, clean, expand node lists, attribute, aggregate.
-- Nothing that makes a product of it: no quarantine, no account of lines, no provenance, no second dialect, no report.
-- Expects the variables `sources`, the folder that holds one folder of logs per cluster, and `timezone`, that of the site.
-- Lines that are no record or not UTF-8 are left out.
set timezone = 'UTC';
create macro utc(moment) as timezone(getvariable('timezone'), moment)::timestamp;
create macro size_bin(gpus) as case when gpus <= 0 then 0 else pow(2, ceil(log2(gpus)))::integer end;
create macro quarter(moment) as (epoch_us(moment) // 900000000);
create macro lost(seconds, gpus) as least(seconds, 1800) / 3600 * gpus;
create macro expand(hosts) as case
    when not contains(hosts, '[') then string_split(hosts, ',')
    else flatten(list_transform(
        string_split(regexp_extract(hosts, '\[(.*)\]', 1), ','),
        lambda part: list_transform(
            range(split_part(part, '-', 1)::bigint, split_part(part, '-', -1)::bigint + 1),
            lambda i: split_part(hosts, '[', 1) || lpad(i::varchar, length(split_part(part, '-', 1))::integer, '0')
        )
    ))
end;

-- Accounting: typed columns, UTC, one row per attempt.
create temp table records as
select
    hash(Cluster, JobIDRaw, Submit) as attempt_id, Cluster as cluster_id, JobID as job_id,
    JobIDRaw::bigint as job_id_raw,
    nullif(regexp_extract(JobID, '_(\d+)$', 1), '')::bigint as array_task_id, "User" as user_name, Account as account,
    "Partition" as partition, QOS as qos, JobName as job_name, split_part(State, ' ', 1) as state,
    nullif(split_part(State, ' ', 3), '')::bigint as cancelled_by, split_part(ExitCode, ':', 1)::integer as exit_code,
    split_part(ExitCode, ':', 2)::integer as exit_signal,
    split_part(DerivedExitCode, ':', 1)::integer as derived_exit_code,
    utc(Submit::timestamp) as submitted_at, utc(try_cast(Eligible as timestamp)) as eligible_at,
    utc(try_cast(Start as timestamp)) as started_at, utc(try_cast("End" as timestamp)) as ended_at,
    ElapsedRaw::bigint as runtime_seconds, epoch(try_cast(Suspended as interval))::bigint as suspended_seconds,
    NNodes::integer as requested_node_count, nullif(NodeList, 'None assigned') as node_list, AllocTRES as alloc_tres,
    ReqTRES as req_tres, try_cast(TimelimitRaw as bigint) * 60 as time_limit_seconds, Reason as pending_reason,
    Flags as flags, SubmitLine as submit_line
from read_csv(
    getvariable('sources') || '/*/sacct/*.psv', delim = '|', header = true, quote = '', escape = '',
    auto_detect = false, ignore_errors = true,
    columns = {
        'JobID': 'VARCHAR', 'JobIDRaw': 'VARCHAR', 'Cluster': 'VARCHAR', 'User': 'VARCHAR', 'Account': 'VARCHAR',
        'Partition': 'VARCHAR', 'QOS': 'VARCHAR', 'JobName': 'VARCHAR', 'State': 'VARCHAR', 'ExitCode': 'VARCHAR',
        'DerivedExitCode': 'VARCHAR', 'Submit': 'VARCHAR', 'Eligible': 'VARCHAR', 'Start': 'VARCHAR', 'End': 'VARCHAR',
        'ElapsedRaw': 'VARCHAR', 'Suspended': 'VARCHAR', 'NNodes': 'VARCHAR', 'NodeList': 'VARCHAR',
        'AllocTRES': 'VARCHAR', 'ReqTRES': 'VARCHAR', 'TimelimitRaw': 'VARCHAR', 'Reason': 'VARCHAR',
        'Flags': 'VARCHAR', 'SubmitLine': 'VARCHAR'
    }
)
where not contains(JobID, '.');

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

-- Checks are sticky: only the result that changes what a node shows begins something.
create table onsets as
with shown as (
    select
        cluster_id, node_id, check_name, hash(cluster_id, node_id, check_name) as stream, observed_at, result, case
            when result = 0 then 'ok'
            when check_name = 'xid errors' then 'xid ' || regexp_extract(message, 'XID error: (\d+)', 1)
            when check_name = 'ipmitool sel' and regexp_matches(message, 'Bus Fatal|PCI [SP]ERR') then 'pcie'
            when check_name = 'ipmitool sel' and contains(message, 'Uncorrectable ECC') then 'main_memory'
            when check_name = 'ipmitool sel'
                and regexp_matches(message, 'IERR|AC lost|Thermal Trip') then 'host_hardware'
            when result = 2 then check_name else 'warning' end as symptom
    from checks
)
select *, case
    when result = 2 then case symptom
    when 'check blockdev' then 'block_device' when 'check dcgmi nvlink status' then 'gpu_nvlink'
    when 'check ethlink' then 'eth_link' when 'check ibstat' then 'ib_link' when 'link flaps' then 'ib_link'
    when 'check pci' then 'pcie' when 'mounted directory' then 'filesystem_mount'
            when 'mce errors' then 'host_hardware'
        when 'nvidia smi ecc_uncorrected' then 'gpu_memory' when 'nvidia smi gpu_num' then 'gpu_unavailable'
        when 'service status' then 'system_services' when 'pcie' then 'pcie' when 'main_memory' then 'main_memory'
        when 'host_hardware' then 'host_hardware' when 'xid 48' then 'gpu_memory' when 'xid 95' then 'gpu_memory'
        when 'xid 94' then 'gpu_memory' when 'xid 74' then 'gpu_nvlink' when 'xid 79' then 'gpu_unavailable'
        when 'xid 62' then 'gpu_driver_firmware' when 'xid 119' then 'gpu_driver_firmware' end end as category
from (
    select *, lag(symptom) over results as previous_symptom, lag(observed_at) over results as previous_at
    from shown window results as (partition by stream order by observed_at)
)
where symptom <> 'ok' and symptom is distinct from previous_symptom;

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
    nullif(regexp_extract(line, '(?i)node (node\d+)', 1), '') as node_id,
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
