with clusters as (
    select
        cluster_id,
        study_from_at,
        study_to_at
    from {{ ref('dim_clusters') }}
),

months as (
    select
        cluster_id,
        study_from_at,
        study_to_at,
        unnest(generate_series(date_trunc('month', study_from_at), study_to_at, interval 1 month)) as month_at
    from clusters
    where study_from_at < study_to_at
),

-- Values on an edge of the study period belong to its first or last month, so that months add up to the whole.
periods as (
    select
        cluster_id,
        0 as period,
        cast(null as date) as month_date,
        date '-infinity' as first_date,
        date 'infinity' as next_date,
        study_from_at as from_at,
        study_to_at as to_at,
        true as begins_in_study,
        true as is_over
    from clusters
    union all
    select
        cluster_id,
        row_number() over (partition by cluster_id order by month_at) as period,
        cast(month_at as date) as month_date,
        if(month_at <= study_from_at, date '-infinity', cast(month_at as date)) as first_date,
        if(month_at + interval 1 month > study_to_at, date 'infinity', cast(month_at + interval 1 month as date))
            as next_date,
        greatest(month_at, study_from_at) as from_at,
        least(month_at + interval 1 month, study_to_at) as to_at,
        month_at < study_to_at as begins_in_study,
        month_at + interval 1 month <= study_to_at as is_over
    from months
),

gaps as (
    select
        periods.cluster_id,
        periods.period,
        sum(epoch(least(gaps.to_at, periods.to_at) - greatest(gaps.from_at, periods.from_at))) / 86400 as days
    from periods
    inner join {{ ref('dim_study_gaps') }} as gaps
        on
            periods.cluster_id = gaps.cluster_id
            and periods.to_at > gaps.from_at
            and periods.from_at < gaps.to_at
    group by periods.cluster_id, periods.period
)

select
    periods.* exclude (from_at, to_at),
    epoch(periods.to_at - periods.from_at) / 86400 - coalesce(gaps.days, 0) as seen_days,
    date_diff('day', periods.month_date, cast(periods.month_date + interval 1 month as date)) as month_days,
    coalesce(gaps.days, 0) as gap_days
from periods
left join gaps using (cluster_id, period)
