with clusters as (
    select
        clusters.cluster_id,
        clusters.has_accounting,
        coalesce(clusters.study_from_at, clusters.first_at) as from_at,
        least(coalesce(clusters.study_to_at, in_service.to_at, clusters.last_at), outages_known.to_at) as to_at
    from {{ ref('dim_clusters') }} as clusters
    left join (
        select
            cluster_id,
            max(to_at) as to_at
        from {{ ref('dim_units_in_service') }}
        group by cluster_id
    ) as in_service using (cluster_id)
    -- Once outages are no longer recorded, a fault that takes out an idle node is not seen.
    left join (
        select
            cluster_id,
            max(to_at) as to_at
        from {{ source('ops', 'spans') }}
        where kind in ('events', 'slurmctld')
        group by cluster_id
    ) as outages_known using (cluster_id)
),

causes as (
    select failure_category
    from {{ ref('dim_failure_categories') }}
    where is_infrastructure and failure_category != 'unattributed'
),

-- A node that has a reboot or planned work before it comes back has one stay out of service.
numbered as (
    select
        *,
        sum(begins) over (partition by cluster_id, node_id order by started_at, outage_id) as spell
    from (
        select
            *,
            coalesce(started_at - max(coalesce(ended_at, {{ last_time() }})) over (
                partition by cluster_id, node_id
                order by started_at, outage_id rows between unbounded preceding and 1 preceding
            ) > interval 60 second, true)::integer as begins
        from {{ ref('fct_node_outages') }}
    )
),

spells as (
    select
        numbered.cluster_id,
        numbered.node_id,
        numbered.spell,
        min(numbered.started_at) as started_at,
        min(least(numbered.requested_at, numbered.started_at)) as failed_at,
        case when bool_and(numbered.ended_at is not null) then max(numbered.ended_at) end as ended_at,
        bool_or(not numbered.is_planned) as is_fault,
        arg_min(numbered.failure_category, numbered.started_at) filter (
            causes.failure_category is not null and numbered.failure_category != 'node_fail_unattributed'
        ) as known_category,
        bool_or(numbered.failure_category = 'node_fail_unattributed') as has_lost_contact
    from numbered
    left join causes using (failure_category)
    group by numbered.cluster_id, numbered.node_id, numbered.spell
),

incidents as (
    select
        suspects.cluster_id,
        suspects.node_id,
        suspects.failed_at,
        incidents.failure_category
    from {{ ref('fct_incident_suspects') }} as suspects
    inner join {{ ref('fct_incidents') }} as incidents using (cluster_id, incident_id)
    inner join causes using (failure_category)
    where suspects.is_known and suspects.incident_probability >= 0.5
),

-- If the reason of an outage names no cause, use the cause of a failed job on the node.
outages as (
    select
        spells.cluster_id,
        spells.node_id,
        spells.spell,
        spells.started_at,
        spells.failed_at,
        spells.ended_at,
        coalesce(
            any_value(spells.known_category),
            arg_max(incidents.failure_category, incidents.failed_at),
            case when any_value(spells.has_lost_contact) then 'node_fail_unattributed' end,
            'unmapped'
        ) as failure_category
    from spells
    left join incidents
        on
            spells.cluster_id = incidents.cluster_id
            and spells.node_id = incidents.node_id
            and incidents.failed_at >= spells.failed_at - interval 15 minute
            and incidents.failed_at <= coalesce(spells.ended_at, spells.started_at + interval 15 minute)
            and incidents.failure_category != 'node_fail_unattributed'
    where spells.is_fault
    group by all
),

-- A stay out of service has the name of its first fault. Later faults in it count, too.
failures as (
    select
        cluster_id,
        node_id,
        failure_category,
        failed_at
    from incidents
    union all
    select
        cluster_id,
        node_id,
        failure_category,
        failed_at
    from outages
    union all
    select
        cluster_id,
        node_id,
        failure_category,
        least(requested_at, started_at) as failed_at
    from {{ ref('fct_node_outages') }}
    where not is_planned
),

-- Actions named in a repair's texts, and recorded reboots. The most thorough one counts.
actions as (
    select
        outages.cluster_id,
        outages.node_id,
        outages.spell,
        coalesce(texts.repair_action, if(tickets.action is null, 'not recorded', 'unknown')) as repair_action
    from (
        select
            cluster_id,
            node_id,
            opened_at,
            closed_at,
            action
        from {{ ref('fct_tickets') }}
        union all
        select
            cluster_id,
            node_id,
            started_at,
            ended_at,
            action
        from {{ ref('fct_unit_failures') }}
        where action is not null
    ) as tickets
    left join {{ ref('int_repair_actions') }} as texts
        on
            tickets.cluster_id = texts.cluster_id
            and lower(trim(tickets.action)) = texts.text_key
    asof inner join outages
        on
            tickets.cluster_id = outages.cluster_id
            and tickets.node_id = outages.node_id
            and coalesce(tickets.closed_at, tickets.opened_at) >= outages.failed_at
    where tickets.opened_at <= coalesce(outages.ended_at, tickets.opened_at) + interval 1 hour

    union all

    select
        outages.cluster_id,
        outages.node_id,
        outages.spell,
        texts.repair_action
    from outages
    inner join {{ ref('fct_health_events') }} as reasons
        on
            outages.cluster_id = reasons.cluster_id
            and outages.node_id = reasons.node_id
            and reasons.check_name = 'node reason'
            and reasons.observed_at >= outages.failed_at - interval 60 second
            and outages.ended_at >= reasons.observed_at
    inner join {{ ref('int_repair_actions') }} as texts
        on
            outages.cluster_id = texts.cluster_id
            and lower(reasons.message) = texts.text_key
            and texts.repair_action != 'none'
    where reasons.origin = 'administrator' or reasons.failure_category = 'planned'

    union all

    select
        outages.cluster_id,
        outages.node_id,
        outages.spell,
        'reboot' as repair_action
    from outages
    inner join {{ ref('int_node_boots') }} as boots
        on
            outages.cluster_id = boots.cluster_id
            and outages.node_id = boots.node_id
            and outages.started_at < boots.booted_at
            and boots.booted_at <= outages.ended_at + interval 60 second
),

