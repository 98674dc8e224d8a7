with

suspects as (

    select * from {{ ref('int_failures_suspected') }}

),

culprits as (

    select * from {{ ref('int_culprits_named') }}

),

het_failures as (

    select * from {{ ref('int_het_failures_joined') }}

),

attempts as (

    select * from {{ ref('int_attempts_near_events') }}

),

events as (

    select * from {{ ref('fct_health_events') }}
    where is_evidence

),

priorities as (

    select * from {{ ref('int_failure_category_priorities') }}

),

episodes as (

    select * from {{ ref('int_attribution_episodes') }}
    where not is_control

),

posteriors as (

    select * from {{ ref('int_evidence_posteriors') }}
    where draw = 0

),

event_posteriors as (

    select
        episodes.cluster_id,
        episodes.attempt_id,
        episodes.event_id,
        posteriors.probability
    from episodes
    inner join posteriors
        on
            episodes.cluster_id = posteriors.cluster_id
            and episodes.attempt_id = posteriors.attempt_id
            and episodes.node_id = posteriors.node_id
            and episodes.episode_number = posteriors.episode_number

),

reaches as (

    select
        cluster_id,
        max({{ seconds_between('window_start_at', 'ended_at') }}) as before_seconds,
        max({{ seconds_between('ended_at', 'window_end_at') }}) as after_seconds
    from suspects
    group by cluster_id

),

-- Where Slurm names the node that failed the job, what happened on the others is a coincidence.
unnamed_suspects as (

    select *
    from suspects
    where
        not exists (
            select 1
            from culprits
            where
                suspects.cluster_id = culprits.cluster_id
                and suspects.attempt_id = culprits.attempt_id
        )

),

suspect_nodes as (

    select
        cluster_id,
        attempt_id,
        started_at,
        ended_at,
        window_start_at,
        window_end_at,
        {{ unnest_list('node_ids') }} as node_id
    from unnamed_suspects

    union

    -- The node that failed a component of a heterogeneous job may be one of another component.
    select
        unnamed_suspects.cluster_id,
        unnamed_suspects.attempt_id,
        unnamed_suspects.started_at,
        unnamed_suspects.ended_at,
        unnamed_suspects.window_start_at,
        unnamed_suspects.window_end_at,
        {{ unnest_list('het_failures.partner_node_ids') }} as node_id
    from unnamed_suspects
    inner join het_failures
        on
            unnamed_suspects.cluster_id = het_failures.cluster_id
            and unnamed_suspects.attempt_id = het_failures.attempt_id

    union

    select
        suspects.cluster_id,
        suspects.attempt_id,
        suspects.started_at,
        suspects.ended_at,
        suspects.window_start_at,
        suspects.window_end_at,
        culprits.node_id
    from suspects
    inner join culprits
        on
            suspects.cluster_id = culprits.cluster_id
            and suspects.attempt_id = culprits.attempt_id

),

evidence as (

    {{ evidence_near_ends('suspect_nodes', 'reaches') }}

)

select
    evidence.cluster_id,
    evidence.attempt_id,
    evidence.event_id,
    evidence.node_id,
    evidence.failure_category,
    evidence.origin,
    evidence.observed_at,
    evidence.lag_seconds,
    event_posteriors.probability as posterior_probability,
    row_number() over (
        partition by evidence.cluster_id, evidence.attempt_id
        order by
            case when priorities.is_configured then priorities.priority end nulls last,
            coalesce(-event_posteriors.probability, 0),
            priorities.priority nulls last,
            abs(evidence.lag_seconds),
            evidence.event_id
    ) as evidence_rank
from evidence
left join event_posteriors
    on
        evidence.cluster_id = event_posteriors.cluster_id
        and evidence.attempt_id = event_posteriors.attempt_id
        and evidence.event_id = event_posteriors.event_id
left join priorities
    on
        evidence.cluster_id = priorities.cluster_id
        and evidence.failure_category = priorities.failure_category
