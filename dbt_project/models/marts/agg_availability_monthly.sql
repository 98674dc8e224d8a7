with

settings as (

    select * from {{ ref('stg_config__clusters') }}

),

clusters as (

    select
        cluster_id,
        study_from_at,
        study_to_at,
        (
            select max(inventory.captured_at) from {{ ref('stg_inventory__nodes') }} as inventory
            where clusters.cluster_id = inventory.cluster_id
        ) as inventory_at,
        (
            select cast(max(days.day_date) as timestamp) + interval 1 day from {{ ref('int_days_covered') }} as days
            where
                clusters.cluster_id = days.cluster_id
                and days.kind in ('events', 'slurmctld')
        ) as watched_to_at
    from {{ ref('dim_clusters') }} as clusters
    where study_from_at is not null

),

-- A gap that ends at midnight does not touch the day that begins then.
gap_days as (

    select distinct
        cluster_id,
        {{ unnest_date_range('cast(from_at as date)', 'cast(to_at - interval 1 second as date)') }} as day_date
    from {{ ref('dim_study_gaps') }}

),

-- A Slurm node counts from the day it is first seen. A node that the newest inventory lacks and no log has named for 30
-- days counts until it was last seen, as in dim_clusters.
counted_nodes as (

    select
        nodes.cluster_id,
        nodes.node_id,
        greatest(clusters.study_from_at, cast(cast(nodes.first_seen_at as date) as timestamp)) as from_at,
        case
            when
                clusters.inventory_at is not null
                and nodes.last_seen_at < least(clusters.inventory_at, clusters.study_to_at) - interval 30 day
                then cast(cast(nodes.last_seen_at as date) as timestamp) + interval 1 day
            else clusters.study_to_at
        end as to_at,
        coalesce(clusters.watched_to_at, nodes.last_seen_at) as shown_to_at
    from {{ ref('int_node_sightings') }} as nodes
    inner join clusters on nodes.cluster_id = clusters.cluster_id
    where nodes.is_in_slurm and nodes.first_seen_at is not null

),

-- An open outage is known to continue as long as a source shows the states of nodes.
outages as (

    select
        outages.cluster_id,
        outages.node_id,
        case
            when outages.is_planned then 'planned'
            when outages.failure_category = 'unmapped' then 'unmapped'
            else 'mapped'
        end as kind,
        greatest(outages.started_at, nodes.from_at) as started_at,
        least(coalesce(outages.ended_at, nodes.shown_to_at), nodes.to_at) as ended_at
    from {{ ref('fct_node_outages') }} as outages
    inner join counted_nodes as nodes
        on
            outages.cluster_id = nodes.cluster_id
            and outages.node_id = nodes.node_id
            and nodes.from_at < nodes.to_at
            and outages.started_at < nodes.to_at
            and coalesce(outages.ended_at, nodes.shown_to_at) > greatest(outages.started_at, nodes.from_at)

),

-- A job that still holds an outage's node uses it: in the log, a draining node is out from the request on.
intervals as (

    select * from outages
    union all
    select
        outages.cluster_id,
        outages.node_id,
        'use' as kind,
        greatest(attempt_nodes.started_at, outages.started_at) as started_at,
        least(attempt_nodes.observed_until_at, outages.ended_at) as ended_at
    from (
        select
            cluster_id,
            started_at,
            observed_until_at,
            {{ unnest_list('node_ids') }} as node_id
        from {{ ref('int_attempts') }}
        where observed_until_at is not null
    ) as attempt_nodes
    inner join outages
        on
            attempt_nodes.cluster_id = outages.cluster_id
            and attempt_nodes.node_id = outages.node_id
            and attempt_nodes.started_at < outages.ended_at
            and attempt_nodes.observed_until_at > outages.started_at

),

steps as (

    select 1 as step
    union all
    select -1 as step

),

changes as (

    select
        intervals.*,
        steps.step,
        case when steps.step > 0 then intervals.started_at else intervals.ended_at end as changed_at
    from intervals
    cross join steps

),

