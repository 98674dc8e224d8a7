-- What one would write by hand for one clean cluster: no quarantine, no time zones, no duplicates, no accounting of lines.
create table attempts as
select
    JobIDRaw::bigint as job_id_raw,
    "User" as user_name,
    Account as account,
    JobName as job_name,
    split_part(State, ' ', 1) as state,
    Submit::timestamp as submitted_at,
    Start::timestamp as started_at,
    "End"::timestamp as ended_at,
    ElapsedRaw::bigint as runtime_seconds,
    NNodes::integer as node_count,
    NodeList as node_list,
    regexp_extract(AllocTRES, 'gres/gpu=(\d+)', 1)::integer as gpu_count
from read_csv(getvariable('folder') || '/bench/sacct/*.psv', delim = '|', header = true, quote = '', escape = '', all_varchar = true)
where not contains(JobID, '.');

create table node_lists as
select
    node_list,
    case
        when contains(node_list, '[')
            then list_transform(
                range(
                    regexp_extract(node_list, '\[(\d+)-', 1)::integer,
                    regexp_extract(node_list, '-(\d+)\]', 1)::integer + 1
                ),
                lambda i: 'n' || lpad(i::varchar, 4, '0')
            )
        else [node_list]
    end as nodes
from (select distinct node_list from attempts);

create table attempt_nodes as
select a.job_id_raw, a.submitted_at, unnest(l.nodes) as node_id
from attempts a
join node_lists l using (node_list);

create table kernel_events as
select
    split_part(line, ' ', 1)::timestamptz::timestamp as occurred_at,
    split_part(line, ' ', 2) as node_id,
    regexp_extract(line, '\): (\d+),', 1)::integer as code
from read_csv(
    getvariable('folder') || '/bench/kernel/*.log', delim = chr(1), header = false, quote = '', escape = '',
    columns = {'line': 'VARCHAR'}, auto_detect = false
);

create table checks as
select
    "normal".node as node_id,
    "normal".health_check as check_name,
    "int".result as result,
    make_timestamp(("double".end_time * 1000000)::bigint) as observed_at
from read_json(
    getvariable('folder') || '/bench/health/*.jsonl', format = 'newline_delimited',
    columns = {'int': 'STRUCT(result INTEGER)', 'double': 'STRUCT(end_time DOUBLE)', 'normal': 'STRUCT(node VARCHAR, health_check VARCHAR)'}
);

create table onsets as
select node_id, check_name, observed_at
from (
    select *, lag(result) over (partition by node_id, check_name order by observed_at) as before
    from checks
)
where result = 2 and before is distinct from 2;

create table failures as
select distinct on (a.job_id_raw, a.submitted_at) a.*, e.node_id as culprit, e.code
from attempts a
join attempt_nodes n using (job_id_raw, submitted_at)
left join (
    select node_id, occurred_at, code from kernel_events where code in (48, 74, 79, 94, 119)
    union all
    select node_id, observed_at, null from onsets
) e
    on e.node_id = n.node_id
    and e.occurred_at between greatest(a.started_at, a.ended_at - interval 10 minute) and a.ended_at + interval 5 minute
where a.state in ('NODE_FAIL', 'FAILED') and (a.state = 'NODE_FAIL' or e.node_id is not null)
order by a.job_id_raw, a.submitted_at, abs(epoch(e.occurred_at) - epoch(a.ended_at));

create table job_states as
select state, count(*) as attempt_count, sum(gpu_count * runtime_seconds / 3600) as gpu_hours
from attempts group by all;

create table job_sizes as
select 2 ** ceil(log2(gpu_count)) as gpu_size_bin, count(*) as job_count, sum(gpu_count * runtime_seconds / 3600) as gpu_hours
from attempts group by all;

create table failure_rate as
select
    (select count(*) from failures where gpu_count > 128) as failure_count,
    sum(node_count * runtime_seconds) / 86400 as node_days
from attempts where gpu_count > 128;
