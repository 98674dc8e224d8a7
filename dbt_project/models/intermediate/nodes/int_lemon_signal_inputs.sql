with

-- What a job's submit line excludes, queue snapshots may show again. Few jobs are in any, so few need adding up.
queued_jobs as (

    select distinct
        cluster_id,
        job_id_raw
    from {{ ref('fct_job_exclusions') }}
    where source = 'squeue'

),

exclusions_by_queued_jobs as (

    select exclusions.*
    from {{ ref('fct_job_exclusions') }} as exclusions
    inner join queued_jobs
        on
            exclusions.cluster_id = queued_jobs.cluster_id
            and exclusions.job_id_raw = queued_jobs.job_id_raw

),

exclusions_by_other_jobs as (

    select exclusions.*
    from {{ ref('fct_job_exclusions') }} as exclusions
    left join queued_jobs
        on
            exclusions.cluster_id = queued_jobs.cluster_id
            and exclusions.job_id_raw = queued_jobs.job_id_raw
    where queued_jobs.job_id_raw is null

),

events as (

    select * from {{ ref('fct_health_events') }}
    where check_name != 'sxid'

),

tickets as (

    select * from {{ ref('fct_tickets') }}

),

outages as (

    select * from {{ ref('fct_node_outages') }}
    where not coalesce(is_planned, false)

),

-- A heterogeneous job has several nodes, though each of its components may have one.
het_failures as (

    select distinct
        cluster_id,
        attempt_id
    from {{ ref('int_het_failures_joined') }}

),

suspects as (

    select * from {{ ref('fct_incident_suspects') }}
    where is_known

),

failures as (

    select * from {{ ref('fct_failures') }}

),

records as (

    select * from {{ ref('int_attempts') }}
    where
        is_terminal
        and started_at is not null
        and node_count = 1

),

excluding_jobs as (

    select
        cluster_id,
        node_id,
        cast(first_seen_at as date) as first_date,
        cast(coalesce(last_seen_at, first_seen_at) as date) as last_date
    from exclusions_by_other_jobs
    where first_seen_at is not null

    union all

    select
        cluster_id,
        node_id,
        cast(min(first_seen_at) as date) as first_date,
        cast(max(coalesce(last_seen_at, first_seen_at)) as date) as last_date
    from exclusions_by_queued_jobs
    where first_seen_at is not null
    group by cluster_id, node_id, job_id_raw

),

codes as (

    select distinct
        cluster_id,
        node_id,
        cast(observed_at as date) as day_date,
        {{ unnest_list('codes') }} as code
    from events

),

-- A code counts once however often it comes back: up to its next time, or to the end of its own window.
code_spells as (

    select
        cluster_id,
        node_id,
        day_date as first_date,
        lead(day_date) over (
            partition by cluster_id, node_id, code
            order by day_date
        ) as next_date
    from codes

),

single_node_failures as (

    select
        failures.cluster_id,
        failures.culprit_node_id as node_id,
        cast(failures.failed_at as date) as day_date
    from failures
    inner join suspects
        on
            failures.cluster_id = suspects.cluster_id
            and failures.incident_id = suspects.incident_id
            and failures.culprit_node_id = suspects.node_id
    left join het_failures
        on
            failures.cluster_id = het_failures.cluster_id
            and failures.attempt_id = het_failures.attempt_id
    where
        failures.node_count = 1
        and het_failures.attempt_id is null

)

select
    cluster_id,
    node_id,
    'exclusion' as signal,
    first_date,
    last_date,
    cast(null as date) as next_date,
    count(*) as amount
from excluding_jobs
group by cluster_id, node_id, first_date, last_date

union all

select
    cluster_id,
    node_id,
    'code' as signal,
    first_date,
    first_date as last_date,
    next_date,
    1 as amount
from code_spells

union all

select
    cluster_id,
    node_id,
    'ticket' as signal,
    cast(opened_at as date) as first_date,
    cast(opened_at as date) as last_date,
    cast(null as date) as next_date,
    count(*) as amount
from tickets
group by cluster_id, node_id, cast(opened_at as date)

union all

select
    cluster_id,
    node_id,
    'outage' as signal,
    cast(started_at as date) as first_date,
    cast(started_at as date) as last_date,
    cast(null as date) as next_date,
    count(*) as amount
from outages
group by cluster_id, node_id, cast(started_at as date)

union all

select
    cluster_id,
    node_id,
    case when is_multi_node then 'multi_node_incident' else 'single_node_incident' end as signal,
    cast(failed_at as date) as first_date,
    cast(failed_at as date) as last_date,
    cast(null as date) as next_date,
    count(*) as amount
from suspects
group by cluster_id, node_id, is_multi_node, cast(failed_at as date)

union all

select
    cluster_id,
    node_id,
    'single_node_failure' as signal,
    day_date as first_date,
    day_date as last_date,
    cast(null as date) as next_date,
    count(*) as amount
from single_node_failures
group by cluster_id, node_id, day_date

union all

select
    cluster_id,
    {{ first_item('node_ids') }} as node_id,
    'single_node_attempt' as signal,
    cast(ended_at as date) as first_date,
    cast(ended_at as date) as last_date,
    cast(null as date) as next_date,
    count(*) as amount
from records
group by cluster_id, {{ first_item('node_ids') }}, cast(ended_at as date)
