{{ config(post_hook='{{ name_tables_by_schema() }}') }}

-- Long, because one view clips an attempt to the study period, to gaps and to suspended time.

{%- set observed_until_at -%}
    coalesce(
            attempts.ended_at,
            attempts.started_at
            + {{ seconds_interval('attempts.exposure_seconds + coalesce(attempts.suspended_seconds, 0)') }}
        )
{%- endset -%}
{%- set begins_at = 'greatest(attempts.started_at, clusters.study_from_at)' -%}
{#- The condition is needed: least() ignores NULL, and a job that lost its end would get one. -#}
{%- set ends_at -%}
    case when {{ observed_until_at }} is not null then least({{ observed_until_at }}, clusters.study_to_at) end
{%- endset %}

with

attempts as (

    select * from {{ name_table(ref('fct_attempts'), by_schema) }}
    where started_at is not null

),

clusters as (

    select
        cluster_id,
        gpus_per_node,
        study_from_at,
        study_to_at
    from {{ name_table(ref('dim_clusters'), by_schema) }}

),

failures as (

    select * from {{ name_table(ref('fct_failures'), by_schema) }}

),

-- Nodes with another GPU count than most nodes of their cluster. Most clusters have none, so the join is empty.
unusual_nodes as (

    select
        nodes.cluster_id,
        nodes.node_id,
        nodes.gpu_count - clusters.gpus_per_node as gpu_count_difference
    from {{ name_table(ref('dim_nodes'), by_schema) }} as nodes
    inner join clusters on nodes.cluster_id = clusters.cluster_id
    where
        nodes.gpu_count_source = 'inventory'
        and nodes.gpu_count > 0
        and nodes.gpu_count != clusters.gpus_per_node

),

unusual_node_gpus as (

    select
        attempt_nodes.cluster_id,
        attempt_nodes.attempt_id,
        sum(unusual_nodes.gpu_count_difference) as gpu_count_difference
    from {{ name_table(ref('fct_attempt_nodes'), by_schema) }} as attempt_nodes
    inner join unusual_nodes
        on
            attempt_nodes.cluster_id = unusual_nodes.cluster_id
            and attempt_nodes.node_id = unusual_nodes.node_id
    group by attempt_nodes.cluster_id, attempt_nodes.attempt_id

),

bounded as (

    select
        attempts.*,
        clusters.gpus_per_node,
        clusters.study_from_at,
        clusters.study_to_at,
        {{ observed_until_at }} as observed_until_at,
        {{ begins_at }} as begins_at,
        {{ ends_at }} as ends_at
    from attempts
    inner join clusters on attempts.cluster_id = clusters.cluster_id

),

-- Leave out runtime in gaps. An attempt that began in a gap is seen from the gap's end; one that ended in a gap, to the
-- gap's start. Read the tables directly: DuckDB keeps a CTE with two readers in memory, and most clusters have no gap.
gaps_met as (

    select
        attempts.cluster_id,
        attempts.attempt_id,
        max(case when gaps.from_at <= {{ begins_at }} then gaps.to_at end) as begins_at,
        min(case when gaps.to_at >= {{ ends_at }} then gaps.from_at end) as ends_at,
        sum(
            case
                when gaps.from_at > {{ begins_at }} and gaps.to_at < {{ ends_at }}
                    then {{ seconds_between('gaps.from_at', 'gaps.to_at') }}
            end
        ) as gap_seconds
    from {{ name_table(ref('fct_attempts'), by_schema) }} as attempts
    inner join {{ name_table(ref('dim_clusters'), by_schema) }} as clusters
        on attempts.cluster_id = clusters.cluster_id
    inner join {{ name_table(ref('dim_study_gaps'), by_schema) }} as gaps
        on
            attempts.cluster_id = gaps.cluster_id
            and {{ begins_at }} <= gaps.to_at
            and {{ ends_at }} > gaps.from_at
    where attempts.started_at is not null
    group by attempts.cluster_id, attempts.attempt_id

),

seen as (

    select
        bounded.*,
        {{ seconds_between('bounded.started_at', 'bounded.observed_until_at') }} as observed_seconds,
        coalesce(gaps_met.begins_at, bounded.begins_at) as seen_from_at,
        coalesce(gaps_met.ends_at, bounded.ends_at) as seen_to_at,
        coalesce(gaps_met.gap_seconds, 0) as unseen_seconds,
        gaps_met.ends_at is not null as has_unseen_end
    from bounded
    left join gaps_met
        on
            bounded.cluster_id = gaps_met.cluster_id
            and bounded.attempt_id = gaps_met.attempt_id

),

-- Suspended time is no exposure. Its times are not recorded, so spread it evenly over the attempt.
shares as (

    select
        *,
        case
            when observed_seconds > 0
                then least({{ seconds_between('started_at', 'seen_from_at') }}, observed_seconds) / observed_seconds
            else 0
        end as entry_share,
        case
            when observed_seconds > 0
                then greatest({{ seconds_between('started_at', 'seen_to_at') }}, 0) / observed_seconds
            else 1
        end as exit_share,
        case when observed_seconds > 0 then unseen_seconds / observed_seconds else 0 end as gap_share
    from seen

),

clipped as (

    select
        *,
        exposure_seconds * entry_share as entry_seconds,
        exposure_seconds * greatest(exit_share, entry_share) as exit_seconds,
        exposure_seconds * gap_share as gap_seconds
    from shares

),

exposed as (

    select
        *,
        exit_seconds - entry_seconds - gap_seconds as seen_seconds,
        -- Leave out failures in a gap. As a join condition, this makes DuckDB compare every attempt with every failure.
        case when not has_unseen_end then attempt_id end as attempt_id_of_seen_end
    from clipped

)

select
    exposed.cluster_id,
    exposed.attempt_id,
    exposed.state,
    exposed.gpu_count,
    exposed.node_count,
    exposed.gpu_size_bin,
    case
        when exposed.gpus_per_node > 0
            then
                exposed.gpu_count
                >= exposed.node_count * exposed.gpus_per_node + coalesce(unusual_node_gpus.gpu_count_difference, 0)
    end as is_whole_node,
    exposed.entry_seconds,
    exposed.exit_seconds,
    exposed.gap_seconds,
    exposed.seen_seconds as exposure_seconds,
    exposed.node_count * exposed.seen_seconds / 86400 as node_days,
    exposed.gpu_count * exposed.seen_seconds / 3600 as gpu_hours,
    exposed.has_ended,
    failures.failed_at,
    coalesce(failures.posterior_probability, 0) as failure_probability,
    failures.attempt_id is not null
    or coalesce(
        exposed.end_reason = 'planned'
        and exposed.state = 'NODE_FAIL'
        and exposed.study_from_at < exposed.ended_at
        and exposed.study_to_at >= exposed.ended_at
        and not exposed.has_unseen_end, false
    ) as is_paper_failure,
    failures.incident_id,
    failures.culprit_node_id,
    failures.failure_category,
    exposed.started_at,
    exposed.seen_from_at,
    exposed.seen_to_at
from exposed
left join unusual_node_gpus
    on
        exposed.cluster_id = unusual_node_gpus.cluster_id
        and exposed.attempt_id = unusual_node_gpus.attempt_id
left join failures
    on
        exposed.cluster_id = failures.cluster_id
        and exposed.attempt_id_of_seen_end = failures.attempt_id
        and exposed.study_from_at < failures.failed_at
        and exposed.study_to_at >= failures.failed_at
