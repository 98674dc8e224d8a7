with

evidence as (

    select * from {{ ref('int_attempt_end_evidence') }}

),

features as (

    select * from {{ ref('int_event_features') }}

),

suspects as (

    select * from {{ ref('int_failures_suspected') }}

),

culprits as (

    select * from {{ ref('int_culprits_named') }}

),

clusters as (

    select * from {{ ref('stg_config__clusters') }}

),

priorities as (

    select * from {{ ref('int_failure_category_priorities') }}

),

in_window as (

    select
        evidence.cluster_id,
        evidence.attempt_id,
        evidence.is_control,
        evidence.event_id,
        evidence.lag_seconds,
        features.node_id,
        features.observed_at,
        features.check_key,
        features.family,
        features.persistence,
        features.has_companion,
        features.is_withdrawn,
        coalesce(priorities.priority, 1000) as priority
    from evidence
    inner join clusters on evidence.cluster_id = clusters.cluster_id
    inner join features
        on
            evidence.cluster_id = features.cluster_id
            and evidence.event_id = features.event_id
    left join priorities
        on
            evidence.cluster_id = priorities.cluster_id
            and evidence.failure_category = priorities.failure_category
    where
        evidence.lag_seconds >= -clusters.attribution_before_seconds
        and evidence.lag_seconds <= clusters.attribution_after_seconds

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

-- Symptoms of one fault follow one another within minutes: together they are judged once.
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

attempt_times as (

    select
        described.*,
        {{ attribution_stratum('suspects.state', 'suspects.node_count', 'suspects.runtime_seconds') }} as stratum,
        suspects.started_at,
        suspects.ended_at,
        suspects.node_count,
        suspects.runtime_seconds
    from described
    left join suspects
        on
            described.cluster_id = suspects.cluster_id
            and described.attempt_id = suspects.attempt_id

),

failed_nodes as (

    select
        culprits.cluster_id,
        culprits.node_id,
        suspects.ended_at
    from culprits
    inner join suspects
        on
            culprits.cluster_id = suspects.cluster_id
            and culprits.attempt_id = suspects.attempt_id

),

-- The fault that failed a job before this one on the node goes on to show, until its checks have run.
explained as (

    select distinct
        attempt_times.cluster_id,
        attempt_times.attempt_id,
        attempt_times.node_id,
        attempt_times.episode_number
    from attempt_times
    inner join failed_nodes
        on
            attempt_times.cluster_id = failed_nodes.cluster_id
            and attempt_times.node_id = failed_nodes.node_id
            and failed_nodes.ended_at <= coalesce(
                attempt_times.started_at + interval 1 second, attempt_times.first_observed_at + interval 900 second
            )
            and failed_nodes.ended_at >= attempt_times.first_observed_at - interval 900 second

)

select
    attempt_times.cluster_id,
    attempt_times.attempt_id,
    attempt_times.is_control,
    attempt_times.node_id,
    attempt_times.episode_number,
    attempt_times.event_id,
    attempt_times.event_rank,
    attempt_times.check_key,
    attempt_times.family,
    attempt_times.first_lag_seconds as lag_seconds,
    case
        when attempt_times.event_count = 1 then attempt_times.persistence
        when attempt_times.persistence_rank = 2 then 'lasting'
        when attempt_times.persistence_rank = 0 then 'cleared'
        else 'missing'
    end as persistence,
    attempt_times.episode_has_companion as has_companion,
    attempt_times.episode_is_withdrawn as is_withdrawn,
    attempt_times.first_observed_at as observed_at,
    attempt_times.stratum,
    attempt_times.started_at,
    attempt_times.ended_at,
    attempt_times.node_count,
    attempt_times.runtime_seconds,
    explained.attempt_id is not null as is_explained
from attempt_times
left join explained
    on
        attempt_times.cluster_id = explained.cluster_id
        and attempt_times.attempt_id = explained.attempt_id
        and attempt_times.node_id = explained.node_id
        and attempt_times.episode_number = explained.episode_number