states as (

    select
        cluster_id,
        node_id,
        changed_at as from_at,
        lead(changed_at) over node_changes as to_at,
        sum(sum(case when kind = 'use' then step else 0 end)) over node_changes > 0 as is_use,
        sum(sum(case when kind = 'planned' then step else 0 end)) over node_changes > 0 as is_planned,
        sum(sum(case when kind = 'mapped' then step else 0 end)) over node_changes > 0 as is_mapped,
        sum(sum(case when kind = 'unmapped' then step else 0 end)) over node_changes > 0 as is_unmapped
    from changes
    group by cluster_id, node_id, changed_at
    window node_changes as (
        partition by cluster_id, node_id
        order by changed_at
    )

),

-- A fault during planned work does not count. Overlapping faults count once.
state_days as (

    select
        *,
        {{ seconds_between(
            'greatest(from_at, cast(day_date as timestamp))',
            'least(to_at, cast(day_date as timestamp) + interval 1 day)'
        ) }} as out_seconds
    from (
        select
            *,
            {{ unnest_date_range('cast(from_at as date)', 'cast(to_at as date)') }} as day_date
        from states
        where
            not is_use
            and (is_planned or is_mapped or is_unmapped)
    ) as days_of_states

),

out_days as (

    select
        cluster_id,
        day_date,
        {{ exact_sum('case when is_planned then out_seconds else 0 end') }} / 3600 as planned_out_hours,
        {{ exact_sum('case when is_planned then 0 else out_seconds end') }} / 3600 as failed_hours,
        {{ exact_sum('case when is_planned or is_mapped then 0 else out_seconds end') }} / 3600 as unmapped_hours
    from state_days
    group by cluster_id, day_date

),

day_totals as (

    select
        node_days.cluster_id,
        node_days.day_date,
        count(node_days.out_of_service_hours) > 0 as is_watched,
        {{ exact_sum(seconds_between(
            'greatest(nodes.from_at, cast(node_days.day_date as timestamp))',
            'least(nodes.to_at, cast(node_days.day_date as timestamp) + interval 1 day)'
        )) }} / 3600 as total_hours,
        {{ exact_sum('node_days.study_hours') }} as allocated_hours
    from {{ ref('fct_node_days') }} as node_days
    inner join counted_nodes as nodes
        on
            node_days.cluster_id = nodes.cluster_id
            and node_days.node_id = nodes.node_id
            and cast(node_days.day_date as timestamp) < nodes.to_at
            and cast(node_days.day_date as timestamp) + interval 1 day > nodes.from_at
    group by node_days.cluster_id, node_days.day_date

),

-- A node neither used nor out of service was idle if accounting and node states are known, else unknown.
days as (

    select
        totals.*,
        coalesce(out_days.planned_out_hours, 0) as planned_out_hours,
        coalesce(out_days.failed_hours, 0) as failed_hours,
        coalesce(out_days.unmapped_hours, 0) as unmapped_hours,
        greatest(
            0,
            totals.total_hours - totals.allocated_hours
            - coalesce(out_days.planned_out_hours, 0) - coalesce(out_days.failed_hours, 0)
        ) as other_hours,
        totals.is_watched and gap_days.cluster_id is null as is_known,
        clusters.study_from_at <= cast(totals.day_date as timestamp)
        and clusters.study_to_at >= cast(totals.day_date as timestamp) + interval 1 day as is_whole_day
    from day_totals as totals
    inner join clusters on totals.cluster_id = clusters.cluster_id
    left join out_days
        on
            totals.cluster_id = out_days.cluster_id
            and totals.day_date = out_days.day_date
    left join gap_days
        on
            totals.cluster_id = gap_days.cluster_id
            and totals.day_date = gap_days.day_date

),

