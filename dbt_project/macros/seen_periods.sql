{#- CTEs of each cluster's study period, its last 30 days and the 30 days before them, all cut to observed time.
`seen_periods` has a row per cluster and period: its ends inside the study period, and its days without gaps of
accounting and blind days. `period_days` has a row per day of a period in accounting: `share` is the part of the day's
exposure inside the period. On an `is_blind` day, fewer than half of the nodes in use had an understood log, so failures
of most nodes are not visible. If no day has such a log, none is blind. -#}
{% macro seen_periods() -%}
    periods as (
        select
            clusters.cluster_id,
            names.period,
            greatest(clusters.study_from_at, clusters.study_to_at - to_days(names.from_days)) as from_at,
            greatest(clusters.study_from_at, clusters.study_to_at - to_days(names.to_days)) as to_at
        from {{ ref('dim_clusters') }} as clusters
        cross join (values ('study', null, 0), ('last_30_days', 30, 0), ('30_days_before', 60, 30))
            as names (period, from_days, to_days)
    ),

    blind_days as (
        select
            cluster_id,
            day_date,
            coalesce(sum(in_use_hours) filter (where kinds > 0), 0) < 0.5 * sum(in_use_hours) as is_blind
        from {{ ref('inp_node_days_seen') }}
        group by cluster_id, day_date
        qualify is_blind and not bool_and(is_blind) over (partition by cluster_id)
    ),

    days_of_periods as (
        select
            periods.*,
            cast(days.day_at as date) as day_date,
            greatest(periods.from_at, days.day_at) as day_from_at,
            least(periods.to_at, days.day_at + interval 1 day) as day_to_at
        from periods
        cross join unnest(generate_series(date_trunc('day', periods.from_at), periods.to_at, interval 1 day))
            as days (day_at)
    ),

    seen_seconds as (
        select
            days.*,
            epoch(days.day_to_at - days.day_from_at) - coalesce((
                select sum(epoch(least(gaps.to_at, days.day_to_at) - greatest(gaps.from_at, days.day_from_at)))
                from {{ ref('dim_study_gaps') }} as gaps
                where
                    days.cluster_id = gaps.cluster_id
                    and days.day_to_at > gaps.from_at
                    and days.day_from_at < gaps.to_at
            ), 0) as seconds
        from days_of_periods as days
    ),

    period_days as (
        select
            days.*,
            blind_days.day_date is not null as is_blind,
            seconds / max(if(period = 'study', seconds, null)) over (partition by cluster_id, day_date) as share
        from seen_seconds as days
        left join blind_days using (cluster_id, day_date)
        where seconds > 0
    ),

    seen_periods as (
        select
            periods.*,
            -- NULL: no study period
            if(
                any_value(periods.to_at) is not null,
                coalesce(sum(days.seconds) filter (where not days.is_blind), 0) / 86400,
                null
            ) as seen_days,
            count(*) filter (where days.is_blind) as blind_day_count
        from periods
        left join period_days as days using (cluster_id, period)
        group by all
    )
{%- endmacro %}
