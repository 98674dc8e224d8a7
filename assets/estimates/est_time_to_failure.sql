-- How long attempts of each cluster and size ran inside the study period until they failed or were watched no longer.
-- What did not fail is put into classes of age 2% wide each: a few hundred rows stand for millions of attempts, and move
-- no fit by a thousandth; what is added up is added as decimals, whose sum depends on no order. What may have failed
-- stands alone, with its probability and its incident.
-- What ran before the study period, or in a gap of accounting, is on record only because it lived to see its end: it
-- entered at the age it had then (left truncation).
with clusters as (
    select cluster_id from marts.dim_clusters
),

attempts as (
    select
        cluster_id,
        gpu_size_bin,
        entry_seconds,
        exit_seconds,
        exposure_seconds,
        failure_probability,
        incident_id,
        is_last
    from attempt_stretches
    where exposure_seconds > 0 or exposure_seconds is null or failure_probability > 0
),

-- a failure within the first second is one at one second; what entered as it ended was not watched
ages as (
    select
        *,
        greatest(exit_seconds, 1) as age_seconds
    from attempts
    where entry_seconds < greatest(exit_seconds, 1)
),

classes as (
    select
        cluster_id,
        gpu_size_bin,
        count(*) as attempt_count,
        cast(sum(cast(age_seconds as decimal(38, 6))) as double) / count(*) / 3600 as age_hours,
        cast(sum(cast(entry_seconds as decimal(38, 6))) as double) / count(*) / 3600 as entry_hours,
        cast(0 as double) as failure_probability,
        cast(null as varchar) as incident_id
    from ages
    where failure_probability = 0
    group by
        cluster_id, gpu_size_bin, round(ln(age_seconds) / 0.02), round(ln(greatest(entry_seconds, 0.5)) / 0.02)

    union all

    select
        cluster_id,
        gpu_size_bin,
        1 as attempt_count,
        age_seconds / 3600 as age_hours,
        entry_seconds / 3600 as entry_hours,
        failure_probability,
        incident_id
    from ages
    where failure_probability > 0
),

sizes as (
    select
        cluster_id,
        gpu_size_bin,
        count(*) filter (where is_last) as attempt_count,
        count(*) filter (where exposure_seconds is null) as unknown_runtime_count,
        count(*) filter (where entry_seconds > 0 and entry_seconds < greatest(exit_seconds, 1)) as late_entry_count
    from attempts
    group by cluster_id, gpu_size_bin
)

select
    clusters.cluster_id,
    sizes.gpu_size_bin,
    coalesce(sizes.attempt_count, 0) as size_attempt_count,
    coalesce(sizes.unknown_runtime_count, 0) as unknown_runtime_count,
    coalesce(sizes.late_entry_count, 0) as late_entry_count,
    classes.attempt_count,
    classes.age_hours,
    classes.entry_hours,
    classes.failure_probability,
    classes.incident_id
from clusters
left join sizes using (cluster_id)
left join classes
    on
        clusters.cluster_id = classes.cluster_id
        and sizes.gpu_size_bin is not distinct from classes.gpu_size_bin
order by
    clusters.cluster_id, sizes.gpu_size_bin nulls last, classes.age_hours, classes.entry_hours,
    classes.failure_probability, classes.incident_id
