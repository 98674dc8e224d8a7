with clusters as (
    select cluster_id from {{ ref('dim_clusters') }}
),

attempts as (
    select
        cluster_id,
        attempt_id,
        gpu_size_bin,
        entry_seconds,
        exit_seconds,
        exposure_seconds,
        failure_probability,
        incident_id,
        is_last
    from {{ ref('inp_attempts_divided') }}
    where exposure_seconds > 0 or exposure_seconds is null or failure_probability > 0
),

-- A failure within the first second counts at one second. An attempt that entered as it ended was not observed.
ages as (
    select
        *,
        greatest(exit_seconds, 1) as age_seconds,
        coalesce(entry_seconds < greatest(exit_seconds, 1), false) as is_watched
    from attempts
),

classes as (
    select
        cluster_id,
        gpu_size_bin,
        is_watched,
        count(*) as stretch_count,
        count(*) filter (where is_last) as attempt_count,
        count(*) filter (where exposure_seconds is null) as unknown_runtime_count,
        count(*) filter (where is_watched and entry_seconds > 0) as late_entry_count,
        {{ exact_sum('age_seconds', 6) }} / count(*) / 3600 as age_hours,
        {{ exact_sum('entry_seconds', 6) }} / count(*) / 3600 as entry_hours,
        max(failure_probability) as failure_probability,
        any_value(incident_id) filter (where failure_probability > 0) as incident_id
    from ages
    group by
        cluster_id, gpu_size_bin, is_watched,
        round(ln(age_seconds) / 0.02), round(ln(greatest(entry_seconds, 0.5)) / 0.02),
        case when failure_probability > 0 then attempt_id end
),

sizes as (
    select
        cluster_id,
        gpu_size_bin,
        sum(attempt_count) as attempt_count,
        sum(unknown_runtime_count) as unknown_runtime_count,
        sum(late_entry_count) as late_entry_count
    from classes
    group by cluster_id, gpu_size_bin
)

select
    clusters.cluster_id,
    sizes.gpu_size_bin,
    classes.age_hours,
    classes.entry_hours,
    classes.failure_probability,
    classes.incident_id,
    classes.stretch_count as attempt_count,
    cast(coalesce(sizes.attempt_count, 0) as bigint) as size_attempt_count,
    cast(coalesce(sizes.unknown_runtime_count, 0) as bigint) as unknown_runtime_count,
    cast(coalesce(sizes.late_entry_count, 0) as bigint) as late_entry_count
from clusters
left join sizes using (cluster_id)
left join classes
    on
        clusters.cluster_id = classes.cluster_id
        and sizes.gpu_size_bin is not distinct from classes.gpu_size_bin
        and classes.is_watched
