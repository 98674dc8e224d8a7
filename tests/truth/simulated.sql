-- What only a simulated cluster has a truth of, joined to what is published of it.
create table judged.attempts as
select
    truth.attempts.attempt_id is not null as is_planted,
    found.attempts.attempt_id is not null as is_published,
    coalesce(truth.attempts.state = found.attempts.state, false) as is_same_state,
    truth.attempts.state in ('FAILED', 'REQUEUED') and attempt_id not in (select attempt_id from truth.failures)
        as is_end_of_program,
    attempt_id in (select attempt_id from found.failures) as is_blamed,
    planted_links.previous_attempt_id is not null as is_planted_link,
    found.attempts.previous_attempt_id is not null as is_link,
    coalesce(found.attempts.previous_attempt_id = planted_links.previous_attempt_id, false) as is_same_link
from truth.attempts
full join found.attempts using (attempt_id)
left join (
    select
        attempt_id,
        lag(attempt_id) over (partition by run_number order by submitted_epoch, job_id_raw) as previous_attempt_id
    from truth.attempts
) as planted_links using (attempt_id);

create table judged.attempt_nodes as
select planted.attempt_id is not null as is_planted, found.attempt_nodes.attempt_id is not null as is_published
from (select attempt_id, unnest(nodes) as node_id from truth.attempts) as planted
full join found.attempt_nodes using (attempt_id, node_id);

-- Preempted attempts, and for whom they were: where a log line says it, and where it has to be inferred.
create table judged.preemptions as
with in_runs as (
    select
        attempt_id,
        submitted_epoch,
        lag(attempt_id) over of_run as previous_attempt_id,
        lag(ended_epoch) over of_run as previous_ended_epoch
    from truth.attempts
    window of_run as (partition by run_number order by submitted_epoch)
),

-- Restarts that a reader can know for such: the failure shows, and the restart is within what makes two jobs one run.
restarts as (
    select in_runs.attempt_id
    from in_runs
    inner join truth.failures on in_runs.previous_attempt_id = truth.failures.attempt_id
    where
        truth.failures.visible_category is not null
        and in_runs.submitted_epoch - in_runs.previous_ended_epoch <= 15 * 60
)

select
    truth.preemptions.attempt_id is not null as is_planted,
    found.preemptions.attempt_id is not null as is_published,
    coalesce(truth.preemptions.is_named, false) as is_named,
    coalesce(found.preemptions.instigator_rule, '') as rule,
    found.preemptions.instigator_attempt_id is not null as is_claimed,
    coalesce(truth.preemptions.instigator_attempt_id = found.preemptions.instigator_attempt_id, false) as is_right,
    coalesce(truth.preemptions.is_second_order, false) as was_second_order,
    was_second_order and truth.preemptions.instigator_attempt_id in (select attempt_id from restarts)
        as was_after_restart,
    coalesce(found.preemptions.is_second_order, false) as is_second_order
from truth.preemptions
full join found.preemptions using (attempt_id);

-- Nodes out of service: intervals that begin and end within a minute of the planted ones, or are both open.
create table judged.outages as
with pairs as (
    select truth.outages.is_planned and found.outages.is_planned as is_planned
    from truth.outages
    inner join found.outages
        on
            truth.outages.node = found.outages.node_id
            and abs(epoch(found.outages.started_at) - truth.outages.started_epoch) <= 60
            and (
                abs(epoch(found.outages.ended_at) - truth.outages.ended_epoch) <= 60
                or (found.outages.ended_at is null and truth.outages.ended_epoch is null)
            )
    -- One to one: a planted outage is recovered once, and a published one recovers one.
    qualify
        row_number() over (
            partition by truth.outages.node, truth.outages.started_epoch order by found.outages.started_at
        ) = 1
        and row_number() over (partition by found.outages.outage_id order by truth.outages.started_epoch) = 1
)

select is_planned, false as is_planted, true as is_published, false as is_recovered from found.outages
union all
select is_planned, true, false, false from truth.outages
union all
select is_planned, false, false, true from pairs;

-- Blamed for a false alarm: a published failure that was none, on the node of the alarm and near it in time.
create table judged.alarms as
select
    exists (
        select 1
        from found.failures
        where
            attempt_id not in (select attempt_id from truth.failures)
            and culprit_node_id = alarms.node
            and epoch(failed_at) between alarms.fault_epoch - 600
            and coalesce(alarms.cleared_epoch, alarms.fault_epoch) + 600
    ) as is_blamed
from truth.faults as alarms
where mechanism = 'alarm';

-- Changes of the rate of all incidents, and those planted, which lie two weeks and more from the study's edges. A
-- published change is at a planted one within two weeks of it; a large one changes the rate of faults by half or more.
create table judged.rate_changes as
with planted as (
    select changed_epoch, greatest(rate_after / rate_before, rate_before / rate_after) >= 1.5 as is_large
    from truth.rate_changes
    where
        changed_epoch between (select min(from_epoch) from truth.populations) + 14 * 86400
        and (select max(until_epoch) from truth.populations) - 14 * 86400
),

published as (
    select epoch(changed_at) as changed_epoch
    from found.rate_changes
    where failure_category = 'all' and changed_at is not null
)

select
    'published' as kind,
    exists (select 1 from planted where abs(planted.changed_epoch - published.changed_epoch) <= 14 * 86400) as is_met
from published
union all
select
    'planted',
    exists (select 1 from published where abs(planted.changed_epoch - published.changed_epoch) <= 14 * 86400)
from planted
where is_large;

-- Finished runs whose true productive time lies within the published bounds. Checkpoints are not in the logs. Only runs
-- put together as they were: for another set of attempts the bounds are about something else.
create table judged.job_runs as
with whole_runs as (
    select
        any_value(found.attempts.run_id) as run_id,
        sum(truth.attempts.productive_seconds) as productive_seconds,
        count(*) as attempt_count
    from truth.attempts
    inner join found.attempts using (attempt_id)
    group by truth.attempts.run_number
    having count(distinct found.attempts.run_id) = 1
)

select
    found.job_runs.node_count,
    whole_runs.productive_seconds / 3600 between found.job_runs.productive_hours_low - 0.001
    and found.job_runs.productive_hours_high + 0.001 as is_within
from whole_runs
inner join found.job_runs using (run_id)
where
    found.job_runs.attempt_count = whole_runs.attempt_count
    and found.job_runs.is_complete
    and found.job_runs.started_at is not null;

-- Published r_f with its 90% interval, with what happened and what was planted, per 1,000 node-days. What happened and
-- what was planted is of the time in which the accounting is complete.
create table judged.rates as
select
    rates.population,
    rates.failure_count,
    rates.node_days,
    rates.failures_per_1000_node_days as rate,
    rates.failures_per_1000_node_days_low as low,
    rates.failures_per_1000_node_days_high as high,
    truth.populations.failed_attempt_count as true_failure_count,
    truth.populations.node_days as true_node_days,
    1000 * truth.populations.visible_failed_attempt_count / true_node_days as visible_rate,
    1000 * true_failure_count / true_node_days as true_rate,
    -- The generating rate is of gangs that hold whole nodes: of several jobs on a node, a fault may fail only one.
    -- Shared faults are planted one by one, so they are added as they fell.
    if(
        rates.population = 'gpus_gt_128',
        1000 * (truth.populations.expected_fault_count + truth.populations.shared_failed_attempt_count)
        / true_node_days, null
    ) as planted_rate
from found.failure_rates as rates
inner join truth.populations using (population)
where rates.counted_as = 'attempts' and truth.populations.node_days > 0
order by rates.population;
