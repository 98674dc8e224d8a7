-- Failures and node-days of each calendar month of the reference population, as far as the study period shows it, with
-- the month that is not over. What is added up is added as decimals, so that a sum does not depend on the order in
-- which threads deliver it.
with clusters as (
    select
        cluster_id,
        study_from_at,
        study_to_at
    from marts.dim_clusters
    where study_from_at < study_to_at
),

reference as (
    select
        cluster_id,
        population,
        counted_as
    from estimates.est_failure_rates
    -- Where failures could not be seen, none is foretold.
    where is_reference and failure_count is not null
),

months as (
    select
        cluster_id,
        study_from_at,
        study_to_at,
        cast(unnest(generate_series(date_trunc('month', study_from_at), study_to_at, interval 1 month)) as date)
            as month_date
    from clusters
),

missing as (
    select
        months.cluster_id,
        months.month_date,
        sum(epoch(
            least(gaps.to_at, cast(months.month_date as timestamp) + interval 1 month)
            - greatest(gaps.from_at, cast(months.month_date as timestamp))
        )) / 86400 as days
    from months
    inner join marts.dim_study_gaps as gaps
        on
            months.cluster_id = gaps.cluster_id
            and gaps.from_at < cast(months.month_date as timestamp) + interval 1 month
            and gaps.to_at > cast(months.month_date as timestamp)
    group by months.cluster_id, months.month_date
),

exposures as (
    select
        days.cluster_id,
        cast(date_trunc('month', days.day_date) as date) as month_date,
        cast(sum(days.node_days) as double) as node_days
    from intermediate.exposure_days as days
    inner join reference using (cluster_id)
    where case reference.population
        when 'gpus_gt_128' then days.gpu_size_bin > 128
        when 'whole_nodes' then days.is_whole_node
        when 'all' then true
    end
    group by days.cluster_id, date_trunc('month', days.day_date)
    union all
    -- Jobs that share a node use it once.
    select
        nodes.cluster_id,
        cast(date_trunc('month', nodes.day_date) as date) as month_date,
        cast(sum(cast(nodes.study_hours as decimal(38, 9))) as double) / 24 as node_days
    from marts.fct_node_days as nodes
    inner join reference using (cluster_id)
    where reference.population = 'nodes'
    group by nodes.cluster_id, date_trunc('month', nodes.day_date)
),

-- What failed at midnight ran on the day before.
failures as (
    select
        exposures.cluster_id,
        exposures.attempt_id,
        coalesce(exposures.incident_id, exposures.attempt_id) as incident_id,
        cast(date_trunc('month', min(exposures.failed_at) over (
            partition by exposures.cluster_id, coalesce(exposures.incident_id, exposures.attempt_id)
        ) - interval 1 microsecond) as date) as month_date,
        exposures.failure_probability
    from intermediate.failed_exposures as exposures
    inner join reference using (cluster_id)
    where
        exposures.failure_probability > 0
        and exposures.node_days is not null
        and case reference.population
            when 'gpus_gt_128' then exposures.gpu_size_bin > 128
            when 'whole_nodes' then exposures.is_whole_node
            when 'all' then true
        end
),

-- w is the probability that an incident is real, and w m what it is expected to have taken, attempts or nodes.
incidents as (
    select
        cluster_id,
        month_date,
        incident_id,
        max(failure_probability) as real_probability,
        sum(failure_probability order by attempt_id) as expected_count
    from failures
    group by cluster_id, month_date, incident_id
    union all
    select
        struck.cluster_id,
        cast(date_trunc('month', struck.failed_at - interval 1 microsecond) as date) as month_date,
        struck.incident_id,
        struck.incident_probability as real_probability,
        struck.expected_count
    from intermediate.node_incidents as struck
    inner join reference using (cluster_id)
    where reference.population = 'nodes' and struck.has_nodes
),

counts as (
    select
        cluster_id,
        month_date,
        cast(sum(cast(expected_count as decimal(38, 15))) as double) as failure_count,
        cast(sum(cast(
            expected_count * expected_count / real_probability * (2 - real_probability) as decimal(38, 15)
        )) as double) as failure_variance
    from incidents
    group by cluster_id, month_date
)

select
    months.cluster_id,
    months.month_date,
    reference.population,
    reference.counted_as,
    epoch(
        least(months.study_to_at, cast(months.month_date as timestamp) + interval 1 month)
        - greatest(months.study_from_at, cast(months.month_date as timestamp))
    ) / 86400 - coalesce(missing.days, 0) as seen_days,
    date_diff('day', months.month_date, cast(months.month_date + interval 1 month as date)) as month_days,
    months.study_to_at >= cast(months.month_date as timestamp) + interval 1 month as is_over,
    coalesce(exposures.node_days, 0) as node_days,
    coalesce(counts.failure_count, 0) as failure_count,
    coalesce(counts.failure_variance, 0) as failure_variance
from months
inner join reference using (cluster_id)
left join missing using (cluster_id, month_date)
left join exposures using (cluster_id, month_date)
left join counts using (cluster_id, month_date)
order by months.cluster_id, months.month_date