clusters_with_boots as (
    select distinct cluster_id
    from {{ ref('fct_health_events') }}
    where source = 'kernel' and check_name = 'boot'
),

acted as (
    select
        cluster_id,
        node_id,
        spell,
        max(list_position(
            ['none', 'not recorded', 'reboot', 'unknown', 'reset', 'reseat', 'exchange'], repair_action
        )) as place
    from actions
    group by cluster_id, node_id, spell
),

repairs as (
    select
        outages.*,
        case
            when acted.place > 2
                then ['none', 'not recorded', 'reboot', 'unknown', 'reset', 'reseat', 'exchange'][acted.place]
            -- Nothing was seen, but a reboot would have been.
            when acted.place = 1 or (acted.place is null and sight.node_id is not null) then 'none'
            else 'unknown'
        end as repair_action,
        if(clusters.has_accounting, null, epoch(clusters.to_at - clusters.from_at) / 86400) as records_days,
        least(min(clusters.to_at), min(nodes.last_seen_at), min(gaps.from_at)) as watched_to_at
    from outages
    inner join clusters
        on
            outages.cluster_id = clusters.cluster_id
            and outages.ended_at >= clusters.from_at
            and outages.ended_at < clusters.to_at
    -- Failure records show a node only when it fails. It is present all the time.
    left join {{ ref('dim_nodes') }} as nodes
        on
            clusters.has_accounting
            and outages.cluster_id = nodes.cluster_id
            and outages.node_id = nodes.node_id
    left join {{ ref('dim_study_gaps') }} as gaps
        on
            outages.cluster_id = gaps.cluster_id
            and outages.ended_at < gaps.to_at
    left join acted
        on
            outages.cluster_id = acted.cluster_id
            and outages.node_id = acted.node_id
            and outages.spell = acted.spell
    left join clusters_with_boots on outages.cluster_id = clusters_with_boots.cluster_id
    left join {{ source('ops', 'sight') }} as sight
        on
            clusters_with_boots.cluster_id = sight.cluster_id
            and outages.node_id = sight.node_id
            and sight.kind = 'kernel'
            and (outages.ended_at)::date = sight.day_date
    group by all
),

followed as (
    select
        repairs.*,
        if(failures.failed_at <= repairs.watched_to_at, failures.failed_at, null) as relapsed_at,
        least(repairs.watched_to_at, failures.failed_at) as until_at
    from repairs
    asof left join failures
        on
            repairs.cluster_id = failures.cluster_id
            and repairs.node_id = failures.node_id
            and repairs.failure_category = failures.failure_category
            and repairs.ended_at < failures.failed_at
    where repairs.watched_to_at > repairs.ended_at
),

timed_spells as (
    select
        cluster_id,
        node_id,
        spell,
        started_at,
        ended_at,
        coalesce(sum(epoch(ended_at - started_at)) over (
            partition by cluster_id, node_id order by started_at rows between unbounded preceding and 1 preceding
        ), 0) as seconds_out_before
    from spells
),

-- The clock stops while the node is out for another reason. Cut the last time at the end of the clock.
in_service as (
    select
        followed.cluster_id,
        followed.node_id,
        followed.failure_category,
        followed.repair_action,
        followed.records_days,
        followed.relapsed_at is not null as is_relapse,
        epoch(followed.ended_at - followed.started_at) / 3600 as hours,
        (
            epoch(followed.until_at - followed.ended_at)
            - last.seconds_out_before - epoch(least(last.ended_at, followed.until_at) - last.started_at)
            + own.seconds_out_before + epoch(own.ended_at - own.started_at)
        ) / 86400 as days,
        followed.ended_at
    from followed
    inner join timed_spells as own
        on
            followed.cluster_id = own.cluster_id
            and followed.node_id = own.node_id
            and followed.spell = own.spell
    asof inner join timed_spells as last
        on
            followed.cluster_id = last.cluster_id
            and followed.node_id = last.node_id
            and followed.until_at > last.started_at
),

with_history as (
    select
        *,
        count(*) over (
            partition by cluster_id, node_id
            order by ended_at range between interval 30 days preceding and current row
        ) - 1 as earlier_count
    from in_service
)

select
    cluster_id,
    node_id,
    failure_category,
    repair_action,
    is_relapse,
    hours,
    days,
    earlier_count,
    records_days
from with_history
