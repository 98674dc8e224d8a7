-- How long attempts of each cluster and size ran until they failed or were over otherwise, in classes of age 2% wide
-- each: a few hundred rows stand for millions of attempts, and move no fit by a thousandth.
-- What started before the first recorded end is on record only because it was still running then: it entered at the
-- age it had at that time (left truncation).
with clusters as (
    select cluster_id from marts.dim_clusters
),

attempts as (
    select
        cluster_id,
        gpu_size_bin,
        coalesce(is_infrastructure_failure, false) as is_failure,
        started_at,
        runtime_seconds,
        min(ended_at) over (partition by cluster_id) as watched_from
    from marts.fct_attempts
    where is_terminal
),

-- a failure within the first second is one at one second; what entered as it ended was not watched
ages as (
    select
        *,
        greatest(coalesce(epoch(watched_from) - epoch(started_at), 0), 0) as entry_seconds,
        greatest(runtime_seconds, 1) as age_seconds
    from attempts
    where runtime_seconds > 0 or (runtime_seconds = 0 and is_failure)
),

classes as (
    select
        cluster_id,
        gpu_size_bin,
        is_failure,
        count(*) as attempt_count,
        avg(age_seconds) / 3600 as age_hours,
        avg(entry_seconds) / 3600 as entry_hours
    from ages
    where entry_seconds < age_seconds
    group by
        cluster_id, gpu_size_bin, is_failure, round(ln(age_seconds) / 0.02), round(ln(greatest(entry_seconds, 0.5)) / 0.02)
),

sizes as (
    select
        attempts.cluster_id,
        attempts.gpu_size_bin,
        count(*) as attempt_count,
        count(*) filter (where attempts.runtime_seconds is null) as unknown_runtime_count
    from attempts
    group by attempts.cluster_id, attempts.gpu_size_bin
),

truncations as (
    select
        cluster_id,
        gpu_size_bin,
        count(*) filter (where entry_seconds > 0 and entry_seconds < age_seconds) as late_entry_count
    from ages
    group by cluster_id, gpu_size_bin
)

select
    clusters.cluster_id,
    sizes.gpu_size_bin,
    coalesce(sizes.attempt_count, 0) as size_attempt_count,
    coalesce(sizes.unknown_runtime_count, 0) as unknown_runtime_count,
    coalesce(truncations.late_entry_count, 0) as late_entry_count,
    classes.is_failure,
    classes.attempt_count,
    classes.age_hours,
    classes.entry_hours
from clusters
left join sizes using (cluster_id)
left join truncations
    on
        clusters.cluster_id = truncations.cluster_id
        and sizes.gpu_size_bin is not distinct from truncations.gpu_size_bin
left join classes
    on
        clusters.cluster_id = classes.cluster_id
        and sizes.gpu_size_bin is not distinct from classes.gpu_size_bin
order by
    clusters.cluster_id, sizes.gpu_size_bin nulls last, classes.age_hours, classes.entry_hours, classes.is_failure
