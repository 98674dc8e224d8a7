with

clusters as (

    select * from {{ ref('stg_config__clusters') }}

),

attempts as (

    select * from {{ ref('int_attempts') }}
    where
        is_terminal
        and (state = 'COMPLETED' or {{ may_be_failed('state') }})

),

het_jobs as (

    select * from {{ ref('int_het_jobs_sized') }}

),

culprits as (

    select * from {{ ref('int_culprits_named') }}

),

evidence as (

    select * from {{ ref('int_attempt_end_evidence') }}
    where not is_named

),

priorities as (

    select * from {{ ref('int_failure_category_priorities') }}

),

-- The configured window, with halves and multiples of its sides. A side of length 0 has no multiples.
windows as (

    select
        clusters.cluster_id,
        cast(round(clusters.attribution_before_seconds * befores.factor) as integer) as before_seconds,
        cast(round(clusters.attribution_after_seconds * afters.factor) as integer) as after_seconds,
        bool_or(befores.factor = 1 and afters.factor = 1) as is_configured
    from clusters
    cross join (values (0.5), (1), (2), (4)) as befores (factor)
    cross join (values (0), (1), (2)) as afters (factor)
    group by
        clusters.cluster_id,
        cast(round(clusters.attribution_before_seconds * befores.factor) as integer),
        cast(round(clusters.attribution_after_seconds * afters.factor) as integer)

),

named as (

    select distinct
        cluster_id,
        attempt_id
    from culprits

),

sizes as (

    select
        attempts.cluster_id,
        {{ gpu_size_bin(job_gpu_count('attempts', 'het_jobs')) }} as gpu_size_bin,
        attempts.state = 'COMPLETED' as is_control,
        count(*) as attempt_count
    from attempts
    left join het_jobs
        on
            attempts.cluster_id = het_jobs.cluster_id
            and attempts.attempt_id = het_jobs.attempt_id
    left join named
        on
            attempts.cluster_id = named.cluster_id
            and attempts.attempt_id = named.attempt_id
    where named.attempt_id is null
    group by attempts.cluster_id, gpu_size_bin, is_control

),

-- Evidence in each window: attribution would choose the category that ranks first.
causes as (

    select
        evidence.cluster_id,
        windows.before_seconds,
        windows.after_seconds,
        evidence.gpu_size_bin,
        evidence.is_control,
        evidence.attempt_id,
        {{ first_by(
            'evidence.failure_category',
            '(coalesce(priorities.priority, 1000), abs(evidence.lag_seconds), evidence.event_id)'
        ) }} as failure_category
    from evidence
    inner join windows
        on
            evidence.cluster_id = windows.cluster_id
            and evidence.lag_seconds >= -windows.before_seconds
            and evidence.lag_seconds <= windows.after_seconds
    left join priorities
        on
            evidence.cluster_id = priorities.cluster_id
            and evidence.failure_category = priorities.failure_category
    group by
        evidence.cluster_id,
        windows.before_seconds,
        windows.after_seconds,
        evidence.gpu_size_bin,
        evidence.is_control,
        evidence.attempt_id

),

hits as (

    select
        cluster_id,
        before_seconds,
        after_seconds,
        gpu_size_bin,
        is_control,
        failure_category,
        count(*) as hit_count
    from causes
    group by cluster_id, before_seconds, after_seconds, gpu_size_bin, is_control, failure_category

),

categories as (

    select distinct
        cluster_id,
        failure_category
    from hits

)

select
    windows.cluster_id,
    windows.before_seconds,
    windows.after_seconds,
    windows.is_configured,
    sizes.is_control,
    sizes.gpu_size_bin,
    categories.failure_category,
    sizes.attempt_count,
    coalesce(hits.hit_count, 0) as hit_count
from windows
inner join sizes on windows.cluster_id = sizes.cluster_id
inner join categories on windows.cluster_id = categories.cluster_id
left join hits
    on
        windows.cluster_id = hits.cluster_id
        and windows.before_seconds = hits.before_seconds
        and windows.after_seconds = hits.after_seconds
        and sizes.is_control = hits.is_control
        and sizes.gpu_size_bin is not distinct from hits.gpu_size_bin
        and categories.failure_category = hits.failure_category
