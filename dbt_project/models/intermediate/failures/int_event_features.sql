with

events as (

    select * from {{ ref('int_health_events') }}

),

checks as (

    select
        cluster_id,
        node_id,
        check_name,
        observed_at,
        unchanged_since,
        {{ quarter_hour('observed_at') }} as quarter_hour
    from {{ ref('stg_health__checks') }}
    where
        result = 'CRITICAL'
        and result_quality = 'ran'
        and node_id is not null

),

outages as (

    select * from {{ ref('int_node_outages') }}
    where
        not is_planned
        -- A drain by Slurm because a job could not be cleaned up says something about the job.
        and not {{ regex_matches(
            "lower(coalesce(reason, ''))", "'kill task failed|epilog|prolog|batch job|duplicate job'"
        ) }}

),

evidence as (

    select
        *,
        -- Times of the node's own clock, as in its check results.
        observed_at + {{ seconds_interval('clock_offset_seconds') }} as logged_at,
        case
            when check_name = 'node reason' then 'reason'
            when source = 'kernel' then 'kernel'
            when is_point_event then 'point_check'
            when last_ok_at is not null or cleared_at is not null then 'check'
            else 'failures_only'
        end as family
    from events
    where is_evidence

),

-- Reports of a node within five minutes are in the same five-minute slot or in an adjacent one.
other_events as (

    select
        cluster_id,
        node_id,
        source,
        check_name,
        observed_at,
        {{ time_slot('observed_at', 300) }} as slot
    from events
    where
        evidence_class in ('A', 'B')
        and check_name != 'node reason'

),

evidence_slots as (

    select
        cluster_id,
        event_id,
        node_id,
        source,
        check_name,
        observed_at,
        {{ unnest_integer_range(
            time_slot('observed_at', 300) ~ ' - 1', time_slot('observed_at', 300) ~ ' + 1'
        ) }} as slot
    from evidence

),

accompanied as (

    select distinct
        evidence_slots.cluster_id,
        evidence_slots.event_id
    from evidence_slots
    inner join other_events
        on
            evidence_slots.cluster_id = other_events.cluster_id
            and evidence_slots.node_id = other_events.node_id
            and evidence_slots.slot = other_events.slot
            and abs({{ seconds_between('evidence_slots.observed_at', 'other_events.observed_at') }}) <= 300
    where
        evidence_slots.source != other_events.source
        or evidence_slots.check_name != other_events.check_name

),

-- Good results, and sometimes failing ones, keep only the ends of a stretch: inside it, the check kept failing.
check_quarter_hours as (

    select
        cluster_id,
        event_id,
        node_id,
        check_name,
        logged_at,
        {{ unnest_integer_range(quarter_hour('logged_at'), quarter_hour('logged_at') ~ ' + 2') }} as quarter_hour
    from evidence
    where family in ('check', 'failures_only')

),

failing_again as (

    select
        check_quarter_hours.cluster_id,
        check_quarter_hours.event_id
    from check_quarter_hours
    inner join checks
        on
            check_quarter_hours.cluster_id = checks.cluster_id
            and check_quarter_hours.node_id = checks.node_id
            and check_quarter_hours.check_name = checks.check_name
            and check_quarter_hours.quarter_hour = checks.quarter_hour
    where
        {{ seconds_between('check_quarter_hours.logged_at', 'checks.observed_at') }} > 150
        and {{ seconds_between('check_quarter_hours.logged_at', 'checks.observed_at') }} <= 1020
    union
    -- Only the ends of a day's stretch are kept: in between, the check failed in every quarter of an hour.
    select
        evidence.cluster_id,
        evidence.event_id
    from evidence
    inner join checks
        on
            evidence.cluster_id = checks.cluster_id
            and evidence.node_id = checks.node_id
            and evidence.check_name = checks.check_name
            and cast(evidence.logged_at as date) = cast(checks.observed_at as date)
            and checks.unchanged_since <= evidence.logged_at + interval 1020 second
            and checks.observed_at > evidence.logged_at + interval 150 second
    where
        checks.unchanged_since is not null
        and evidence.family in ('check', 'failures_only')

),

withdrawn as (

    select distinct
        evidence.cluster_id,
        evidence.event_id
    from evidence
    inner join outages
        on
            evidence.cluster_id = outages.cluster_id
            and evidence.node_id = outages.node_id
            and least(outages.started_at, coalesce(outages.requested_at, outages.started_at))
            between evidence.observed_at - interval 60 second and evidence.observed_at + interval 900 second

)

select
    evidence.cluster_id,
    evidence.event_id,
    evidence.node_id,
    evidence.source || ': ' || evidence.check_name as check_key,
    evidence.family,
    evidence.observed_at,
    case
        when evidence.family not in ('check', 'failures_only') then 'missing'
        when evidence.cleared_at <= evidence.observed_at + interval 1200 second then 'cleared'
        when evidence.cleared_at is not null or failing_again.event_id is not null then 'lasting'
        else 'missing'
    end as persistence,
    accompanied.event_id is not null as has_companion,
    withdrawn.event_id is not null as is_withdrawn
from evidence
left join accompanied
    on
        evidence.cluster_id = accompanied.cluster_id
        and evidence.event_id = accompanied.event_id
left join failing_again
    on
        evidence.cluster_id = failing_again.cluster_id
        and evidence.event_id = failing_again.event_id
left join withdrawn
    on
        evidence.cluster_id = withdrawn.cluster_id
        and evidence.event_id = withdrawn.event_id
