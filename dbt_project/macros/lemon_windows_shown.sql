{#-
    CTE of the signals that the logs of a window can show: a row per cluster and last day of a window. Needs the model's
    CTEs `clusters`, `settings`, `node_days`, `days_covered`, `accounting` and `inputs`.
-#}
{% macro lemon_windows_shown() -%}
    with

    -- A check that reads the kernel log shows the codes, too, if it ever showed one.
    code_clusters as (

        select distinct cluster_id
        from inputs
        where signal = 'code'

    ),

    -- What each day's logs could show of a signal.
    signs_shown as (

        select
            days_covered.cluster_id,
            days_covered.day_date,
            bool_or(
                days_covered.kind = 'squeue'
                or (days_covered.kind = 'sacct' and coalesce(accounting.has_submit_lines, false))
            ) as shows_exclusions,
            bool_or(
                days_covered.kind = 'kernel'
                or (days_covered.kind = 'health' and code_clusters.cluster_id is not null)
            ) as shows_codes,
            bool_or(days_covered.kind = 'tickets') as shows_tickets,
            bool_or(days_covered.kind in ('events', 'slurmctld')) as shows_outages
        from days_covered
        left join accounting on days_covered.cluster_id = accounting.cluster_id
        left join code_clusters on days_covered.cluster_id = code_clusters.cluster_id
        group by days_covered.cluster_id, days_covered.day_date

    ),

    window_ends as (

        select distinct
            cluster_id,
            day_date
        from node_days

    ),

    windows as (

        select
            ends.cluster_id,
            ends.day_date,
            cast(least(
                settings.lemon_window_days,
                {{ days_between('cast(clusters.first_at as date)', 'ends.day_date') }} + 1
            ) as integer) as window_days
        from window_ends as ends
        inner join clusters on ends.cluster_id = clusters.cluster_id
        inner join settings on ends.cluster_id = settings.cluster_id

    )

    -- A count is shown if at least half of the window's days are covered, for all nodes alike.
    select
        windows.cluster_id,
        windows.day_date,
        windows.window_days,
        2 * count(case when signs_shown.shows_exclusions then 1 end) >= windows.window_days as shows_exclusions,
        2 * count(case when signs_shown.shows_codes then 1 end) >= windows.window_days as shows_codes,
        2 * count(case when signs_shown.shows_tickets then 1 end) >= windows.window_days as shows_tickets,
        2 * count(case when signs_shown.shows_outages then 1 end) >= windows.window_days as shows_outages
    from windows
    left join signs_shown
        on
            windows.cluster_id = signs_shown.cluster_id
            and windows.day_date >= signs_shown.day_date
            and windows.day_date - windows.window_days < signs_shown.day_date
    group by windows.cluster_id, windows.day_date, windows.window_days
{%- endmacro %}
