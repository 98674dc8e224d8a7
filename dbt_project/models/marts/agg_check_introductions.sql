with

checks as (

    select * from {{ ref('stg_health__checks') }}
    where result_quality = 'ran'

),

meanings as (

    select * from {{ ref('health_checks') }}

),

site_meanings as (

    select * from {{ ref('int_health_checks_matched') }}

),

kernel_messages as (

    select * from {{ ref('stg_kernel__messages') }}

),

node_events as (

    select * from {{ ref('stg_sacctmgr__node_events') }}

),

slurmctld_events as (

    select * from {{ ref('stg_slurmctld__events') }}
    -- a start of the controller names no node
    where kind != 'controller_started'

),

checks_reported as (

    select
        cluster_id,
        check_key,
        min(check_name) as check_name,
        min(observed_at) as first_reported_at,
        max(observed_at) as last_reported_at,
        min(case when result != 'OK' then observed_at end) as first_failed_at,
        bool_or(result = 'OK') as has_good_results
    from checks
    group by cluster_id, check_key

),

health_checks as (

    select
        *,
        min(first_reported_at) over (partition by cluster_id) as source_first_at
    from checks_reported

),

-- A log has lines only when something happens. Its first line is no introduction, but nothing is known before it.
logs as (

    select
        cluster_id,
        'kernel log' as check_name,
        'kernel' as source,
        min(occurred_at) as first_reported_at,
        max(occurred_at) as last_reported_at
    from kernel_messages
    group by cluster_id

    union all

    select
        cluster_id,
        'node events' as check_name,
        'node_event' as source,
        min(started_at) as first_reported_at,
        max(started_at) as last_reported_at
    from node_events
    group by cluster_id

    union all

    select
        cluster_id,
        'controller log' as check_name,
        'slurmctld' as source,
        min(logged_at) as first_reported_at,
        max(logged_at) as last_reported_at
    from slurmctld_events
    group by cluster_id

)

select
    health_checks.cluster_id,
    health_checks.check_name,
    'health_check' as source,
    coalesce(site_meanings.failure_category, meanings.failure_category, 'unmapped') as failure_category,
    health_checks.first_reported_at,
    health_checks.last_reported_at,
    health_checks.first_failed_at,
    health_checks.has_good_results,
    case
        when health_checks.has_good_results
            then health_checks.first_reported_at >= health_checks.source_first_at + interval 1 day
    end as is_introduction
from health_checks
left join meanings on health_checks.check_key = meanings.check_key
left join site_meanings
    on
        health_checks.cluster_id = site_meanings.cluster_id
        and health_checks.check_key = site_meanings.check_key
union all
select
    cluster_id,
    check_name,
    source,
    cast(null as string) as failure_category,
    first_reported_at,
    last_reported_at,
    cast(null as timestamp) as first_failed_at,
    false as has_good_results,
    cast(null as boolean) as is_introduction
from logs
