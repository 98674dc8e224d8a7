-- Preempted attempts, and for whom they were: where a log line says it, and where it has to be inferred.
with

pairs as (

    select
        truth.preemptions.attempt_id is not null as is_planted,
        found.preemptions.attempt_id is not null as is_published,
        coalesce(truth.preemptions.is_named, false) as is_named,
        found.preemptions.instigator_rule as rule,
        found.preemptions.instigator_attempt_id is not null as is_claimed,
        coalesce(truth.preemptions.instigator_attempt_id = found.preemptions.instigator_attempt_id, false) as is_right,
        coalesce(truth.preemptions.is_second_order, false) as was_second_order,
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
