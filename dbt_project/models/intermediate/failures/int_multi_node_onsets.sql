with

events as (

    select * from {{ ref('int_health_events') }}
    where is_evidence

),

categories as (

    select * from {{ ref('failure_categories') }}
    where is_shared_infrastructure

),

failures as (

    select * from {{ ref('int_attempts_interrupted') }}
    where
        state = 'NODE_FAIL'
        and evidence_count = 0
        and not is_planned

),

-- The controller notices a reboot when the node registers again, after a time that differs between nodes.
reboots as (

    select
        cluster_id,
        node_id,
        logged_at,
        coalesce({{ told_boot_time() }}, logged_at) as booted_at
    from {{ ref('stg_slurmctld__events') }}
    where
        kind = 'node_rebooted'
        and node_id is not null
        and {{ regex_matches("lower(message)", "'unexpectedly'") }}

),

periods as (

    select
        cluster_id,
        {{ seconds_between('study_from_at', 'study_to_at') }} as study_seconds
    from {{ ref('int_study_periods') }}

),

-- A check shows that the fault began after its last good result: its onset reaches back to it, at most five minutes.
onsets_of_symptoms as (

    select
        events.cluster_id,
        events.failure_category,
        events.failure_category as symptom,
        events.event_id as onset_id,
        events.node_id,
        events.observed_at,
        120 + case
            when events.is_point_event or events.last_ok_at is null then 0
            else least(300, {{ seconds_between('events.last_ok_at', 'events.observed_at') }})
        end as reach_seconds
    from events
    inner join categories on events.failure_category = categories.failure_category

),

-- The controller gives up all nodes that fell silent together in one pass, within seconds. Two minutes would join
-- unrelated silences: four faults planted one after another on four nodes of a small cluster.
lost_nodes as (

    select
        failures.cluster_id,
        categories.failure_category,
        categories.failure_category as symptom,
        failures.attempt_id as onset_id,
        failures.culprit_node_id as node_id,
        failures.ended_at as observed_at,
        10 as reach_seconds
    from failures
    inner join categories on categories.failure_category = 'node_fail_unattributed'
    where failures.culprit_node_id is not null

),

rebooted_nodes as (

    select distinct
        reboots.cluster_id,
        categories.failure_category,
        'unexpectedly rebooted' as symptom,
        reboots.node_id || ' ' || cast(reboots.booted_at as string) as onset_id,
        reboots.node_id,
        reboots.booted_at as observed_at,
        300 as reach_seconds
    from reboots
    inner join categories on categories.failure_category = 'node_fail_unattributed'

),

-- Jobs of a node end when its reboot is noticed, or earlier, when it is given up for its silence.
failures_of_reboots as (

    select
        failed_nodes.cluster_id,
        failed_nodes.attempt_id,
        reboots.node_id,
        reboots.booted_at
    from (
        select
            *,
            {{ unnest_list(
                'case when culprit_node_id is null then node_ids else ' ~ list_literal(['culprit_node_id']) ~ ' end'
            ) }} as node_id
        from failures
    ) as failed_nodes
    inner join reboots
        on
            failed_nodes.cluster_id = reboots.cluster_id
            and failed_nodes.node_id = reboots.node_id
            and failed_nodes.ended_at >= reboots.booted_at - interval 300 second
            and failed_nodes.ended_at <= reboots.logged_at + interval 5 second

),

onsets as (

    select * from onsets_of_symptoms
    union all
    select * from lost_nodes
    union all
    select * from rebooted_nodes

),

reaching_onsets as (

    select
        *,
        {{ seconds_interval('reach_seconds') }} as reach,
        observed_at - {{ seconds_interval('reach_seconds') }} as reaches_back_to,
        count(*) over (partition by cluster_id, symptom) as onset_count
    from onsets

),

counted as (

    {{ nodes_within_reach('reaching_onsets') | indent(4) }}

),

-- Two nodes may be the two ends of one link. The more onsets there are, the more often groups form by chance: at most
-- 0.05 groups are expected in the whole study period, by Chernoff's bound of the Poisson tail.
crowded as (

    select
        counted.cluster_id,
        counted.symptom,
        counted.onset_id,
        counted.observed_at,
        counted.reaches_back_to,
        counted.node_count,
        reaching_onsets.onset_count,
        reaching_onsets.onset_count * reaching_onsets.reach_seconds / nullif(periods.study_seconds, 0) as chance_count
    from counted
    inner join reaching_onsets
        on
            counted.cluster_id = reaching_onsets.cluster_id
            and counted.symptom = reaching_onsets.symptom
            and counted.onset_id = reaching_onsets.onset_id
    left join periods on counted.cluster_id = periods.cluster_id
    where counted.node_count >= 3

),

crowds as (

    select
        *,
        max(observed_at) over (
            partition by cluster_id, symptom
            order by reaches_back_to, observed_at, onset_id
            rows between unbounded preceding and 1 preceding
        ) as latest_before_at
    from crowded
    where
        chance_count is null
        or (
            chance_count < node_count - 1
            and onset_count * power(exp(1) * chance_count / (node_count - 1), node_count - 1) <= 0.05
        )

),

numbered as (

    select
        *,
        sum(case when reaches_back_to <= latest_before_at then 0 else 1 end) over (
            partition by cluster_id, symptom
            order by reaches_back_to, observed_at, onset_id
            rows between unbounded preceding and current row
        ) as crowd_number
    from crowds

),

shared_events as (

    select
        cluster_id,
        symptom,
        min(reaches_back_to) as started_at,
        max(observed_at) as ended_at
    from numbered
    group by cluster_id, symptom, crowd_number

)

select distinct
    onsets.cluster_id,
    coalesce(failures_of_reboots.attempt_id, onsets.onset_id) as onset_id,
    onsets.failure_category,
    {{ content_id([
        'shared_events.cluster_id', 'shared_events.symptom', 'shared_events.started_at'
    ]) }} as shared_event_id
from onsets
inner join shared_events
    on
        onsets.cluster_id = shared_events.cluster_id
        and onsets.symptom = shared_events.symptom
        and onsets.observed_at >= shared_events.started_at
        and onsets.observed_at <= shared_events.ended_at
left join failures_of_reboots
    on
        onsets.cluster_id = failures_of_reboots.cluster_id
        and onsets.node_id = failures_of_reboots.node_id
        and onsets.observed_at = failures_of_reboots.booted_at
        and onsets.symptom = 'unexpectedly rebooted'