months as (

    select
        cluster_id,
        cast(date_trunc('month', day_date) as date) as month_date,
        {{ exact_sum('total_hours') }} as total_node_hours,
        {{ exact_sum('allocated_hours') }} as allocated_node_hours,
        {{ exact_sum('case when is_known then other_hours else 0 end') }} as idle_node_hours,
        {{ exact_sum('planned_out_hours') }} as planned_out_node_hours,
        {{ exact_sum('failed_hours') }} as failed_node_hours,
        {{ exact_sum('unmapped_hours') }} as unmapped_node_hours,
        {{ exact_sum('case when is_known then 0 else other_hours end') }} as unknown_node_hours,
        {{ exact_sum('case when is_watched then failed_hours end') }}
        / nullif({{ exact_sum('case when is_watched then total_hours - planned_out_hours end') }}, 0)
            as watched_failed_ratio
    from days
    group by cluster_id, cast(date_trunc('month', day_date) as date)

),

last_days as (

    select
        cluster_id,
        cast(date_trunc('month', day_date) as date) as month_date,
        max(day_date) as last_date
    from days
    where is_whole_day
    group by cluster_id, cast(date_trunc('month', day_date) as date)

),

newest_days as (

    select
        last_days.cluster_id,
        last_days.month_date,
        {{ days_between('days.day_date', 'last_days.last_date') }} as days_before,
        days.failed_hours,
        days.total_hours - days.planned_out_hours as countable_hours,
        settings.availability_objective as objective
    from last_days
    inner join settings on last_days.cluster_id = settings.cluster_id
    inner join days
        on
            last_days.cluster_id = days.cluster_id
            and days.is_whole_day
            and last_days.last_date >= days.day_date

),

-- No window is shorter than a day, as logs come nightly.
burns as (

    select
        cluster_id,
        month_date,
        {{ burn_rate(1) }} as burn_rate_1d,
        {{ burn_rate(3) }} as burn_rate_3d,
        {{ burn_rate(7) }} as burn_rate_7d,
        {{ burn_rate(28) }} as burn_rate_28d
    from newest_days
    group by cluster_id, month_date

),

limits as (

    select
        *,
        (allocated_node_hours + idle_node_hours)
        / nullif(total_node_hours - planned_out_node_hours, 0) as availability_low,
        1 - failed_node_hours / nullif(total_node_hours - planned_out_node_hours, 0) as availability_high
    from months

),

availabilities as (

    select
        *,
        case
            when watched_failed_ratio is not null
                then least(greatest(1 - watched_failed_ratio, availability_low), availability_high)
        end as availability
    from limits

)

select
    months.cluster_id,
    months.month_date,
    months.allocated_node_hours,
    months.idle_node_hours,
    months.planned_out_node_hours,
    months.failed_node_hours,
    months.unknown_node_hours,
    months.total_node_hours,
    months.unmapped_node_hours,
    months.availability,
    months.availability_low,
    months.availability_high,
    settings.availability_objective as objective,
    1 - (1 - months.availability) / (1 - settings.availability_objective) as error_budget_left,
    1 - (1 - months.availability_low) / (1 - settings.availability_objective) as error_budget_left_low,
    1 - (1 - months.availability_high) / (1 - settings.availability_objective) as error_budget_left_high,
    burns.burn_rate_1d,
    burns.burn_rate_3d,
    burns.burn_rate_7d,
    burns.burn_rate_28d,
    -- After the Site Reliability Workbook, ch. 5: of the budget of 30 days, a rate of 3 burns 30% in 3 days, 2 burns
    -- 47% in 7 days, and 1 burns 93% in 28 days.
    case
        when burns.burn_rate_3d >= 3 and burns.burn_rate_1d >= 3 then 'fast'
        when burns.burn_rate_7d >= 2 and burns.burn_rate_1d >= 2 then 'medium'
        when burns.burn_rate_28d >= 1 and burns.burn_rate_7d >= 1 then 'slow'
    end as burn_pace
from availabilities as months
inner join settings on months.cluster_id = settings.cluster_id
left join burns
    on
        months.cluster_id = burns.cluster_id
        and months.month_date = burns.month_date
