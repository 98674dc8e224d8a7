-- Failures and node-days of the two sides of every comparison: each pair of clusters, and of each cluster the two halves
-- of its study period, and the last 30 days and the 30 days before them, of the population whose rate is quoted. The
-- first side is divided by the second. What is added up is added as decimals: exactly, so that a sum does not depend on
-- the order in which threads deliver it.
with clusters as (
    select
        cluster_id,
        is_simulated,
        study_from_at,
        study_to_at,
        cast(study_from_at as date) as first_date,
        -- a study that ends at midnight does not reach the day that begins then
        cast(study_to_at - interval 1 microsecond as date) as last_date
    from marts.dim_clusters
),

rates as (
    select
        cluster_id,
        population,
        counted_as,
        failure_count,
        failure_variance,
        node_days,
        is_reference
    from estimates.est_failure_rates
    where population in ('all', 'gpus_gt_128') and counted_as in ('attempts', 'incidents')
),

-- the population to quote for two clusters is one that both have
reference_populations as (
    select
        cluster_id,
        bool_or(is_reference and population = 'gpus_gt_128') as is_above_128
    from rates
    group by cluster_id
),

pairs as (
    select
        'clusters' as comparison,
        one.cluster_id,
        other.cluster_id as other_cluster_id,
        cast(null as date) as boundary_date,
        one.population,
        one.counted_as,
        one.counted_as = 'attempts'
        and one.population
        = if(one_reference.is_above_128 and other_reference.is_above_128, 'gpus_gt_128', 'all') as is_reference,
        one.failure_count,
        one.failure_variance,
        one.node_days,
        other.failure_count as other_failure_count,
        other.failure_variance as other_failure_variance,
        other.node_days as other_node_days
    from rates as one
    inner join rates as other
        on
            one.cluster_id < other.cluster_id
            and one.population = other.population
            and one.counted_as = other.counted_as
    inner join reference_populations as one_reference on one.cluster_id = one_reference.cluster_id
    inner join reference_populations as other_reference on other.cluster_id = other_reference.cluster_id
),

exposure_days as (
    select
        cluster_id,
        day_date,
        sum(node_days) as node_days
    from intermediate.exposure_days
    group by cluster_id, day_date
),

-- An incident falls on the day of its first failure. w is the probability that it is real, w m what it is expected to
-- have taken. A failure whose node-days are unknown would raise the rate without its exposure.
incidents as (
    select
        cluster_id,
        coalesce(incident_id, attempt_id) as incident_id,
        cast(min(failed_at) as date) as day_date,
        max(failure_probability) as real_probability,
        cast(sum(cast(failure_probability as decimal(38, 15))) as double) as expected_count
    from intermediate.failed_exposures
    where failure_probability > 0 and node_days is not null
    group by cluster_id, coalesce(incident_id, attempt_id)
),

-- Variance as in est_failure_rates, without that of the parameters of the posterior: they move both sides alike.
incident_days as (
    select
        cluster_id,
        day_date,
        sum(cast(expected_count as decimal(38, 15))) as attempt_count,
        sum(cast(
            expected_count * expected_count / real_probability * (2 - real_probability) as decimal(38, 15)
        )) as attempt_variance,
        sum(cast(real_probability as decimal(38, 15))) as incident_count,
        sum(cast(real_probability * (2 - real_probability) as decimal(38, 15))) as incident_variance
    from incidents
    group by cluster_id, day_date
),

days as (
    select
        cluster_id,
        day_date,
        node_days,
        ways.counted_as,
        if(ways.counted_as = 'attempts', attempt_count, incident_count) as failure_count,
        if(ways.counted_as = 'attempts', attempt_variance, incident_variance) as failure_variance
    from exposure_days
    full outer join incident_days using (cluster_id, day_date)
    cross join (values ('attempts'), ('incidents')) as ways (counted_as)
),

