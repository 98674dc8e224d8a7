-- What happens on a made-up cluster of many users with short, small jobs. Nothing here is taken from the simulator.
-- Expects the variables `nodes`, `days`, `attempts` and `episodes`. All chance is a hash, so that logs can be made again.
--
-- The cluster is cut into lanes. A lane is some GPUs of one node, or all GPUs of four nodes, and runs one job after the
-- other; every lane runs equally many. So no job waits for another lane, and no GPU is given to two jobs.
set timezone = 'UTC';
create macro chance(what, lane, i) as (hash(what, lane, i) % 1000000 + 0.5) / 1000000;
create macro node_name(number) as 'node' || lpad((number + 1)::varchar, 4, '0');
create macro began_at() as timestamp '2024-01-01';
create macro gpus_per_node() as 4;
create macro nodes_per_wide_lane() as 4;
create macro narrow_nodes() as getvariable('nodes') - nodes_per_wide_lane() * greatest(1, getvariable('nodes') // 80);

create table lanes as
select (row_number() over (order by node, part) - 1)::integer as lane, *
from (
    select node, unnest(range(parts)) as part, gpus_per_node() // parts as gpus, 1 as node_count,
        if(parts = 1, 'whole', 'shared') as partition
    from (select n::integer as node, case when n % 10 = 4 then 1 when n % 10 in (1, 7) then 2 else 4 end as parts
        from range(narrow_nodes()) as numbers (n))
    union all
    select n, 0, gpus_per_node() * nodes_per_wide_lane(), nodes_per_wide_lane(), 'wide'
    from range(narrow_nodes(), getvariable('nodes'), nodes_per_wide_lane()) as numbers (n)
);

-- One number decides how an attempt ends, so that neighbours in a lane know it of each other without a join.
create macro fate(lane, i) as chance('fate', lane, i);
create macro loses_node(lane, i) as fate(lane, i) < 0.0004;
create macro is_requeued(lane, i) as fate(lane, i) between 0.0004 and 0.002;
create macro fails_by_fault(lane, i) as fate(lane, i) between 0.002 and 0.003;
create macro is_preempted(lane, i) as fate(lane, i) between 0.003 and 0.006;
-- Every second attempt at most starts a job again.
create macro continues(lane, i) as i % 2 = 1 and (loses_node(lane, i - 1) or is_requeued(lane, i - 1));

create temp table stays as
with weighed as (
    select lane, i::integer as i, pow(ln(chance('length', lane, i)), 2) as length,
        -0.1 * ln(chance('gap', lane, i)) + if(fate(lane, i) < 0.003, 0.5, 0) as gap
    from lanes, range(getvariable('attempts') // (select count(*) from lanes)) as numbers (i)
), placed as (
    select lane, i, length, coalesce(sum(length + gap) over (
            partition by lane order by i rows between unbounded preceding and 1 preceding
        ), 0) as place, sum(length + gap) over (partition by lane) as total
    from weighed
)
select lane, i,
    began_at() + to_seconds(floor(86400 * getvariable('days') * place / total)::bigint) as started_at,
    began_at() + to_seconds(floor(86400 * getvariable('days') * (place + length) / total)::bigint) as ended_at
from placed;

-- Twenty neighbours in a lane may be tasks of one array: submitted together, run one after the other.
create table attempts as
with numbered as (
    select *, if(continues(lane, i), i - 1, i) as job, i // 20 as batch,
        first_value(started_at) over (partition by lane, i // 20 order by i) as batch_started_at,
        lag(ended_at) over (partition by lane order by i) as previous_ended_at
    from stays
), named as (
    select *, chance('array', lane, batch) < 0.4 as is_array, floor(600 * pow(chance('user', lane, if(
            chance('array', lane, batch) < 0.4, batch * 20, job)), 2))::integer as user_number
    from numbered
)
select
    n.lane, n.i, l.node, l.gpus, l.node_count, l.partition, n.user_number, n.started_at, n.ended_at,
    1000000 + n.job * (select count(*) from lanes) + n.lane as job_id_raw,
    if(n.is_array, 1000000 + n.batch * 20 * (select count(*) from lanes) + n.lane, null) as array_job_id,
    if(n.is_array, n.job % 20, null) as array_task_id,
    'run' || floor(30 * pow(chance('name', n.lane, if(n.is_array, n.batch, n.job)), 3))::integer as job_name,
    case when n.job < n.i then n.previous_ended_at
        else if(n.is_array, n.batch_started_at, n.started_at)
            + to_seconds(floor(900 * ln(chance('wait', n.lane, if(n.is_array, n.batch * 20, n.i))))::bigint)
    end as submitted_at,
    case when is_preempted(n.lane, n.i) then 'low' when is_preempted(n.lane, n.i - 1) then 'high' else 'normal' end
        as qos,
    case
        when loses_node(n.lane, n.i) then 'NODE_FAIL' when is_requeued(n.lane, n.i) then 'REQUEUED'
        when is_preempted(n.lane, n.i) then 'PREEMPTED'
        when fails_by_fault(n.lane, n.i) or fate(n.lane, n.i) < 0.15 then 'FAILED'
        when fate(n.lane, n.i) < 0.21 then 'CANCELLED' when fate(n.lane, n.i) < 0.235 then 'TIMEOUT'
        when fate(n.lane, n.i) < 0.245 then 'OUT_OF_MEMORY' else 'COMPLETED'
    end as state
from named n join lanes l using (lane);

-- A fault ends an attempt, and shows on its first node within five minutes before.
create table faults as
select *, ended_at - to_seconds((20 + 250 * chance('seen', lane, i))::bigint) as seen_at
from (
    select lane, i, node, job_id_raw, state, ended_at, floor(7 * chance('cause', lane, i))::integer + 1 as cause
    from attempts where loses_node(lane, i) or fails_by_fault(lane, i)
);
create table causes as
select *, row_number() over ()::integer as cause from (values
    ('nvidia smi gpu_num', 79, 'GPU has fallen off the bus.'),
    ('nvidia smi ecc_uncorrected', 48, 'DBE (double bit error) ECC error'),
    ('check dcgmi nvlink status', 74, 'NVLink: fatal error detected on link 2'),
    ('check ibstat', null, null), ('check pci', null, null), ('mounted directory', null, null),
    ('check blockdev', null, null)
) as causes (check_name, code, message);

-- Checks write down only what is not well and the result after it: nearly all of it warnings and wear.
create table nuisances as
select *, row_number() over ()::integer as nuisance from (values
    ('disk usage', 1, 'Disk usage of / is 91 %, the threshold is 90 %.'),
    ('check zombie', 1, '3 zombie processes were found.'),
    ('check ethlink', 1, 'Ethernet link eth0 has the speed 10000, expected 25000.'),
    ('nvidia smi gpu_temp', 2, 'GPU 1: the temperature is 88, the threshold is 84.'),
    ('nvidia smi ecc_corrected', 2, 'GPU 2: corrected volatile ECC errors are above the threshold, 1204 > 1000.'),
    ('nvidia smi row_remap_pending', 2, 'GPU 0: a row remap is pending.'),
    ('nvidia smi mem_usage', 2, 'GPU 3: 1202 MiB are in use without a process.'),
    ('service status', 2, 'The service munge is not running.')
) as nuisances (check_name, result, message);
create table episodes as
select node, check_name, result, message, began_at, 600 as period,
    1 + floor(-8.5 * ln(chance('lasts', node, number)))::integer as record_count
from (
    select
        floor(getvariable('nodes') * chance('node', n, 0))::integer as node, n as number,
        began_at() + to_seconds((86400 * getvariable('days') * chance('at', n, 0))::bigint) as began_at,
        -- Of a service that is down there is little: it is evidence, the others are not.
        if(chance('down', n, 0) < 0.01, 8, floor(7 * chance('kind', n, 0))::integer + 1) as nuisance
    from range(getvariable('episodes')) as numbers (n)
) join nuisances using (nuisance)
union all
select node, check_name, 2, 'The check failed: ' || check_name, seen_at, 300, 8
from faults join causes using (cause);
