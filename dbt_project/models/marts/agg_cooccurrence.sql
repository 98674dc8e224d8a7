with

failures as (

    select * from {{ ref('fct_failures') }}
    where is_attributed

),

evidence as (

    select * from {{ ref('fct_failure_evidence') }}

),

events as (

    select * from {{ ref('fct_health_events') }}

),

checks_reported as (

    select * from {{ ref('agg_check_introductions') }}

),

clusters as (

    select * from {{ ref('dim_clusters') }}

),

causes as (

    select
        cluster_id,
        failure_category,
        count(*) as failure_count
    from failures
    group by cluster_id, failure_category

),

codes as (

    select
        cluster_id,
        event_id,
        {{ unnest_list('codes') }} as code
    from events

),

-- The driver's message without a number says what Xid 79 says.
symptoms as (

    select
        evidence.cluster_id,
        evidence.attempt_id,
        case
            when events.source = 'kernel' and events.check_name = 'fell_off_bus' then 'xid 79'
            when events.check_name = 'sxid' then 'sxid ' || codes.code
            when codes.code is not null then 'xid ' || codes.code
            when lower(events.check_name) = 'ipmitool sel' and lower(events.message) like '%critical interrupt%'
                then 'ipmi critical interrupt'
        end as symptom
    from evidence
    inner join events
        on
            evidence.cluster_id = events.cluster_id
            and evidence.event_id = events.event_id
    left join codes
        on
            events.cluster_id = codes.cluster_id
            and events.event_id = codes.event_id

),

-- What each failure has in evidence, beside its own cause, as category, as any category, and as symptom.
seen as (

    select
        failures.cluster_id,
        failures.attempt_id,
        failures.failure_category,
        evidence.failure_category as other_category,
        'category' as other_kind
    from failures
    inner join evidence
        on
            failures.cluster_id = evidence.cluster_id
            and failures.attempt_id = evidence.attempt_id
            and failures.failure_category != evidence.failure_category

    union

    select
        failures.cluster_id,
        failures.attempt_id,
        failures.failure_category,
        'any other category' as other_category,
        'group' as other_kind
    from failures
    inner join evidence
        on
            failures.cluster_id = evidence.cluster_id
            and failures.attempt_id = evidence.attempt_id
            and failures.failure_category != evidence.failure_category

    union

    select
        failures.cluster_id,
        failures.attempt_id,
        failures.failure_category,
        'any gpu category' as other_category,
        'group' as other_kind
    from failures
    inner join evidence
        on
            failures.cluster_id = evidence.cluster_id
            and failures.attempt_id = evidence.attempt_id
            and failures.failure_category != evidence.failure_category
    where
        evidence.failure_category in ('gpu_memory', 'gpu_nvlink', 'gpu_unavailable', 'gpu_driver_firmware')

    union

    select
        failures.cluster_id,
        failures.attempt_id,
        failures.failure_category,
        symptoms.symptom as other_category,
        'symptom' as other_kind
    from failures
    inner join symptoms
        on
            failures.cluster_id = symptoms.cluster_id
            and failures.attempt_id = symptoms.attempt_id
    where symptoms.symptom is not null

    union

    select
        failures.cluster_id,
        failures.attempt_id,
        failures.failure_category,
        'xid 79 with ipmi critical interrupt' as other_category,
        'symptom' as other_kind
    from failures
    inner join symptoms as xids
        on
            failures.cluster_id = xids.cluster_id
            and failures.attempt_id = xids.attempt_id
            and xids.symptom = 'xid 79'
    inner join symptoms as interrupts
        on
            failures.cluster_id = interrupts.cluster_id
            and failures.attempt_id = interrupts.attempt_id
            and interrupts.symptom = 'ipmi critical interrupt'

),

both_seen as (

    select
        cluster_id,
        failure_category,
        other_category,
        count(*) as both_count
    from seen
    group by cluster_id, failure_category, other_category

),

sources as (

    select
        clusters.cluster_id,
        clusters.has_kernel_messages or clusters.has_health_checks as is_xid_readable,
        coalesce(bool_or(lower(checks_reported.check_name) = 'ipmitool sel'), false) as is_sel_read
    from clusters
    left join checks_reported on clusters.cluster_id = checks_reported.cluster_id
    group by clusters.cluster_id, clusters.has_kernel_messages, clusters.has_health_checks

),

others as (

    select
        cluster_id,
        failure_category as other_category,
        'category' as other_kind,
        true as is_knowable
    from causes

    union

    select
        cluster_id,
        other_category,
        other_kind,
        true as is_knowable
    from seen
    where
        other_category not in (
            'any other category', 'any gpu category',
            'xid 79', 'ipmi critical interrupt', 'xid 79 with ipmi critical interrupt'
        )

    union

    select
        cluster_id,
        'any other category' as other_category,
        'group' as other_kind,
        true as is_knowable
    from sources

    union

    select
        cluster_id,
        'any gpu category' as other_category,
        'group' as other_kind,
        is_xid_readable as is_knowable
    from sources

    union

    select
        cluster_id,
        'xid 79' as other_category,
        'symptom' as other_kind,
        is_xid_readable as is_knowable
    from sources

    union

    select
        cluster_id,
        'ipmi critical interrupt' as other_category,
        'symptom' as other_kind,
        is_sel_read as is_knowable
    from sources

    union

    select
        cluster_id,
        'xid 79 with ipmi critical interrupt' as other_category,
        'symptom' as other_kind,
        is_xid_readable and is_sel_read as is_knowable
    from sources

)

select
    causes.cluster_id,
    causes.failure_category,
    others.other_category,
    others.other_kind,
    causes.failure_count,
    case
        when both_seen.both_count is not null then both_seen.both_count
        when others.is_knowable then 0
    end as both_count,
    case
        when both_seen.both_count is not null then both_seen.both_count / causes.failure_count
        when others.is_knowable then 0
    end as both_ratio
from causes
inner join others
    on
        causes.cluster_id = others.cluster_id
        and causes.failure_category != others.other_category
left join both_seen
    on
        causes.cluster_id = both_seen.cluster_id
        and causes.failure_category = both_seen.failure_category
        and others.other_category = both_seen.other_category
