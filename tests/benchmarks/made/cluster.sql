-- What happens on a made-up cluster. Nothing here is taken from the simulator. The sizes and the habits of the cluster
-- are variables (`made.py`); `messages` is the CSV of what checks say, `check_names` that of the checks of the seeds.
-- All chance is a hash, so that logs can be made again.
--
-- The cluster is cut into lanes, and a lane runs one job after the other: some GPUs of one node, or all of many nodes,
-- some left out by each job. So no job waits for another lane, and no GPU is given to two jobs.
set timezone = 'UTC';
create macro chance(what, lane, i) as (hash(what, lane, i) % 1000000 + 0.5) / 1000000;
create macro began_at() as getvariable('began_at')::timestamp;
create macro in_days(share) as to_milliseconds((86400000.0 * getvariable('days') * share)::bigint);
create macro rack_of(node) as node // getvariable('nodes_per_rack');
-- `node0007`, or in racks `a01-g07`.
create macro rack_name(rack) as if(
    getvariable('nodes_per_rack') > 100, 'node', chr(97 + (rack % 5)::integer) || lpad((rack // 5 + 1)::varchar, 2, '0') || '-g'
);
create macro node_number(node) as lpad(
    (node % getvariable('nodes_per_rack') + 1)::varchar, if(getvariable('nodes_per_rack') > 100, 4, 2), '0'
);
create macro node_name(node) as rack_name(rack_of(node)) || node_number(node);
create macro narrow_nodes() as
    getvariable('nodes') - 4 * greatest(1, floor(getvariable('nodes') * getvariable('wide_share') / 4)::bigint);
-- Users by a power law: of all attempts the first has 1 - 2 ** -power.
create macro drawn_user(number) as ((floor(pow(number, -1 / getvariable('user_power'))) - 1) % 900)::integer;
-- The first node has so many times the episodes of any other.
create macro drawn_node(number) as greatest(
    floor((getvariable('nodes') + getvariable('hot_node') - 1) * number)::integer - getvariable('hot_node') + 1, 0
);

create table lane_nodes as
with places as (
    select n::integer as node,
        row_number() over (order by if(getvariable('is_scattered'), hash(n), n)) - 1 as place
    from range(getvariable('nodes')) as numbers (n)
)
select *, (dense_rank() over (order by is_wide, lane_key) - 1)::integer as lane
from (
    select node, false as is_wide, place * 8 + unnest(range(parts)) as lane_key,
        getvariable('gpus_per_node') // parts as gpus
    from (select *, getvariable('parts')[(place % len(getvariable('parts')) + 1)::integer] as parts from places)
    where place < narrow_nodes()
    union all
    -- The widest lane has a fifth of these nodes, the next a fifth of what is left then, and so on; or all have four.
    select node, true, if(
        getvariable('is_scattered'),
        floor(ln((getvariable('nodes') - place) / (getvariable('nodes') - narrow_nodes())) / ln(0.8)),
        (place - narrow_nodes()) // 4
    ), getvariable('gpus_per_node')
    from places where place >= narrow_nodes()
);
create table lanes as
select lane, any_value(is_wide) as is_wide, any_value(gpus) as gpus, min(node) as first_node
from lane_nodes group by lane;

-- One number decides how an attempt ends, so that neighbours in a lane know it of each other without a join.
create macro fate(lane, i) as chance('fate', lane, i);
create macro is_between(lane, i, first) as
    fate(lane, i) >= getvariable('fates')[first] and fate(lane, i) < getvariable('fates')[first + 1];
create macro loses_node(lane, i) as is_between(lane, i, 1);
create macro is_requeued(lane, i) as is_between(lane, i, 2);
create macro fails_by_fault(lane, i) as is_between(lane, i, 3);
create macro is_preempted(lane, i) as is_between(lane, i, 4);
-- Every second attempt at most starts a job again.
create macro continues(lane, i) as i % 2 = 1 and (loses_node(lane, i - 1) or is_requeued(lane, i - 1));

create temp table stays as
with weighed as (
    select lane, i::integer as i, pow(ln(chance('length', lane, i)), 2) as length,
        -0.1 * ln(chance('gap', lane, i)) + if(fate(lane, i) < getvariable('fates')[4], 0.5, 0) as gap
    from lanes, range(getvariable('attempts') // (select count(*) from lanes)) as numbers (i)
), placed as (
    select lane, i, length, coalesce(sum(length + gap) over (
            partition by lane order by i rows between unbounded preceding and 1 preceding
        ), 0) as place, sum(length + gap) over (partition by lane) as total
    from weighed
)
select lane, i, began_at() + to_seconds(floor(86400 * getvariable('days') * place / total)::bigint) as started_at,
    began_at() + to_seconds(floor(86400 * getvariable('days') * (place + length) / total)::bigint) as ended_at
from placed;

-- `a01-g[02,05-07],b04-g11`: runs of neighbours in a rack, then racks.
create temp table wide_lists as
with wide_nodes as (
    select s.lane, s.i, n.node
    from stays s join lanes l using (lane) join lane_nodes n using (lane)
    where l.is_wide and (
        not getvariable('is_scattered') or n.node = l.first_node
        or chance('kept', hash(s.lane, s.i), n.node) < 0.3 + 0.7 * chance('keep', s.lane, s.i)
    )
), runs as (
    select lane, i, rack_of(node) as rack, min(node) as first, max(node) as last, min(node_name(node)) as name
    from (select *, node - row_number() over (partition by lane, i order by node) as run from wide_nodes)
    group by lane, i, rack, run
), racks as (
    select lane, i, rack, count(*) > 1 or bool_or(last > first) as has_several, any_value(name) as name, string_agg(
            node_number(first) || if(last > first, '-' || node_number(last), ''), ',' order by first
        ) as parts, sum(last - first + 1) as node_count
    from runs group by lane, i, rack
)
select lane, i, sum(node_count)::integer as node_count,
    string_agg(if(has_several, rack_name(rack) || '[' || parts || ']', name), ',' order by rack_name(rack)) as node_list
from racks group by lane, i;

-- Twenty neighbours in a lane may be tasks of one array: submitted together, run one after the other.
create table attempts as
with numbered as (
    select *, if(continues(lane, i), i - 1, i) as job, i // 20 as batch,
        chance('array', lane, i // 20) < getvariable('array_share') as is_array,
        first_value(started_at) over (partition by lane, i // 20 order by i) as batch_started_at,
        lag(ended_at) over (partition by lane order by i) as previous_ended_at
    from stays
)
select
    n.lane, n.i, l.first_node as node, n.started_at, n.ended_at, coalesce(w.node_count, 1) as node_count,
    l.gpus * coalesce(w.node_count, 1) as gpus, coalesce(w.node_list, node_name(l.first_node)) as node_list,
    if(l.is_wide, 'wide', if(l.gpus = getvariable('gpus_per_node'), 'whole', 'shared')) as partition,
    drawn_user(chance('user', n.lane, if(n.is_array, n.batch * 20, n.job // 6))) as user_number,
    1000000 + n.job * (select count(*) from lanes) + n.lane as job_id_raw,
    if(n.is_array, 1000000 + n.batch * 20 * (select count(*) from lanes) + n.lane, null) as array_job_id,
    if(n.is_array, n.job % 20, null) as array_task_id,
    if(chance('named', n.lane, n.batch) < getvariable('few_names'),
        'run' || floor(30 * pow(chance('name', n.lane, if(n.is_array, n.batch, n.job)), 3))::integer,
        printf('%s_%08x', strftime(n.started_at, '%m%d'), hash(n.lane, n.job) % 4294967296)) as job_name,
    case when n.job < n.i then n.previous_ended_at else if(n.is_array, n.batch_started_at, n.started_at)
        + to_seconds(floor(900 * ln(chance('wait', n.lane, if(n.is_array, n.batch * 20, n.i))))::bigint)
    end as submitted_at,
    case when is_preempted(n.lane, n.i) then 'low' when is_preempted(n.lane, n.i - 1) then 'high' else 'normal' end
        as qos,
    case
        when loses_node(n.lane, n.i) then 'NODE_FAIL' when is_requeued(n.lane, n.i) then 'REQUEUED'
        when is_preempted(n.lane, n.i) then 'PREEMPTED'
        when fails_by_fault(n.lane, n.i) or fate(n.lane, n.i) < getvariable('fates')[6] then 'FAILED'
        when is_between(n.lane, n.i, 6) then 'CANCELLED' when is_between(n.lane, n.i, 7) then 'TIMEOUT'
        when is_between(n.lane, n.i, 8) then 'OUT_OF_MEMORY' else 'COMPLETED'
    end as state
from numbered n join lanes l using (lane) left join wide_lists w using (lane, i);

-- What checks say: of a cause of failures (`kind` is its Xid, or nothing), of wear and nuisances, or of every check.
create temp table written as
select * from read_csv(getvariable('messages'), delim = ';', header = true, quote = '', all_varchar = true)
where cluster = getvariable('cluster');
create table causes as
select (row_number() over ())::integer as cause, check_name, message, number::integer as code, kernel_message
from written where kind = 'cause';
-- A fault ends an attempt, and shows on one of its nodes within five minutes before.
create table faults as
select lane, i, node, job_id_raw, state, ended_at, floor((select count(*) from causes) * chance('cause', lane, i))::integer + 1
    as cause, ended_at - to_seconds((20 + 250 * chance('seen', lane, i))::bigint) as seen_at
from attempts where loses_node(lane, i) or fails_by_fault(lane, i);

create table wordings as
with general as (
    select row_number() over (partition by kind) - 1 as place, * from written where check_name = '*'
), said as (
    select check_name, kind::integer as result, message, unnest(range(coalesce(number::integer, 1))) as copy
    from written where check_name <> '*' and kind <> 'cause'
    union all
    select c.check_key, g.kind::integer, g.message, 0
    from read_csv(getvariable('check_names'), header = true) c join general g on hash(c.check_key) % 4 = g.place
)
select (row_number() over (order by hash(check_name, message, copy)) - 1)::integer as wording, check_name, result, message
from said;
-- Checks write down only what is not well and, mostly, the result after it. Some do no more than that.
create table episodes as
select node, number, check_name, result, message, began_at, period,
    if(is_only_good, 0, 1 + floor(-8.5 * ln(chance('lasts', number, 0)))::integer) as bad_count,
    is_only_good or chance('recovers', number, 0) < if(result = 1, getvariable('warnings_end'), getvariable('failures_end'))
        as has_recovery
from (
    select
        n as number, drawn_node(chance('node', n, 0)) as node, began_at() + in_days(chance('at', n, 0)) as began_at,
        floor((select count(*) from wordings) * pow(chance('wording', n, 0), getvariable('wording_power')))::integer
            as wording,
        chance('only good', n, 0) < getvariable('only_good') as is_only_good,
        300 * (1 + floor(6 * chance('period', n, 0))::integer) as period
    from range(getvariable('episodes')) as numbers (n)
) join wordings using (wording)
union all
select node, 1000000000 + 100000 * lane + i, check_name, 2, message, seen_at, 300, 4, true
from faults join causes using (cause);
