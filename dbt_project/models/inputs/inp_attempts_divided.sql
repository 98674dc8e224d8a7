with divided as (
    select
        attempts.*,
        gaps.from_at as gap_from_at,
        gaps.to_at as gap_to_at
    from {{ ref('fct_attempt_exposures') }} as attempts
    inner join {{ ref('dim_study_gaps') }} as gaps
        on
            attempts.cluster_id = gaps.cluster_id
            and attempts.seen_from_at < gaps.from_at
            and attempts.seen_to_at > gaps.to_at
),

stretches as (
    select
        *,
        gap_to_at as stretch_from_at,
        coalesce(
            lead(gap_from_at) over (partition by cluster_id, attempt_id order by gap_from_at), seen_to_at
        ) as stretch_to_at
    from divided
    union all
    select
        *,
        seen_from_at as stretch_from_at,
        gap_from_at as stretch_to_at
    from divided
    qualify row_number() over (partition by cluster_id, attempt_id order by gap_from_at) = 1
),

pieces as (
    select
        *,
        stretch_to_at = seen_to_at as is_last,
        (epoch(stretch_from_at) - epoch(seen_from_at)) / (epoch(seen_to_at) - epoch(seen_from_at)) as from_share,
        (epoch(stretch_to_at) - epoch(seen_from_at)) / (epoch(seen_to_at) - epoch(seen_from_at)) as to_share
    from stretches
    -- Not in the CTE that divides attempts: DuckDB would read all of them, even without a gap.
    where gap_seconds > 0
),

timed as (
    select
        *,
        entry_seconds + from_share * (exit_seconds - entry_seconds) as stretch_entry_seconds,
        entry_seconds + to_share * (exit_seconds - entry_seconds) as stretch_exit_seconds,
        (to_share - from_share) * (exit_seconds - entry_seconds) / nullif(exposure_seconds, 0) as stretch_share
    from pieces
)

select
    cluster_id,
    attempt_id,
    gpu_size_bin,
    is_whole_node,
    entry_seconds,
    exit_seconds,
    exposure_seconds,
    node_days,
    gpu_hours,
    seen_from_at,
    seen_to_at,
    failure_probability,
    incident_id,
    has_ended,
    state,
    is_paper_failure,
    true as is_last
from {{ ref('fct_attempt_exposures') }}
where coalesce(gap_seconds, 0) = 0
union all
select
    cluster_id,
    attempt_id,
    gpu_size_bin,
    is_whole_node,
    stretch_entry_seconds as entry_seconds,
    stretch_exit_seconds as exit_seconds,
    stretch_exit_seconds - stretch_entry_seconds as exposure_seconds,
    node_days * stretch_share as node_days,
    gpu_hours * stretch_share as gpu_hours,
    stretch_from_at as seen_from_at,
    stretch_to_at as seen_to_at,
    case when is_last then failure_probability else 0 end as failure_probability,
    case when is_last then incident_id end as incident_id,
    has_ended,
    state,
    is_paper_failure,
    is_last
from timed
