-- Failures and node-days of each cluster, population and way of counting, inside its study period and in each calendar
-- month of it, with the one that begins as it ends (month_date is NULL for the whole period). What is added up is added as decimals: exactly, so that a sum
-- does not depend on the order in which threads deliver it.
with clusters as (
    select
        cluster_id,
        coalesce(gpus_per_node, 0) > 0 as has_gpus_per_node,
        has_accounting,
        has_health_checks or has_kernel_messages or has_node_events or has_slurmctld_log as has_evidence,
        coalesce(study_from_at >= study_to_at, false) as is_without_time,
        study_from_at,
        study_to_at
    from marts.dim_clusters
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

-- What lies on an edge of the study period belongs to its first or last month: the months make up the whole.
periods as (
    select
        cluster_id,
        0 as period,
        cast(null as date) as month_date,
        date '-infinity' as first_date,
        date 'infinity' as next_date,
        study_from_at as from_at,
        study_to_at as to_at
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
        least(month_at + interval 1 month, study_to_at) as to_at
    from months
),

gaps as (
    select
        periods.cluster_id,
        periods.period,
        sum(epoch(least(gaps.to_at, periods.to_at) - greatest(gaps.from_at, periods.from_at))) / 86400 as days
    from periods
    inner join marts.dim_study_gaps as gaps
        on
            periods.cluster_id = gaps.cluster_id
            and gaps.from_at < periods.to_at
            and gaps.to_at > periods.from_at
    group by periods.cluster_id, periods.period
),

-- Sizes are powers of two: those above 128 are the jobs of more than 128 GPUs.
exposures as (
    select
        periods.cluster_id,
        periods.period,
        sum(attempt_count) as attempt_count,
        sum(attempt_count) filter (where gpu_size_bin > 128) as large_attempt_count,
        sum(attempt_count) filter (where is_whole_node) as whole_node_attempt_count,
        sum(attempt_count) filter (where gpu_size_bin is null) as unknown_size_count,
        sum(attempt_count) filter (where is_whole_node is null) as unknown_share_count,
        sum(unmeasured_running_count) as unmeasured_running_count,
        sum(unexplained_count) as unexplained_count,
        sum(unexplained_count) filter (where gpu_size_bin > 128) as large_unexplained_count,
        sum(unexplained_count) filter (where is_whole_node) as whole_node_unexplained_count,
        bool_and(gpu_size_bin is null) as has_no_size,
        bool_and(is_whole_node is null) as has_no_share,
        sum(node_days) as node_days,
        sum(node_days) filter (where gpu_size_bin > 128) as large_node_days,
        sum(node_days) filter (where gpu_size_bin > 128 and not is_whole_node) as large_shared_node_days,
        sum(node_days) filter (where is_whole_node) as whole_node_days
    from intermediate.exposure_days as days
    inner join periods
        on
            days.cluster_id = periods.cluster_id
            and days.day_date >= periods.first_date
            and days.day_date < periods.next_date
    group by periods.cluster_id, periods.period
),

-- Ends of which nobody could see whether infrastructure failed them.
unseen as (
    select
        periods.cluster_id,
        periods.period,
        sum(attempt_count) as attempt_count,
        sum(attempt_count) filter (where gpu_size_bin > 128) as large_attempt_count,
        sum(attempt_count) filter (where is_whole_node) as whole_node_attempt_count
    from intermediate.unseen_ends as ends
    inner join periods
        on
            ends.cluster_id = periods.cluster_id
            and ends.day_date >= periods.first_date
            and ends.day_date < periods.next_date
    group by periods.cluster_id, periods.period
),

-- Jobs that share a node use it once.
physical_days as (
    select
        cluster_id,
        day_date,
        sum(cast(study_hours as decimal(38, 9))) as node_hours
    from marts.fct_node_days
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

-- An incident belongs to the day of its first failure. What failed at midnight ran on the day before.
failure_days as (
    select
        *,
        coalesce(incident_id, attempt_id) as failed_together_id,
        coalesce(
            cast(min(coalesce(failed_at, seen_to_at)) over (
                partition by cluster_id, coalesce(incident_id, attempt_id)
            ) - interval 1 microsecond as date),
            date '-infinity'
        ) as day_date
    from intermediate.failed_exposures
),

failures as (
    select
        periods.cluster_id,
        periods.period,
        days.attempt_id,
        days.failed_together_id as incident_id,
        days.gpu_size_bin,
        days.is_whole_node,
        days.node_days,
        days.failure_probability,
        days.is_paper_failure
    from failure_days as days
    inner join periods
        on
            days.cluster_id = periods.cluster_id
            and days.day_date >= periods.first_date
            and days.day_date < periods.next_date
),

struck_nodes as (
    select
        periods.period,
        struck.*
    from intermediate.node_incidents as struck
    inner join periods
        on
            struck.cluster_id = periods.cluster_id
            and cast(struck.failed_at - interval 1 microsecond as date) >= periods.first_date
            and cast(struck.failed_at - interval 1 microsecond as date) < periods.next_date
),

members as (
    select *, 'all' as population from failures
    union all
    select *, 'gpus_gt_128' as population from failures where gpu_size_bin > 128
    union all
    select *, 'whole_nodes' as population from failures where is_whole_node
),

-- A failure whose node-days are unknown would raise the rate without its exposure.
incidents as (
    select
        cluster_id,
        period,
        population,
        incident_id,
        max(failure_probability) as incident_probability,
        cast(sum(cast(failure_probability as decimal(38, 15))) as double) as expected_count,
        count(*) filter (where is_paper_failure) as paper_count
    from members
    where node_days is not null
    group by cluster_id, period, population, incident_id
),

-- How far the count moves under other parameters of the posterior that the data allow: its variance over the draws.
draw_counts as (
    select
        members.cluster_id,
        members.period,
        members.population,
        draws.draw,
        sum(cast(draws.probability as decimal(38, 15))) as expected_count
    from members
    inner join intermediate.int_failure_draws as draws using (cluster_id, attempt_id)
    where members.node_days is not null and members.failure_probability > 0
    group by members.cluster_id, members.period, members.population, draws.draw
),

parameter_variances as (
    select
        cluster_id,
        period,
        population,
        greatest(
            sum(cast(expected_count as double) * cast(expected_count as double) order by draw) / count(*)
            - power(sum(cast(expected_count as double) order by draw) / count(*), 2),
            0
        ) as variance
    from draw_counts
    group by cluster_id, period, population
),

-- An incident of probability w counts m = expected_count / w attempts or nodes: w m^2 (2 - w) is what it adds to the
-- variance of their number, w (2 - w) to that of the number of incidents.
counts as (
    select
        cluster_id,
        period,
        population,
        sum(cast(expected_count as decimal(38, 15))) as expected_count,
        sum(cast(
            -- what only the paper counts has no probability and adds nothing
            coalesce(expected_count * expected_count / nullif(incident_probability, 0) * (2 - incident_probability), 0)
                as decimal(38, 15)
        )) as expected_variance,
        sum(cast(incident_probability as decimal(38, 15))) as incident_count,
        sum(cast(incident_probability * (2 - incident_probability) as decimal(38, 15))) as incident_variance,
        sum(paper_count) as paper_count,
        count(*) filter (where paper_count > 0) as paper_incident_count
    from incidents
    group by cluster_id, period, population
    union all
    select
        cluster_id,
        period,
        'nodes' as population,
        null as expected_count,
        null as expected_variance,
        sum(cast(expected_count as decimal(38, 15))) as incident_count,
        sum(cast(
            expected_count * expected_count / incident_probability * (2 - incident_probability) as decimal(38, 15)
        )) as incident_variance,
        null as paper_count,
        null as paper_incident_count
    from struck_nodes
    where has_nodes
    group by cluster_id, period
),

unmeasured as (
    select
        cluster_id,
        period,
        population,
        count(*) as unmeasured_failure_count
    from members
    where node_days is null
    group by cluster_id, period, population
    union all
    select
        cluster_id,
        period,
        'nodes' as population,
        cast(sum(failure_count) as bigint) as unmeasured_failure_count
    from struck_nodes
    where not has_nodes
    group by cluster_id, period
),

spans as (
    select
        clusters.* exclude (study_from_at, study_to_at),
        periods.period,
        periods.month_date,
        epoch(periods.to_at - periods.from_at) / 86400 - coalesce(gaps.days, 0) as seen_days,
        date_diff('day', periods.month_date, cast(periods.month_date + interval 1 month as date)) as month_days,
        coalesce(gaps.days, 0) as gap_days
    from clusters
    inner join periods using (cluster_id)
    left join gaps using (cluster_id, period)
),

cells as (
    select
        spans.*,
        populations.population,
        ways.counted_as
    from spans
    cross join (values ('gpus_gt_128'), ('whole_nodes'), ('all')) as populations (population)
    cross join (values ('attempts'), ('incidents'), ('attempts_paper'), ('incidents_paper')) as ways (counted_as)
    union all
    select
        *,
        'nodes' as population,
        'incidents' as counted_as
    from spans
),

joined as (
    select
        cells.*,
        not cells.has_accounting or coalesce(case cells.population
            when 'gpus_gt_128' then exposures.has_no_size
            when 'whole_nodes' then exposures.has_no_share
            when 'nodes' then exposures.node_days > 0 and coalesce(physical.node_days, 0) = 0
        end, false) as is_unknowable,
        case cells.population
            when 'gpus_gt_128' then exposures.unknown_size_count when 'whole_nodes' then exposures.unknown_share_count
        end as unknown_count,
        coalesce(case cells.population
            when 'gpus_gt_128' then exposures.large_attempt_count
            when 'whole_nodes' then exposures.whole_node_attempt_count
            else exposures.attempt_count
        end, 0) as attempt_count,
        coalesce(case cells.population
            when 'gpus_gt_128' then exposures.large_unexplained_count
            when 'whole_nodes' then exposures.whole_node_unexplained_count
            else exposures.unexplained_count
        end, 0) as unexplained_count,
        coalesce(case cells.population
            when 'gpus_gt_128' then unseen.large_attempt_count
            when 'whole_nodes' then unseen.whole_node_attempt_count
            else unseen.attempt_count
        end, 0) as unseen_count,
        coalesce(exposures.unmeasured_running_count, 0) as unmeasured_running_count,
        coalesce(unmeasured.unmeasured_failure_count, 0) as unmeasured_failure_count,
        cast(coalesce(case cells.counted_as
            when 'attempts' then counts.expected_count
            when 'incidents' then counts.incident_count
            when 'attempts_paper' then counts.paper_count
            when 'incidents_paper' then counts.paper_incident_count
        end, 0) as double) as failure_count,
        -- Poisson counts where every failure is certain and alone: that is how the paper takes them.
        cast(coalesce(case cells.counted_as
            when 'attempts' then counts.expected_variance
            when 'incidents' then counts.incident_variance
            when 'attempts_paper' then counts.paper_count
            when 'incidents_paper' then counts.paper_incident_count
        end, 0) as double)
            as count_variance,
        if(cells.counted_as in ('attempts', 'incidents'), coalesce(parameter_variances.variance, 0), 0)
            as parameter_variance,
        cast(coalesce(case cells.population
            when 'gpus_gt_128' then exposures.large_node_days
            when 'whole_nodes' then exposures.whole_node_days
            when 'nodes' then physical.node_days
            else exposures.node_days
        end, 0) as double) as node_days,
        cast(coalesce(
            case cells.population when 'gpus_gt_128' then exposures.large_shared_node_days end, 0
        ) as double) as shared_node_days
    from cells
    left join exposures using (cluster_id, period)
    left join unseen using (cluster_id, period)
    left join physical using (cluster_id, period)
    left join counts using (cluster_id, period, population)
    left join unmeasured using (cluster_id, period, population)
    left join parameter_variances
        on
            cells.cluster_id = parameter_variances.cluster_id
            and cells.period = parameter_variances.period
            -- Failures of nodes are those of all attempts.
            and if(cells.population = 'nodes', 'all', cells.population) = parameter_variances.population
),

-- No failure was seen among ends that nobody could judge: that is no count of failures.
judged as (
    select
        *,
        failure_count = 0 and unseen_count > 0 as is_unseen,
        -- in a month, also what began before it
        attempt_count > 0 or node_days > 0 as has_run
    from joined
)

select
    joined.cluster_id,
    joined.month_date,
    joined.seen_days,
    joined.month_days,
    joined.population,
    joined.counted_as,
    if(joined.is_unknowable or joined.is_unseen, null, joined.failure_count) as failure_count,
    if(joined.is_unknowable or joined.is_unseen, null, joined.count_variance + joined.parameter_variance)
        as failure_variance,
    joined.count_variance,
    if(joined.is_unknowable, null, joined.node_days) as node_days,
    cast(if(joined.is_unknowable, null, joined.unexplained_count) as bigint) as unexplained_count,
    joined.unexplained_count > 0 or (joined.has_run and not joined.has_evidence) as is_lower_bound,
    joined.is_unknowable,
    joined.shared_node_days,
    nullif(concat_ws(
        '; ',
        if(
            joined.seen_days < joined.month_days - 1e-6,
            format('not a whole month: {:.4g} of its {} days were seen', joined.seen_days, joined.month_days),
            null
        ),
        case
            when joined.is_unknowable and joined.population = 'nodes' then 'no attempt tells its nodes'
            when joined.is_unknowable and joined.population = 'whole_nodes' and not joined.has_gpus_per_node
                then 'GPUs per node unknown'
            when joined.is_unknowable then 'the GPU count of every attempt is unknown'
            when not joined.has_run then 'no attempt ran' || case joined.population
                when 'gpus_gt_128' then ' with more than 128 GPUs' when 'whole_nodes' then ' on whole nodes' else ''
            end
            when joined.node_days = 0 and joined.is_without_time
                then 'no time is studied yet: that begins with the first end of an attempt, or where [[spans]] in '
                || 'cluster.toml says that accounting is complete'
            when joined.node_days = 0 then 'the attempts add up to no node-days'
            when joined.is_unseen
                then format(
                    'not observable: {} ended FAILED on nodes of which no log was understood',
                    if(joined.unseen_count = 1, '1 attempt', format('{:d} attempts', cast(joined.unseen_count as bigint)))
                )
            when joined.failure_count = 0
                then format('no failure in {:.4g} node-days: only the upper limit is known', joined.node_days)
        end,
        if(
            not joined.has_evidence and joined.has_run and not joined.is_unseen,
            'a lower bound, as only NODE_FAIL counts: no health checks, kernel messages or node events to judge the '
            || 'FAILED attempts by',
            null
        ),
        if(
            joined.has_evidence and joined.unseen_count > 0 and not joined.is_unseen and not joined.is_unknowable,
            format(
                'a lower bound, as no log was understood where FAILED attempts ended: {:d}',
                cast(joined.unseen_count as bigint)
            ),
            null
        ),
        if(joined.gap_days > 0, format('days left out, accounting is missing: {:.4g}', joined.gap_days), null),
        if(
            joined.unknown_count > 0 and not joined.is_unknowable,
            format(
                'attempts left out, {}: {}',
                if(joined.population = 'gpus_gt_128', 'GPU count unknown', 'unknown whether they had whole nodes'),
                joined.unknown_count
            ),
            null
        ),
        if(
            joined.unmeasured_running_count > 0 and not joined.is_unknowable,
            format('running attempts left out, time run so far unknown: {}', joined.unmeasured_running_count),
            null
        ),
        if(
            joined.unmeasured_failure_count > 0 and not joined.is_unknowable,
            format(
                'failures left out, {} unknown: {}',
                if(joined.population = 'nodes', 'nodes', 'node-days'),
                joined.unmeasured_failure_count
            ),
            null
        )
    ), '') as note
from judged as joined
