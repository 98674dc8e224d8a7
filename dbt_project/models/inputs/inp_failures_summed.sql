with periods as (
    select * from {{ ref('inp_study_months_listed') }}
),

populations as (
    select
        population,
        -- Failures of the population `nodes` are those of all attempts.
        if(population = 'nodes', 'all', population) as attempts_of
    from (select unnest(['gpus_gt_128', 'whole_nodes', 'all', 'nodes']) as population) as named
),

days as (
    select
        periods.period,
        days.*
    from {{ ref('inp_exposure_days_summed') }} as days
    inner join periods
        on
            days.cluster_id = periods.cluster_id
            and days.day_date >= periods.first_date
            and days.day_date < periods.next_date
),

exposures as (
    select
        days.cluster_id,
        days.period,
        populations.population,
        sum(days.attempt_count) as attempt_count,
        sum(days.unexplained_count) as unexplained_count,
        sum(days.node_days) as node_days,
        sum(days.node_days) filter (where not days.is_whole_node) as shared_node_days
    from days
    inner join populations on {{ is_in_population('populations.attempts_of', 'days') }}
    group by days.cluster_id, days.period, populations.population
),

-- An attempt of unknown size has an unknown population.
unknown as (
    select
        cluster_id,
        period,
        sum(attempt_count) filter (where gpu_size_bin is null) as size_count,
        sum(attempt_count) filter (where is_whole_node is null) as share_count,
        sum(unmeasured_running_count) as running_count,
        bool_and(gpu_size_bin is null) as has_no_size,
        bool_and(is_whole_node is null) as has_no_share
    from days
    group by cluster_id, period
),

-- Ends that no log could have shown to be infrastructure failures.
unseen as (
    select
        periods.cluster_id,
        periods.period,
        populations.population,
        sum(ends.attempt_count) as attempt_count
    from {{ ref('inp_unseen_ends_counted') }} as ends
    inner join periods
        on
            ends.cluster_id = periods.cluster_id
            and ends.day_date >= periods.first_date
            and ends.day_date < periods.next_date
    inner join populations on {{ is_in_population('populations.attempts_of', 'ends') }}
    group by periods.cluster_id, periods.period, populations.population
),

-- Use of a shared node counts once.
physical_days as (
    select
        cluster_id,
        day_date,
        sum(cast(study_hours as decimal(38, 9))) as node_hours
    from {{ ref('fct_node_days') }}
    group by cluster_id, day_date
),

physical as (
    select
        periods.cluster_id,
        periods.period,
        sum(days.node_hours) / 24 as node_days
    from physical_days as days
    inner join periods
        on
            days.cluster_id = periods.cluster_id
            and days.day_date >= periods.first_date
            and days.day_date < periods.next_date
    group by periods.cluster_id, periods.period
),

-- An incident belongs to the day of its first failure. An attempt that failed at midnight ran on the day before.
failure_days as (
    select
        * replace (coalesce(incident_id, attempt_id) as incident_id),
        coalesce(
            cast(min(coalesce(failed_at, seen_to_at)) over (
                partition by cluster_id, coalesce(incident_id, attempt_id)
            ) - interval 1 microsecond as date),
            date '-infinity'
        ) as day_date
    from {{ ref('inp_exposures_failed') }}
),

failures as (
    select
        periods.period,
        populations.population,
        days.*
    from failure_days as days
    inner join periods
        on
            days.cluster_id = periods.cluster_id
            and days.day_date >= periods.first_date
            and days.day_date < periods.next_date
    inner join populations on {{ is_in_population('populations.attempts_of', 'days') }}
),

-- A failure with unknown node-days would raise the rate without its exposure.
measured_failures as (
    select * from failures
    where node_days is not null
),

counts as (
    {{ incident_counts('measured_failures', ['cluster_id', 'period', 'population']) }}
),

variances as (
    {{ parameter_variances('measured_failures', ['cluster_id', 'period', 'population']) }}
),

