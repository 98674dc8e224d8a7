with

parts as (

    select * from {{ ref('int_node_outage_parts') }}
    where started_at is not null

),

priorities as (

    select * from {{ ref('int_failure_category_priorities') }}

),

-- Planned work and faults stay separate, in any order.
numbered as (

    {{ numbered_within_a_minute('parts', ['cluster_id', 'node_id', 'is_planned'], 'outage_number') | indent(4) }}

),

merged as (

    select
        cluster_id,
        node_id,
        is_planned,
        outage_number,
        min(started_at) as started_at,
        case when bool_and(ended_at is not null) then max(ended_at) end as ended_at,
        {{ first_by('state', 'started_at') }} as state,
        -- A later request gives an outage another reason.
        case when min(requested_at) <= min(started_at) then min(requested_at) end as requested_at,
        {{ best_source_of_outage() }} as source,
        bool_or(source = 'failures') as has_failure_record,
        coalesce(
            sum(case when source = 'sacctmgr' then interval_count end), sum(interval_count)
        ) as interval_count,
        {{ first_by('source_path', '(started_at, source_path, source_line_number)') }} as source_path,
        {{ first_by('source_line_number', '(started_at, source_path, source_line_number)') }} as source_line_number
    from numbered
    group by cluster_id, node_id, is_planned, outage_number

),

-- The same rule classifies a reason with several codes.
most_telling as (

    select numbered.*
    from numbered
    left join priorities
        on
            numbered.cluster_id = priorities.cluster_id
            and numbered.failure_category = priorities.failure_category
    qualify
        row_number() over (
            partition by numbered.cluster_id, numbered.node_id, numbered.is_planned, numbered.outage_number
            order by
                {{ severity_rank('numbered.severity') }},
                {{ evidence_rank('numbered.evidence_class') }},
                priorities.priority nulls last,
                numbered.started_at
        ) = 1

)

select
    merged.cluster_id,
    merged.node_id,
    merged.started_at,
    merged.ended_at,
    merged.ended_at is null as is_open,
    merged.state,
    most_telling.reason,
    most_telling.reason_user,
    most_telling.failure_category,
    merged.is_planned,
    most_telling.origin,
    merged.requested_at,
    merged.source,
    merged.interval_count,
    -- Cite a failure record with its own reason and nothing else.
    case when merged.has_failure_record then most_telling.source_path else merged.source_path end as source_path,
    case
        when merged.has_failure_record then most_telling.source_line_number else merged.source_line_number
    end as source_line_number
from merged
inner join most_telling
    on
        merged.cluster_id = most_telling.cluster_id
        and merged.node_id = most_telling.node_id
        and merged.is_planned = most_telling.is_planned
        and merged.outage_number = most_telling.outage_number
