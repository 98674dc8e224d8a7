-- Nodes out of service: intervals that begin and end within a minute of the planted ones, or are both open.
with

pairs as (

    select
        truth.outages.node,
        truth.outages.started_epoch,
        truth.outages.is_planned as was_planned,
        found.outages.outage_id,
        found.outages.is_planned
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

select
    'outages' as item,
    (select count(*) from found.outages) as published,
    (select count(*) from truth.outages) as planted,
    (select count(*) from pairs) as recovered
union all
select
    'planned outages',
    (select count(*) from found.outages where is_planned),
    (select count(*) from truth.outages where is_planned),
    (select count(*) from pairs where is_planned and was_planned)
