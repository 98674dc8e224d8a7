with

suspects as (

    select * from {{ ref('int_failures_suspected') }}

),

culprits as (

    select * from {{ ref('int_culprits_named') }}

),

het_failures as (

    select distinct
        cluster_id,
        attempt_id
    from {{ ref('int_het_failures_joined') }}

),

evidence as (

    select * from {{ ref('int_failures_evidenced') }}

),

planned_ends as (

    select * from {{ ref('int_planned_attempt_ends') }}

),

posteriors as (

    select
        cluster_id,
        attempt_id,
        least({{ exact_sum('probability') }}, 1) as probability
    from {{ ref('int_evidence_posteriors') }}
    where draw = 0
    group by cluster_id, attempt_id

),

primary_evidence as (

    select * from evidence
    where evidence_rank = 1

),

evidence_counts as (

    select
        cluster_id,
        attempt_id,
        count(*) as evidence_count
    from evidence
    group by cluster_id, attempt_id

),

first_culprits as (

    select * from culprits
    where culprit_rank = 1

),

prolog_failures as (

    select distinct
        cluster_id,
        attempt_id
    from culprits
    where is_prolog_failure

),

judged as (

    select
        suspects.cluster_id,
        suspects.attempt_id,
        suspects.job_key,
        suspects.user_name,
        suspects.account,
        suspects.partition,
        suspects.qos,
        suspects.state,
        suspects.ended_at,
        suspects.runtime_seconds,
        suspects.node_ids,
        suspects.node_count,
        suspects.gpu_count,
        suspects.window_start_at,
        suspects.window_end_at,
        primary_evidence.event_id as primary_event_id,
        coalesce(evidence_counts.evidence_count, 0) as evidence_count,
        first_culprits.node_id is not null as is_culprit_named,
        -- Slurm itself says that a node failed, or names the node: then infrastructure it was.
        case
            when suspects.state in ('NODE_FAIL', 'BOOT_FAIL') or first_culprits.node_id is not null then 1
            else posteriors.probability
        end as posterior_probability,
        case
            when prolog_failures.attempt_id is not null and suspects.state != 'NODE_FAIL' then 'prolog_failure'
            when primary_evidence.origin = 'administrator' and suspects.state = 'NODE_FAIL' then 'administrator_down'
            when primary_evidence.event_id is not null and first_culprits.node_id is not null
                then 'evidence_on_named_node'
            when primary_evidence.event_id is not null then 'evidence_on_attempt_node'
            when suspects.state = 'NODE_FAIL' and first_culprits.node_id is not null then 'node_fail_named_node'
            when suspects.state = 'NODE_FAIL' then 'node_fail_no_node_named'
            when suspects.state = 'BOOT_FAIL' then 'boot_failure'
        end as attribution_rule,
        case
            when primary_evidence.event_id is not null then primary_evidence.failure_category
            when prolog_failures.attempt_id is not null and suspects.state != 'NODE_FAIL' then 'system_services'
            when suspects.state = 'NODE_FAIL' then 'node_fail_unattributed'
            when suspects.state = 'BOOT_FAIL' then 'system_services'
        end as failure_category,
        case
            when primary_evidence.node_id is not null then primary_evidence.node_id
            when first_culprits.node_id is not null then first_culprits.node_id
            when
                suspects.node_count = 1 and het_failures.attempt_id is null
                then {{ first_item('suspects.node_ids') }}
        end as culprit_node_id
    from suspects
    left join primary_evidence
        on
            suspects.cluster_id = primary_evidence.cluster_id
            and suspects.attempt_id = primary_evidence.attempt_id
    left join evidence_counts
        on
            suspects.cluster_id = evidence_counts.cluster_id
            and suspects.attempt_id = evidence_counts.attempt_id
    left join first_culprits
        on
            suspects.cluster_id = first_culprits.cluster_id
            and suspects.attempt_id = first_culprits.attempt_id
    left join prolog_failures
        on
            suspects.cluster_id = prolog_failures.cluster_id
            and suspects.attempt_id = prolog_failures.attempt_id
    left join planned_ends
        on
            suspects.cluster_id = planned_ends.cluster_id
            and suspects.attempt_id = planned_ends.attempt_id
    left join het_failures
        on
            suspects.cluster_id = het_failures.cluster_id
            and suspects.attempt_id = het_failures.attempt_id
    left join posteriors
        on
            suspects.cluster_id = posteriors.cluster_id
            and suspects.attempt_id = posteriors.attempt_id
    -- Taking a node down for maintenance ends its jobs too: Slurm calls that NODE_FAIL, and it is no fault.
    where planned_ends.attempt_id is null

)

select
    cluster_id,
    attempt_id,
    job_key,
    user_name,
    account,
    partition,
    qos,
    state,
    ended_at as failed_at,
    failure_category,
    attribution_rule,
    attribution_rule in (
        'prolog_failure', 'boot_failure', 'administrator_down', 'evidence_on_named_node', 'evidence_on_attempt_node'
    ) as is_attributed,
    culprit_node_id,
    is_culprit_named,
    cast(posterior_probability as double) as posterior_probability,
    primary_event_id,
    evidence_count,
    runtime_seconds,
    node_ids,
    node_count,
    gpu_count,
    window_start_at,
    window_end_at
from judged
where attribution_rule is not null