halves as (
    select
        cluster_id,
        cast(first_date + cast((last_date - first_date + 1) // 2 as integer) as date) as boundary_date,
        first_date as from_date
    from clusters
),

periods as (
    select
        'halves' as comparison,
        halves.cluster_id,
        halves.cluster_id as other_cluster_id,
        halves.boundary_date,
        'all' as population,
        ways.counted_as,
        ways.counted_as = 'attempts' as is_reference,
        sum(days.failure_count) filter (where days.day_date >= halves.boundary_date) as failure_count,
        sum(days.failure_variance) filter (where days.day_date >= halves.boundary_date) as failure_variance,
        sum(days.node_days) filter (where days.day_date >= halves.boundary_date) as node_days,
        sum(days.failure_count) filter (where days.day_date < halves.boundary_date) as other_failure_count,
        sum(days.failure_variance) filter (where days.day_date < halves.boundary_date) as other_failure_variance,
        sum(days.node_days) filter (where days.day_date < halves.boundary_date) as other_node_days
    from halves
    cross join (values ('attempts'), ('incidents')) as ways (counted_as)
    left join days
        on
            halves.cluster_id = days.cluster_id
            and ways.counted_as = days.counted_as
            and halves.from_date <= days.day_date
    group by all
),

-- The two months: 30 days each, of which the later ends with the study period.
windows as (
    select
        clusters.cluster_id,
        rates.population,
        clusters.study_from_at,
        clusters.study_to_at as to_at,
        clusters.study_to_at - interval 30 day as boundary_at,
        clusters.study_to_at - interval 60 day as from_at
    from clusters
    inner join estimates.est_failure_rates as rates using (cluster_id)
    where rates.is_reference
),

-- A day on which less than half of the nodes in use had a log that was understood shows no failure of most of them: it
-- is left out, unless no day has such a log.
sight as (
    select
        cluster_id,
        day_date,
        coalesce(sum(in_use_hours) filter (where kinds > 0), 0) >= 0.5 * sum(in_use_hours) as is_seen
    from intermediate.node_day_sight
    group by cluster_id, day_date
),

blind_days as (
    select
        cluster_id,
        day_date
    from sight
    qualify not is_seen and bool_or(is_seen) over (partition by cluster_id)
),

window_days as (
    select
        days.cluster_id,
        days.day_date,
        days.node_days,
        windows.* exclude (cluster_id, population)
    from (
        select
            cluster_id,
            gpu_size_bin,
            is_whole_node,
            day_date,
            node_days,
            false as is_of_nodes
        from intermediate.exposure_days
        union all
        select
            cluster_id,
            null as gpu_size_bin,
            null as is_whole_node,
            day_date,
            cast(study_hours as decimal(38, 9)) / 24 as node_days,
            true as is_of_nodes
        from marts.fct_node_days
    ) as days
    inner join windows
        on
            days.cluster_id = windows.cluster_id
            and case windows.population
                when 'gpus_gt_128' then days.gpu_size_bin > 128 when 'whole_nodes' then days.is_whole_node
                when 'nodes' then days.is_of_nodes else not days.is_of_nodes
            end
    anti join blind_days on days.cluster_id = blind_days.cluster_id and days.day_date = blind_days.day_date
),

-- A day counts as far as it lies in the window, of the hours that it has within the study period.
window_shares as (
    select
        cluster_id,
        node_days,
        epoch(least(day_date + interval 1 day, to_at) - greatest(cast(day_date as timestamp), study_from_at))
            as day_seconds,
        epoch(least(day_date + interval 1 day, to_at)
            - greatest(cast(day_date as timestamp), boundary_at, study_from_at)) as later_seconds,
        epoch(least(day_date + interval 1 day, boundary_at)
            - greatest(cast(day_date as timestamp), from_at, study_from_at)) as earlier_seconds
    from window_days
),

window_node_days as (
    select
        cluster_id,
        sum(cast(node_days * greatest(later_seconds, 0) / day_seconds as decimal(38, 12))) as later_node_days,
        sum(cast(node_days * greatest(earlier_seconds, 0) / day_seconds as decimal(38, 12))) as earlier_node_days
    from window_shares
    where day_seconds > 0
    group by cluster_id
),

window_incidents as (
    select
        failures.cluster_id,
        coalesce(failures.incident_id, failures.attempt_id) as incident_id,
        min(failures.failed_at) as failed_at,
        max(failures.failure_probability) as expected_count,
        max(failures.failure_probability) * (2 - max(failures.failure_probability)) as variance
    from intermediate.failed_exposures as failures
    inner join windows
        on
            failures.cluster_id = windows.cluster_id
            and case windows.population
                when 'gpus_gt_128' then failures.gpu_size_bin > 128 when 'whole_nodes' then failures.is_whole_node
                else windows.population = 'all'
            end
    where failures.failure_probability > 0 and failures.node_days is not null
    group by failures.cluster_id, coalesce(failures.incident_id, failures.attempt_id)
    union all
    select
        nodes.cluster_id,
        nodes.incident_id,
        nodes.failed_at,
        nodes.expected_count,
        nodes.expected_count * nodes.expected_count / nodes.incident_probability * (2 - nodes.incident_probability)
            as variance
    from intermediate.node_incidents as nodes
    inner join windows on nodes.cluster_id = windows.cluster_id and windows.population = 'nodes'
    where nodes.has_nodes
),

-- What failed at midnight ran on the day before.
window_counts as (
    select
        incidents.cluster_id,
        sum(cast(incidents.expected_count as decimal(38, 15))) filter (where incidents.failed_at > windows.boundary_at)
            as later_count,
        sum(cast(incidents.variance as decimal(38, 15))) filter (where incidents.failed_at > windows.boundary_at)
            as later_variance,
        sum(cast(incidents.expected_count as decimal(38, 15))) filter (where incidents.failed_at <= windows.boundary_at)
            as earlier_count,
        sum(cast(incidents.variance as decimal(38, 15))) filter (where incidents.failed_at <= windows.boundary_at)
            as earlier_variance
    from window_incidents as incidents
    inner join windows
        on
            incidents.cluster_id = windows.cluster_id
            and incidents.failed_at > windows.from_at
            and incidents.failed_at <= windows.to_at
    anti join blind_days
        on
            incidents.cluster_id = blind_days.cluster_id
            and cast(incidents.failed_at - interval 1 microsecond as date) = blind_days.day_date
    group by incidents.cluster_id
),

left_out as (
    select
        windows.cluster_id,
        count(*) as day_count
    from windows
    inner join blind_days
        on
            windows.cluster_id = blind_days.cluster_id
            and blind_days.day_date < windows.to_at
            and blind_days.day_date + interval 1 day > windows.from_at
    group by windows.cluster_id
),

months as (
    select
        'months' as comparison,
        windows.cluster_id,
        windows.cluster_id as other_cluster_id,
        cast(windows.boundary_at as date) as boundary_date,
        windows.population,
        'incidents' as counted_as,
        true as is_reference,
        counts.later_count as failure_count,
        counts.later_variance as failure_variance,
        window_node_days.later_node_days as node_days,
        counts.earlier_count as other_failure_count,
        counts.earlier_variance as other_failure_variance,
        window_node_days.earlier_node_days as other_node_days
    from windows
    left join window_counts as counts using (cluster_id)
    left join window_node_days using (cluster_id)
),

compared as (
    select * from pairs
    union all
    select * replace (
        cast(coalesce(failure_count, 0) as double) as failure_count,
        cast(coalesce(failure_variance, 0) as double) as failure_variance,
        cast(coalesce(node_days, 0) as double) as node_days,
        cast(coalesce(other_failure_count, 0) as double) as other_failure_count,
        cast(coalesce(other_failure_variance, 0) as double) as other_failure_variance,
        cast(coalesce(other_node_days, 0) as double) as other_node_days
    )
    from (
        select * from periods
        union all
        select * from months
    ) as of_periods
)

select
    compared.*,
    one_seen.has_enough_data and other_seen.has_enough_data as has_enough_data,
    one.is_simulated,
    other.is_simulated as other_is_simulated,
    nullif(concat_ws(
        '; ',
        if(one.is_simulated != other.is_simulated, 'a simulated cluster against a real one', null),
        case
            when compared.failure_count is null or compared.other_failure_count is null
                then 'unknown for one of them, see est_failure_rates'
            when compared.node_days = 0 or compared.other_node_days = 0 then 'no node-days on one side'
            when compared.failure_count + compared.other_failure_count = 0 then 'no failure on either side'
            when compared.other_failure_count = 0 then 'no failure on the second side: the ratio has a lower limit only'
        end,
        if(
            compared.comparison = 'months' and left_out.day_count > 0,
            format('days left out, most nodes had no log that was understood: {}', left_out.day_count),
            null
        )
    ), '') as note
from compared
inner join clusters as one on compared.cluster_id = one.cluster_id
inner join clusters as other on compared.other_cluster_id = other.cluster_id
inner join intermediate.enough_data as one_seen on compared.cluster_id = one_seen.cluster_id
inner join intermediate.enough_data as other_seen on compared.other_cluster_id = other_seen.cluster_id
left join left_out on compared.cluster_id = left_out.cluster_id
order by
    compared.comparison, compared.cluster_id, compared.other_cluster_id, compared.boundary_date, compared.population,
    compared.counted_as
