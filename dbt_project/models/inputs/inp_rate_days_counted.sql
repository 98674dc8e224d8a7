with clusters as (
    select
        cluster_id,
        study_from_at,
        study_to_at
    from {{ ref('dim_clusters') }}
),

days as (
    select
        covered.cluster_id,
        covered.day_date,
        covered.node_days
    from {{ ref('int_covered_node_days') }} as covered
    inner join clusters using (cluster_id)
    anti join {{ ref('dim_study_gaps') }} as gaps
        on
            covered.cluster_id = gaps.cluster_id
            and covered.day_date < gaps.to_at
            and covered.day_date + interval 1 day > gaps.from_at
    where covered.day_date >= clusters.study_from_at and covered.day_date + interval 1 day <= clusters.study_to_at
),

probabilities as (
    select
        cluster_id,
        incident_id,
        max(posterior_probability) as incident_probability
    from {{ ref('fct_failures') }}
    group by cluster_id, incident_id
),

-- An attempt that failed at midnight ran on the day before.
dated_incidents as (
    select
        *,
        cast(started_at - interval 1 microsecond as date) as day_date
    from {{ ref('fct_incidents') }}
),

incidents as (
    select
        dated_incidents.cluster_id,
        dated_incidents.day_date,
        dated_incidents.failure_category,
        probabilities.incident_probability
    from dated_incidents
    inner join probabilities using (cluster_id, incident_id)
    inner join days using (cluster_id, day_date)
    where probabilities.incident_probability > 0
),

daily_incidents as (
    select
        cluster_id,
        day_date,
        failure_category,
        list(incident_probability order by incident_probability) as incident_probabilities
    from incidents
    group by cluster_id, day_date, failure_category
),

causes as (
    select distinct
        cluster_id,
        failure_category
    from incidents
),

counts as (
    select * from daily_incidents
    union all
    select
        cluster_id,
        day_date,
        'all' as failure_category,
        list(incident_probability order by incident_probability) as incident_probabilities
    from incidents
    group by cluster_id, day_date
),

cells as (
    select
        series.cluster_id,
        series.failure_category,
        days.day_date,
        coalesce(counts.incident_probabilities, []) as incident_probabilities,
        days.node_days
    from (
        select * from causes
        union all
        select
            cluster_id,
            'all' as failure_category
        from clusters
    ) as series
    inner join days using (cluster_id)
    left join counts using (cluster_id, failure_category, day_date)
    where days.node_days is not null
),

series as (
    select
        cluster_id,
        failure_category,
        list(day_date order by day_date) as days,
        list(incident_probabilities order by day_date) as incident_probabilities,
        list(node_days order by day_date) as node_days
    from cells
    group by cluster_id, failure_category
),

-- a site's notes, and added checks: only for the check's cause, unless the cause is unknown
notes as (
    select
        cluster_id,
        cast(null as varchar) as failure_category,
        annotated_date as day_date,
        annotation as text
    from {{ ref('dim_annotations') }}
    union all
    select
        cluster_id,
        nullif(failure_category, 'unmapped') as failure_category,
        cast(first_reported_at as date) as day_date,
        format('check {} first reported', check_name) as text
    from {{ ref('agg_check_introductions') }}
    where is_introduction
),

notes_of_series as (
    select
        series.cluster_id,
        series.failure_category,
        list({ 'day': notes.day_date, 'text': notes.text } order by notes.day_date, notes.text) as notes
    from series
    inner join notes
        on
            series.cluster_id = notes.cluster_id
            and (
                series.failure_category = 'all'
                or coalesce(notes.failure_category, series.failure_category) = series.failure_category
            )
    group by series.cluster_id, series.failure_category
),

-- continuous logs with evidence of faults
logs as (
    select
        cluster_id,
        list({ 'kind': kind, 'to_at': to_at, 'silent_days': silent_days } order by kind) as logs
    from (
        select
            spans.cluster_id,
            spans.kind,
            max(spans.to_at) as to_at,
            epoch(any_value(clusters.study_to_at) - max(spans.to_at)) / 86400 as silent_days
        from {{ source('ops', 'spans') }} as spans
        inner join clusters using (cluster_id)
        where spans.kind in ('kernel', 'health') and clusters.study_to_at is not null
        group by spans.cluster_id, spans.kind
    ) as ends
    group by cluster_id
)

select
    clusters.cluster_id,
    coalesce(series.failure_category, 'all') as failure_category,
    series.days,
    series.incident_probabilities,
    series.node_days,
    notes_of_series.notes,
    logs.logs,
    coalesce(unseen.attempt_count, 0) as unseen_count
from clusters
left join series on clusters.cluster_id = series.cluster_id
left join notes_of_series
    on
        series.cluster_id = notes_of_series.cluster_id
        and series.failure_category = notes_of_series.failure_category
left join logs on clusters.cluster_id = logs.cluster_id
left join (
    select
        cluster_id,
        sum(attempt_count) as attempt_count
    from {{ ref('inp_unseen_ends_counted') }}
    group by cluster_id
) as unseen on clusters.cluster_id = unseen.cluster_id
