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

periods as (

    select
        cluster_id,
        {{ seconds_between('study_from_at', 'study_to_at') }} as study_seconds
    from {{ ref('int_study_periods') }}

),

-- A check says only that the fault began since it last was good: its onset reaches back by that, five minutes at most.
onsets_of_symptoms as (

    select
        events.cluster_id,
        events.failure_category,
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

-- The controller gives up all nodes that fell silent together in one pass, within seconds. Two minutes would join what
-- has nothing in common but the silence: four faults planted one after another on four nodes of a small cluster.
lost_nodes as (

    select
        failures.cluster_id,
        categories.failure_category,
        failures.attempt_id as onset_id,
        failures.culprit_node_id as node_id,
        failures.ended_at as observed_at,
        10 as reach_seconds
    from failures
    inner join categories on categories.failure_category = 'node_fail_unattributed'
    where failures.culprit_node_id is not null

),

onsets as (

    select * from onsets_of_symptoms
    union all
    select * from lost_nodes

),

reaching_onsets as (

    select
        *,
        {{ seconds_interval('reach_seconds') }} as reach,
        observed_at - {{ seconds_interval('reach_seconds') }} as reaches_back_to,
        count(*) over (partition by cluster_id, failure_category) as onset_count
    from onsets

),

counted as (

    {{ nodes_within_reach('reaching_onsets') | indent(4) }}

),

-- Two nodes are the two ends of one link. More of them come together by chance the oftener, the more onsets there are:
-- at most 0.05 such crowds are to be expected in the whole study, by Chernoff's bound of the Poisson tail.
crowded as (

    select
        counted.cluster_id,
        counted.failure_category,
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
            and counted.failure_category = reaching_onsets.failure_category
            and counted.onset_id = reaching_onsets.onset_id
    left join periods on counted.cluster_id = periods.cluster_id
    where counted.node_count >= 3

),

crowds as (

    select
        *,
        max(observed_at) over (
            partition by cluster_id, failure_category
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
            partition by cluster_id, failure_category
            order by reaches_back_to, observed_at, onset_id
            rows between unbounded preceding and current row
        ) as crowd_number
    from crowds

),

shared_events as (

    select
        cluster_id,
        failure_category,
        min(reaches_back_to) as started_at,
        max(observed_at) as ended_at
    from numbered
    group by cluster_id, failure_category, crowd_number

)

select
    onsets.cluster_id,
    onsets.onset_id,
    onsets.failure_category,
    onsets.node_id,
    onsets.observed_at,
    {{ content_id([
        'shared_events.cluster_id', 'shared_events.failure_category', 'shared_events.started_at'
    ]) }} as shared_event_id
from onsets
inner join shared_events
    on
        onsets.cluster_id = shared_events.cluster_id
        and onsets.failure_category = shared_events.failure_category
        and onsets.observed_at >= shared_events.started_at
        and onsets.observed_at <= shared_events.ended_at
