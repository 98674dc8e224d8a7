-- Preempted attempts, and for whom they were: where a log line says it, and where it has to be inferred.
with

in_runs as (

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

),

pairs as (

    select
        truth.preemptions.attempt_id is not null as is_planted,
        found.preemptions.attempt_id is not null as is_published,
        coalesce(truth.preemptions.is_named, false) as is_named,
        found.preemptions.instigator_rule as rule,
        found.preemptions.instigator_attempt_id is not null as is_claimed,
        coalesce(truth.preemptions.instigator_attempt_id = found.preemptions.instigator_attempt_id, false) as is_right,
        coalesce(truth.preemptions.is_second_order, false) as was_second_order,
        coalesce(truth.preemptions.is_second_order, false)
        and truth.preemptions.instigator_attempt_id in (select attempt_id from restarts) as was_after_restart,
        coalesce(found.preemptions.is_second_order, false) as is_second_order
    from truth.preemptions
    full join found.preemptions using (attempt_id)

)

select
    'preempted attempts' as item,
    count(*) filter (is_published) as published,
    count(*) filter (is_planted) as planted,
    count(*) filter (is_planted and is_published) as recovered
from pairs
union all
select
    'instigators named by the log',
    count(*) filter (rule = 'named_in_log'),
    count(*) filter (is_planted and is_named),
    count(*) filter (rule = 'named_in_log' and is_right)
from pairs
union all
select
    'instigators inferred',
    count(*) filter (is_claimed and rule != 'named_in_log'),
    count(*) filter (is_planted and not is_named),
    count(*) filter (rule != 'named_in_log' and not is_named and is_right)
from pairs
union all
select
    '... from victims named beside',
    count(*) filter (rule = 'logged_beside_named'),
    count(*) filter (is_planted and rule = 'logged_beside_named'),
    count(*) filter (rule = 'logged_beside_named' and is_right)
from pairs
union all
select
    '... from starts on the nodes',
    count(*) filter (is_claimed and rule = 'started_on_nodes'),
    count(*) filter (is_planted and rule in ('started_on_nodes', 'unknown')),
    count(*) filter (rule = 'started_on_nodes' and is_right)
from pairs
union all
select
    'second-order preemptions',
    count(*) filter (is_second_order),
    count(*) filter (was_second_order),
    count(*) filter (is_second_order and was_second_order)
from pairs
union all
select
    '... for a restart that the logs show',
    count(*) filter (is_second_order and (was_after_restart or not was_second_order)),
    count(*) filter (was_after_restart),
    count(*) filter (is_second_order and was_after_restart)
from pairs
