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

signs as (

    {{ signs_of_evidence('evidence', 'events') | indent(4) }}

),

-- Signs other than the failure's cause. Each counts as its category, as any category and as a symptom.
both_seen as (

    select
        failures.cluster_id,
        failures.failure_category,
        signs.sign as other_category,
        case
            when signs.category_shown is null then 'symptom'
            when signs.category_shown = signs.sign then 'category'
            else 'group'
        end as other_kind,
        count(distinct failures.attempt_id) as both_count
    from failures
    inner join signs
        on
            failures.cluster_id = signs.cluster_id
            and failures.attempt_id = signs.attempt_id
            and signs.sign is not null
            and coalesce(failures.failure_category != signs.category_shown, true)
    group by failures.cluster_id, failures.failure_category, other_category, other_kind

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

-- List every sign for every cause, even if never seen. The logs decide whether it could have been seen.
listed as (

    select
        sources.cluster_id,
        listed.other_category,
        listed.other_kind,
        (sources.is_xid_readable or not listed.needs_xids)
        and (sources.is_sel_read or not listed.needs_sel) as is_knowable
    from sources
    cross join (
        values
        ('any other category', 'group', false, false),
        ('any gpu category', 'group', true, false),
        ('xid 79', 'symptom', true, false),
        ('ipmi critical interrupt', 'symptom', false, true),
        ('xid 79 with ipmi critical interrupt', 'symptom', true, true)
    ) as listed (other_category, other_kind, needs_xids, needs_sel)

),

others as (

    select * from listed

    union

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
    from both_seen
    where other_category not in (select listed.other_category from listed)

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
