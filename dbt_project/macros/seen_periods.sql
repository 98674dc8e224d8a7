{#- CTEs of the study of each cluster, its last 30 days and the 30 days before them, all cut to what was seen.

    `seen_periods` has a row per cluster and period: its ends inside the study, and its days without gaps of accounting
    and blind days. `period_days` has a row per day of a period that accounting shows: `share` is the part of the day's
    exposure that lies in the period, on a `is_blind` day less than half of the nodes in use had a log that was
    understood. Such a day shows no failure of most nodes; where no day has such a log, none is blind. -#}
{% macro seen_periods() -%}
    periods as (
        select
            clusters.cluster_id,
            names.period,
            case names.period
                when 'study' then clusters.study_from_at
                else greatest(
                    clusters.study_from_at,
                    clusters.study_to_at - if(names.period = 'last_30_days', interval 30 day, interval 60 day)
                )
            end as from_at,
            if(
                names.period = '30_days_before',
                greatest(clusters.study_from_at, clusters.study_to_at - interval 30 day),
                clusters.study_to_at
            ) as to_at
        from {{ ref('dim_clusters') }} as clusters
        cross join (values ('study'), ('last_30_days'), ('30_days_before')) as names (period)
    ),

    sight as (
        select
            cluster_id,
            day_date,
            coalesce(sum(in_use_hours) filter (where kinds > 0), 0) >= 0.5 * sum(in_use_hours) as is_seen
        from {{ ref('inp_node_days_seen') }}
        group by cluster_id, day_date
    ),

    blind_days as (
        select
            cluster_id,
            day_date
        from sight
        qualify not is_seen and bool_or(is_seen) over (partition by cluster_id)
    ),

    days_of_periods as (
        select
            *,
            greatest(from_at, cast(day_date as timestamp)) as day_from_at,
            least(to_at, day_date + interval 1 day) as day_to_at
        from (
            select
                *,
                cast(unnest(generate_series(cast(from_at as date), cast(to_at as date), interval 1 day)) as date)
                    as day_date
            from periods
        ) as days
    ),

    gap_seconds as (
        select
            days.cluster_id,
            days.period,
            days.day_date,
            sum(epoch(least(gaps.to_at, days.day_to_at) - greatest(gaps.from_at, days.day_from_at))) as seconds
        from days_of_periods as days
        inner join {{ ref('dim_study_gaps') }} as gaps
            on
                days.cluster_id = gaps.cluster_id
                and days.day_to_at > gaps.from_at
                and days.day_from_at < gaps.to_at
        group by days.cluster_id, days.period, days.day_date
    ),

    seen_seconds as (
        select
            days.*,
            blind_days.day_date is not null as is_blind,
            epoch(days.day_to_at - days.day_from_at) - coalesce(gap_seconds.seconds, 0) as seconds
        from days_of_periods as days
        left join gap_seconds using (cluster_id, period, day_date)
        left join blind_days using (cluster_id, day_date)
    ),

    period_days as (
        select
            cluster_id,
            period,
            from_at,
            to_at,
            day_date,
            is_blind,
            seconds,
            seconds / max(if(period = 'study', seconds, null)) over (partition by cluster_id, day_date) as share
        from seen_seconds
        where seconds > 0
    ),

    seen_periods as (
        select
            periods.cluster_id,
            periods.period,
            any_value(periods.from_at) as from_at,
            any_value(periods.to_at) as to_at,
            if(
                any_value(periods.to_at) is not null,
                coalesce(sum(days.seconds) filter (where not days.is_blind), 0) / 86400,
                null
            ) as seen_days,
            count(*) filter (where days.is_blind) as blind_day_count
        from periods
        left join period_days as days using (cluster_id, period)
        group by periods.cluster_id, periods.period
    )
{%- endmacro %}
