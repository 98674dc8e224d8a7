-- What happens on a made-up cluster whose checks say much and whose large jobs hold whatever nodes were free.
-- Expects the variables `nodes`, `days`, `attempts`, `episodes`, `messages` (a CSV of wordings) and `check_names` (a
-- CSV of checks). All chance is a hash, so that logs can be made again.
--
-- The cluster is cut into lanes, and a lane runs one job after the other: some GPUs of one node, or many nodes, of
-- which each job leaves out others. So no GPU is given to two jobs, and few node lists are alike.
set timezone = 'UTC';
create macro chance(what, lane, i) as (hash(what, lane, i) % 1000000 + 0.5) / 1000000;
create macro nodes_per_rack() as 16;
create macro rack_name(number) as chr(97 + (number // nodes_per_rack() % 5)::integer)
    || lpad((number // nodes_per_rack() // 5 + 1)::varchar, 2, '0');
create macro node_number(number) as lpad((number % nodes_per_rack() + 1)::varchar, 2, '0');
create macro node_name(number) as rack_name(number) || '-g' || node_number(number);
create macro began_at() as timestamp '2025-01-15';
create macro gpus_per_node() as 8;
create macro narrow_nodes() as getvariable('nodes') * 3 // 10;
-- Users by a Zipf law: of all attempts the first has a third, the k-th k ** -0.585 - (k + 1) ** -0.585.
create macro drawn_user(number) as (floor(pow(number, -1 / 0.585))::bigint - 1) % 900;
-- The first node has ten times the episodes of any other.
create macro drawn_node(number) as greatest(floor((getvariable('nodes') + 9) * number)::integer - 9, 0);

-- Narrow and wide lanes use nodes all over the racks.
create table node_places as
select n::integer as node, row_number() over (order by hash(n)) - 1 as place
from range(getvariable('nodes')) as numbers (n);
create table lane_nodes as
select *, (dense_rank() over (order by is_wide, lane_key) - 1)::integer as lane
from (
    select node, false as is_wide, place * 8 + unnest(range(parts)) as lane_key, gpus_per_node() // parts as gpus
    from (select *, [8, 4, 4, 2, 2, 1, 1, 1][place % 8 + 1] as parts from node_places)
    where place < narrow_nodes()
    union all
    -- The widest lane has a fifth of these nodes, the next a fifth of what is left then, and so on.
    select node, true, floor(ln((getvariable('nodes') - place) / (getvariable('nodes') - narrow_nodes())) / ln(0.8)),
        gpus_per_node()
    from node_places where place >= narrow_nodes()
);
create table lanes as
select lane, any_value(is_wide) as is_wide, any_value(gpus) as gpus, count(*) as node_count, min(node) as first_node
from lane_nodes group by lane;

-- One number decides how an attempt ends, so that neighbours in a lane know it of each other without a join.
create macro fate(lane, i) as chance('fate', lane, i);
create macro loses_node(lane, i) as fate(lane, i) < 0.0003;
create macro is_requeued(lane, i) as fate(lane, i) between 0.0003 and 0.0012;
create macro fails_by_fault(lane, i) as fate(lane, i) between 0.0012 and 0.002;
create macro is_preempted(lane, i) as fate(lane, i) between 0.002 and 0.008;
-- Every second attempt at most starts a job again.
create macro continues(lane, i) as i % 2 = 1 and (loses_node(lane, i - 1) or is_requeued(lane, i - 1));

create temp table stays as
with weighed as (
    select lane, i::integer as i, exp(2.5 * chance('length', lane, i)) * chance('shorter', lane, i) as length,
        0.05 + 0.3 * chance('gap', lane, i) as gap
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

create temp table wide_nodes as
select s.lane, s.i, n.node
from stays s join lanes l using (lane) join lane_nodes n using (lane)
where l.is_wide
    and (n.node = l.first_node or chance('kept', hash(s.lane, s.i), n.node) < 0.3 + 0.7 * chance('keep', s.lane, s.i));
-- `a01-g[02,05-07],b04-g11`: runs of neighbours in a rack, then racks.
create temp table wide_lists as
with runs as (
    select
        lane, i, node // nodes_per_rack() as rack, min(node) as first, max(node) as last, min(node_name(node)) as name
    from (select *, node - row_number() over (partition by lane, i order by node) as run from wide_nodes)
    group by lane, i, rack, run
), racks as (
    select lane, i, rack, count(*) > 1 or bool_or(last > first) as has_several, any_value(name) as name, string_agg(
            node_number(first) || if(last > first, '-' || node_number(last), ''), ',' order by first
        ) as parts, sum(last - first + 1) as node_count
    from runs group by lane, i, rack
)
select lane, i, string_agg(
        if(has_several, rack_name(rack * nodes_per_rack()) || '-g[' || parts || ']', name), ','
        order by rack_name(rack * nodes_per_rack())
    ) as node_list, sum(node_count)::integer as node_count
from racks group by lane, i;

create table attempts as
with numbered as (
    select *, if(continues(lane, i), i - 1, i) as job,
        lag(ended_at) over (partition by lane order by i) as previous_ended_at
    from stays
)
select
    n.lane, n.i, l.first_node as node, n.started_at, n.ended_at, coalesce(w.node_count, 1) as node_count,
    l.gpus * coalesce(w.node_count, 1) as gpus, coalesce(w.node_list, node_name(l.first_node)) as node_list,
    if(l.is_wide, 'large', if(l.gpus = gpus_per_node(), 'node', 'part')) as partition,
    20000000 + n.job * (select count(*) from lanes) + n.lane as job_id_raw,
    drawn_user(chance('user', n.lane, n.job // 6)) as user_number,
    case when chance('named', n.lane, n.job // 6) < 0.5 then 'sweep-' || n.job // 6 % 40
        else printf('%s_%08x', strftime(n.started_at, '%m%d'), hash(n.lane, n.job) % 4294967296) end as job_name,
    case when n.job < n.i then n.previous_ended_at
        else n.started_at - to_seconds((3600 * pow(chance('wait', n.lane, n.i), 4))::bigint) end as submitted_at,
    case when is_preempted(n.lane, n.i) then 'scavenge' when is_preempted(n.lane, n.i - 1) then 'urgent' else 'normal'
    end as qos,
    case
        when loses_node(n.lane, n.i) then 'NODE_FAIL' when is_requeued(n.lane, n.i) then 'REQUEUED'
        when is_preempted(n.lane, n.i) then 'PREEMPTED'
        when fails_by_fault(n.lane, n.i) or fate(n.lane, n.i) < 0.19 then 'FAILED'
        when fate(n.lane, n.i) < 0.27 then 'CANCELLED' when fate(n.lane, n.i) < 0.3 then 'TIMEOUT'
        when fate(n.lane, n.i) < 0.305 then 'OUT_OF_MEMORY' else 'COMPLETED'
    end as state
from numbered n join lanes l using (lane) left join wide_lists w using (lane, i);

-- A fault ends an attempt, and shows on one of its nodes within five minutes before.
create table causes as
select *, (row_number() over ())::integer as cause from (values
    ('nvidia smi gpu_num', '{c} failed: GPU {g} gave {i}, expected {m}', 79, 'GPU has fallen off the bus.'),
    ('accelerator-nvidia-ecc', '{c} failed, device {d}, last good at {t}', 95, 'Uncontained ECC error'),
    ('check_nvlink_status', 'GPU {g} has inactive links FaultCode: NHC2016', 74, 'NVLink: fatal error on link 5'),
    ('xid errors', 'XID error: 119 on GPU {g}, seen at {t}', 119, 'Timeout after 6s of waiting for RPC response'),
    ('ipmitool sel', '{i} | {t} | Critical Interrupt | Bus Fatal Error | Asserted', null, null),
    ('check dcgmi diag', 'Run of {t}: Memory failed on GPU {g}', null, null),
    ('check_hw_ib', 'No IB port mlx5_{g}:1 is ACTIVE FaultCode: NHC2004', null, null),
    ('check_fs_mount', '{c} failed, device {d}, last good at {t}', null, null)
) as causes (check_name, message, code, kernel_message);
create table faults as
select lane, i, node, job_id_raw, state, ended_at, ended_at - to_seconds((20 + 250 * chance('seen', lane, i))::bigint)
    as seen_at, floor(8 * chance('cause', lane, i))::integer + 1 as cause
from attempts where loses_node(lane, i) or fails_by_fault(lane, i);

-- Checks write down only what is not well and, of some, the result after it.
create table wordings as
with written as (
    select * from read_csv(getvariable('messages'), delim = ';', header = true, quote = '')
), general as (
    select row_number() over (partition by result) - 1 as number, * from written where check_name = '*'
), checks as (
    select check_key as check_name from read_csv(getvariable('check_names'), header = true)
)
select (row_number() over (order by hash(check_name, message)) - 1)::integer as wording, check_name, result, message
from (
    select check_name, result, message from written where check_name <> '*'
    union all
    select c.check_name, g.result, g.message from checks c join general g on hash(c.check_name) % 4 = g.number
);
create table episodes as
select node, number, check_name, result, message, began_at, period,
    -- One in seven is no more than a good result after nothing.
    if(chance('only good', number, 0) < 0.15, 0, 1 + floor(-8.4 * ln(chance('lasts', number, 0)))::integer)
        as bad_count,
    chance('only good', number, 0) < 0.15 or chance('recovers', number, 0) < if(result = 1, 0.3, 0.85) as has_recovery
from (
    select
        n as number, drawn_node(chance('node', n, 0)) as node,
        began_at() + to_milliseconds((86400000.0 * getvariable('days') * chance('at', n, 0))::bigint) as began_at,
        floor((select count(*) from wordings) * pow(chance('wording', n, 0), 1.4))::integer as wording,
        300 * (1 + floor(6 * chance('period', n, 0))::integer) as period
    from range(getvariable('episodes')) as numbers (n)
) join wordings using (wording)
union all
select node, 1000000000 + 100000 * lane + i, check_name, 2, message, seen_at, 300, 4, true
from faults join causes using (cause);
