with

failures as (

    select * from {{ ref('int_attempts_interrupted') }}
    -- Taking a node down for maintenance ends its jobs, too. Slurm calls that NODE_FAIL, but it is no fault.
    where not is_planned

),

evidence as (

    select * from {{ ref('int_attempt_end_evidence') }}
    where
        is_in_window
        and not is_control

),

episodes as (

    select * from {{ ref('int_attribution_episodes') }}
    where not is_control

),

posteriors as (

    select
        cluster_id,
        attempt_id,
        node_id,
        episode_number,
        probability
    from {{ fitted_table('int_posteriors_fitted') }}
    where draw = 0

),

priorities as (

    select * from {{ ref('int_failure_category_priorities') }}

),

attempt_posteriors as (

    select
        cluster_id,
        attempt_id,
        least({{ exact_sum('probability') }}, 1) as probability
    from posteriors
    group by cluster_id, attempt_id

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

ranked as (

    select
        evidence.cluster_id,
        evidence.attempt_id,
        evidence.event_id,
        evidence.node_id,
        evidence.failure_category,
        evidence.origin,
        evidence.lag_seconds,
        event_posteriors.probability,
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

)

select
    failures.cluster_id,
    failures.attempt_id,
    failures.job_key,
    failures.user_name,
    failures.account,
    failures.partition,
    failures.qos,
    failures.state,
    failures.ended_at as failed_at,
    failures.runtime_seconds,
    failures.node_ids,
    failures.node_count,
    failures.gpu_count,
    failures.evidence_count,
    failures.is_culprit_named,
    ranked.event_id,
    coalesce(ranked.evidence_rank, 1) as evidence_rank,
    ranked.lag_seconds,
    ranked.probability as event_probability,
    -- If Slurm says that a node failed, or names the node, infrastructure is the cause.
    cast(case
        when failures.state in ('NODE_FAIL', 'BOOT_FAIL') or failures.is_culprit_named then 1
        else attempt_posteriors.probability
    end as double) as posterior_probability,
    case
        when failures.is_prolog_failure and failures.state != 'NODE_FAIL' then 'prolog_failure'
        when ranked.origin = 'administrator' and failures.state = 'NODE_FAIL' then 'administrator_down'
        when ranked.event_id is not null and failures.is_culprit_named then 'evidence_on_named_node'
        when ranked.event_id is not null then 'evidence_on_attempt_node'
        when failures.state = 'NODE_FAIL' and failures.is_culprit_named then 'node_fail_named_node'
        when failures.state = 'NODE_FAIL' then 'node_fail_no_node_named'
        else 'boot_failure'
    end as attribution_rule,
    case
        when ranked.event_id is not null then ranked.failure_category
        when failures.state = 'NODE_FAIL' then 'node_fail_unattributed'
        else 'system_services'
    end as failure_category,
    failures.state != 'NODE_FAIL' or ranked.event_id is not null as is_attributed,
    coalesce(ranked.node_id, failures.culprit_node_id) as culprit_node_id
from failures
left join ranked
    on
        failures.cluster_id = ranked.cluster_id
        and failures.attempt_id = ranked.attempt_id
left join attempt_posteriors
    on
        failures.cluster_id = attempt_posteriors.cluster_id
        and failures.attempt_id = attempt_posteriors.attempt_id