paper_counts as (
    select
        cluster_id,
        period,
        population,
        count(*) as failure_count,
        count(distinct incident_id) as incident_count
    from measured_failures
    where is_paper_failure
    group by cluster_id, period, population
),

struck_nodes as (
    select
        struck.*,
        periods.period
    from {{ ref('inp_node_incidents_counted') }} as struck
    inner join periods
        on
            struck.cluster_id = periods.cluster_id
            and cast(struck.failed_at - interval 1 microsecond as date) >= periods.first_date
            and cast(struck.failed_at - interval 1 microsecond as date) < periods.next_date
),

node_counts as (
    select
        cluster_id,
        period,
        {{ exact_sum('expected_count', 15) }} as failure_count,
        {{ exact_sum(incident_variance('expected_count', 'incident_probability'), 15) }} as failure_variance
    from struck_nodes
    where has_nodes
    group by cluster_id, period
),

unmeasured as (
    select
        cluster_id,
        period,
        population,
        count(*) as failure_count
    from failures
    where node_days is null and population != 'nodes'
    group by cluster_id, period, population
    union all
    select
        cluster_id,
        period,
        'nodes' as population,
        cast(sum(failure_count) as bigint) as failure_count
    from struck_nodes
    where not has_nodes
    group by cluster_id, period
),

cells as (
    select
        periods.cluster_id,
        periods.period,
        populations.population,
        ways.counted_as
    from periods
    cross join populations
    cross join (values ('attempts'), ('incidents'), ('attempts_paper'), ('incidents_paper')) as ways (counted_as)
    where populations.population != 'nodes' or ways.counted_as = 'incidents'
)

select
    cells.cluster_id,
    cells.period,
    cells.population,
    cells.counted_as,
    coalesce(case cells.population
        when 'gpus_gt_128' then unknown.has_no_size
        when 'whole_nodes' then unknown.has_no_share
        when 'nodes' then exposures.node_days > 0 and coalesce(physical.node_days, 0) = 0
    end, false) as is_unknowable,
    case cells.population
        when 'gpus_gt_128' then unknown.size_count when 'whole_nodes' then unknown.share_count
    end as unknown_count,
    coalesce(exposures.attempt_count, 0) as attempt_count,
    coalesce(exposures.unexplained_count, 0) as unexplained_count,
    coalesce(unseen.attempt_count, 0) as unseen_count,
    coalesce(unknown.running_count, 0) as unmeasured_running_count,
    coalesce(unmeasured.failure_count, 0) as unmeasured_failure_count,
    coalesce(case
        when cells.population = 'nodes' then node_counts.failure_count
        when cells.counted_as = 'attempts' then counts.failure_count
        when cells.counted_as = 'incidents' then counts.incident_count
        when cells.counted_as = 'attempts_paper' then paper_counts.failure_count
        when cells.counted_as = 'incidents_paper' then paper_counts.incident_count
    end, 0) as failure_count,
    -- Poisson counts of certain, independent failures, as in the paper.
    coalesce(case
        when cells.population = 'nodes' then node_counts.failure_variance
        when cells.counted_as = 'attempts' then counts.failure_variance
        when cells.counted_as = 'incidents' then counts.incident_variance
        when cells.counted_as = 'attempts_paper' then paper_counts.failure_count
        when cells.counted_as = 'incidents_paper' then paper_counts.incident_count
    end, 0) as count_variance,
    if(cells.counted_as in ('attempts', 'incidents'), coalesce(variances.variance, 0), 0) as parameter_variance,
    cast(coalesce(if(cells.population = 'nodes', physical.node_days, exposures.node_days), 0) as double) as node_days,
    cast(coalesce(exposures.shared_node_days, 0) as double) as shared_node_days
from cells
left join unknown using (cluster_id, period)
left join physical using (cluster_id, period)
left join node_counts using (cluster_id, period)
left join exposures using (cluster_id, period, population)
left join unseen using (cluster_id, period, population)
left join variances using (cluster_id, period, population)
left join counts using (cluster_id, period, population)
left join paper_counts using (cluster_id, period, population)
left join unmeasured using (cluster_id, period, population)
