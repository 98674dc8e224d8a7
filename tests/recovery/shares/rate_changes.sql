-- Changes of the rate of all incidents, and those planted, which lie two weeks and more from the study's edges. A
-- published change is at a planted one within two weeks of it; a large one changes the rate of faults by half or more.
with

planted as (

    select
        changed_epoch,
        greatest(rate_after / rate_before, rate_before / rate_after) >= 1.5 as is_large
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
    'published changes of rate that are at a planted one' as item,
    count(*) filter (
        exists (select 1 from planted where abs(planted.changed_epoch - published.changed_epoch) <= 14 * 86400)
    ) as count,
    count(*) as total
from published
union all
select
    'planted changes of rate, by half or more, that were found',
    count(*) filter (
        exists (select 1 from published where abs(planted.changed_epoch - published.changed_epoch) <= 14 * 86400)
    ),
    count(*)
from planted
where is_large
