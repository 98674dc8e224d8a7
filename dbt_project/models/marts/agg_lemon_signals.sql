-- Long, because every sign has its own dates and counts only where logs cover its window.
with

clusters as (

    select * from {{ ref('dim_clusters') }}

),

settings as (

    select * from {{ ref('stg_config__clusters') }}

),

node_days as (

    select * from {{ ref('fct_node_days') }}

),

inputs as (

    select * from {{ ref('int_lemon_signal_inputs') }}

),

suspects as (

    select * from {{ ref('fct_incident_suspects') }}
    where is_known

),

failures as (

    select * from {{ ref('fct_failures') }}
    where node_count = 1

),

-- A heterogeneous job has several nodes, even if each component has one.
het_failures as (

    select distinct
        cluster_id,
        attempt_id
    from {{ ref('int_het_failures_joined') }}

),

days_covered as (

    select * from {{ ref('int_days_covered') }}

),

records as (

    select * from {{ ref('stg_sacct__records') }}

),

accounting as (

    select
        cluster_id,
        bool_or(submit_line is not null) as has_submit_lines,
        bool_or({{ list_length('node_ids') }} > 0) as has_node_lists
    from records
    group by cluster_id

),

excluding_jobs as (

    {{ jobs_excluding_nodes(ref('fct_job_exclusions')) | indent(4) }}

),

entries as (

    select * from inputs

    union all

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
        case when is_multi_node then 'multi_node_incident' else 'single_node_incident' end as signal,
        cast(failed_at as date) as first_date,
        cast(failed_at as date) as last_date,
        cast(null as date) as next_date,
        1 as amount
    from suspects

    union all

    select
        failures.cluster_id,
        failures.culprit_node_id as node_id,
        'single_node_failure' as signal,
        cast(failures.failed_at as date) as first_date,
        cast(failures.failed_at as date) as last_date,
        cast(null as date) as next_date,
        1 as amount
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
    where het_failures.attempt_id is null

),

-- A window's sum is a running total: a value enters on its day and leaves when it is as old as the window is long.
-- Values before the first day enter on the first day.
changes as (

    select
        entries.cluster_id,
        entries.node_id,
        entries.signal,
        greatest(entries.first_date, cast(clusters.first_at as date)) as day_date,
        entries.amount
    from entries
    inner join clusters on entries.cluster_id = clusters.cluster_id

    union all

    select
        entries.cluster_id,
        entries.node_id,
        entries.signal,
        greatest(
            least(
                entries.last_date + settings.lemon_window_days,
                coalesce(entries.next_date, cast({{ last_time() }} as date))
            ),
            cast(clusters.first_at as date)
        ) as day_date,
        -entries.amount as amount
    from entries
    inner join clusters on entries.cluster_id = clusters.cluster_id
    inner join settings on entries.cluster_id = settings.cluster_id

),

-- Doubles hold such counts exactly, and window sums of doubles are faster than those of integers.
daily_changes as (

    select
        cluster_id,
        node_id,
        day_date,
        cast(sum(case when signal = 'exclusion' then amount end) as double) as exclusion_change,
        cast(sum(case when signal = 'code' then amount end) as double) as code_change,
        cast(sum(case when signal = 'ticket' then amount end) as double) as ticket_change,
        cast(sum(case when signal = 'outage' then amount end) as double) as outage_change,
        cast(sum(case when signal = 'multi_node_incident' then amount end) as double) as multi_node_change,
        cast(sum(case when signal = 'single_node_incident' then amount end) as double) as single_node_change,
        cast(sum(case when signal = 'single_node_failure' then amount end) as double) as single_node_failure_change,
        cast(sum(case when signal = 'single_node_attempt' then amount end) as double) as single_node_attempt_change
    from changes
    group by cluster_id, node_id, day_date

),

-- Use has a value on every day: add the new day's and look up that of the day that leaves.
used_days as (

    select
        node_days.cluster_id,
        node_days.node_id,
        node_days.day_date,
        coalesce(cast(round(3600 * node_days.in_use_hours) as bigint), 0)
        - coalesce(cast(round(3600 * left_days.in_use_hours) as bigint), 0) as used_seconds_change
    from node_days
    inner join settings on node_days.cluster_id = settings.cluster_id
    left join node_days as left_days
        on
            node_days.cluster_id = left_days.cluster_id
            and node_days.node_id = left_days.node_id
            and node_days.day_date - settings.lemon_window_days = left_days.day_date

),

totals as (

    select
        used_days.cluster_id,
        used_days.node_id,
        used_days.day_date,
        coalesce(sum(daily_changes.exclusion_change) over node_so_far, 0) as exclusion_count,
        coalesce(sum(daily_changes.code_change) over node_so_far, 0) as code_count,
        coalesce(sum(daily_changes.ticket_change) over node_so_far, 0) as ticket_count,
        coalesce(sum(daily_changes.outage_change) over node_so_far, 0) as outage_count,
        coalesce(sum(daily_changes.multi_node_change) over node_so_far, 0) as multi_node_count,
        coalesce(sum(daily_changes.single_node_change) over node_so_far, 0) as single_node_count,
        coalesce(sum(daily_changes.single_node_failure_change) over node_so_far, 0) as single_node_failure_count,
        coalesce(sum(daily_changes.single_node_attempt_change) over node_so_far, 0) as single_node_attempt_count,
        sum(used_days.used_seconds_change) over node_so_far as used_seconds
    from used_days
    left join daily_changes
        on
            used_days.cluster_id = daily_changes.cluster_id
            and used_days.node_id = daily_changes.node_id
            and used_days.day_date = daily_changes.day_date
    window node_so_far as (
        partition by used_days.cluster_id, used_days.node_id
        order by used_days.day_date
        rows between unbounded preceding and current row
    )

),

windows_shown as (

    {{ lemon_windows_shown() | indent(4) }}

)

select
    totals.cluster_id,
    totals.node_id,
    totals.day_date as window_end_date,
    windows_shown.window_days,
    cast(case when windows_shown.shows_exclusions then totals.exclusion_count end as integer) as excl_jobid_count,
    cast(case when windows_shown.shows_codes then totals.code_count end as integer) as xid_cnt,
    cast(case when windows_shown.shows_tickets then totals.ticket_count end as integer) as tickets,
    cast(case when windows_shown.shows_outages then totals.outage_count end as integer) as out_count,
    -- Accounting alone never shows which of several nodes failed.
    cast(
        case
            when
                accounting.has_node_lists
                and (
                    clusters.has_health_checks
                    or clusters.has_kernel_messages
                    or clusters.has_node_events
                    or clusters.has_slurmctld_log
                )
                then totals.multi_node_count
        end as integer
    ) as multi_node_node_fails,
    cast(case when accounting.has_node_lists then totals.single_node_count end as integer) as single_node_node_fails,
    totals.single_node_failure_count / nullif(totals.single_node_attempt_count, 0) as single_node_node_failure_rate,
    cast(case when accounting.has_node_lists then totals.single_node_attempt_count end as integer)
        as single_node_attempt_count,
    case when clusters.has_accounting then totals.used_seconds / 86400 end as in_use_node_days
from totals
inner join clusters on totals.cluster_id = clusters.cluster_id
left join accounting on totals.cluster_id = accounting.cluster_id
inner join windows_shown
    on
        totals.cluster_id = windows_shown.cluster_id
        and totals.day_date = windows_shown.day_date
