-- What is blamed on infrastructure and was none: the ends of programs, beside which a check may fail by chance.
with

ends as (

    select found.failures.attempt_id is not null as is_blamed
    from truth.attempts
    left join found.failures using (attempt_id)
    where
        truth.attempts.state in ('FAILED', 'REQUEUED')
        and not exists (select 1 from truth.failures where truth.failures.attempt_id = truth.attempts.attempt_id)

),

invented as (

    select *
    from found.failures
    where not exists (select 1 from truth.failures where truth.failures.attempt_id = found.failures.attempt_id)

),

alarms as (

    select *
    from truth.faults
    where mechanism = 'alarm'

)

select
    'ends of programs blamed on infrastructure' as item,
    count(*) filter (is_blamed) as count,
    count(*) as total
from ends
union all
select
    'false alarms that were blamed for one',
    count(*) filter (
        exists (
            select 1
            from invented
            where
                invented.culprit_node_id = alarms.node
                and epoch(invented.failed_at) between alarms.fault_epoch - 600
                and coalesce(alarms.cleared_epoch, alarms.fault_epoch) + 600
        )
    ),
    count(*)
from alarms
