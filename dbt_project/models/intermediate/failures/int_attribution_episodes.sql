with

evidence as (

    select * from {{ ref('int_attempt_end_evidence') }}
    -- If Slurm names the node, there is nothing to fit.
    where
        is_in_window
        and not is_named

),

features as (

    select * from {{ ref('int_event_features') }}

),

culprits as (

    select * from {{ ref('int_culprits_named') }}

),

priorities as (

    select * from {{ ref('int_failure_category_priorities') }}

),

in_window as (

    select
        evidence.cluster_id,
        evidence.attempt_id,
        evidence.is_control,
        {{ attribution_stratum('evidence.state', 'evidence.node_count', 'evidence.runtime_seconds') }} as stratum,
        evidence.started_at,
        evidence.ended_at,
        evidence.node_count,
        evidence.runtime_seconds,
        evidence.event_id,
        evidence.node_id,
        evidence.observed_at,
        evidence.lag_seconds,
        features.check_key,
        features.family,
        features.persistence,
        features.has_companion,
        features.is_withdrawn,
        coalesce(priorities.priority, 1000) as priority
    from evidence
    inner join features
        on
            evidence.cluster_id = features.cluster_id
            and evidence.event_id = features.event_id
    left join priorities
        on
            evidence.cluster_id = priorities.cluster_id
            and evidence.failure_category = priorities.failure_category

),

gaps as (

    select
        *,
        lag(observed_at) over (
            partition by cluster_id, attempt_id, node_id
            order by observed_at, event_id
        ) as previous_observed_at
    from in_window

),

-- Symptoms of one fault follow each other within minutes. Judge them once, together.
numbered as (

    select
        *,
        sum(case when observed_at <= previous_observed_at + interval 300 second then 0 else 1 end) over (
            partition by cluster_id, attempt_id, node_id
            order by observed_at, event_id
            rows between unbounded preceding and current row
        ) as episode_number
    from gaps

),

described as (

    select
        *,
        min(lag_seconds) over episode as first_lag_seconds,
        max(case persistence when 'lasting' then 2 when 'cleared' then 0 else 1 end) over episode as persistence_rank,
        bool_or(has_companion) over episode as episode_has_companion,
        bool_or(is_withdrawn) over episode as episode_is_withdrawn,
        min(observed_at) over episode as first_observed_at,
        row_number() over (
            partition by cluster_id, attempt_id, node_id, episode_number
            order by priority, abs(lag_seconds), event_id
        ) as event_rank,
        count(*) over episode as event_count
    from numbered
    window episode as (partition by cluster_id, attempt_id, node_id, episode_number)

),

-- A fault that failed an earlier job on the node still shows until its checks have run.
explained as (

    select distinct
        described.cluster_id,
        described.attempt_id,
        described.node_id,
        described.episode_number
    from described
    inner join culprits
        on
            described.cluster_id = culprits.cluster_id
            and described.node_id = culprits.node_id
            and culprits.ended_at <= coalesce(
                case when not described.is_control then described.started_at + interval 1 second end,
                described.first_observed_at + interval 900 second
            )
            and culprits.ended_at >= described.first_observed_at - interval 900 second

)

select
    described.cluster_id,
    described.attempt_id,
    described.is_control,
    described.node_id,
    described.episode_number,
    described.event_id,
    described.event_rank,
    described.check_key,
    described.family,
    described.first_lag_seconds as lag_seconds,
    case
        when described.event_count = 1 then described.persistence
        when described.persistence_rank = 2 then 'lasting'
        when described.persistence_rank = 0 then 'cleared'
        else 'missing'
    end as persistence,
    described.episode_has_companion as has_companion,
    described.episode_is_withdrawn as is_withdrawn,
    described.first_observed_at as observed_at,
    described.stratum,
    described.started_at,
    described.ended_at,
    described.node_count,
    described.runtime_seconds,
    explained.attempt_id is not null as is_explained
from described
left join explained
    on
        described.cluster_id = explained.cluster_id
        and described.attempt_id = explained.attempt_id
        and described.node_id = explained.node_id
        and described.episode_number = explained.episode_number
