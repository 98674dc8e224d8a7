-- In the configured window, the control's failed attempts are the failures with evidence and no named culprit. Causes
-- may differ: the control uses the paper's order in every window, attribution the most probable cause.
{{ config(tags=['judged_with_the_code']) }}

with

controls as (

    select
        cluster_id,
        sum(hit_count) as hit_count
    from {{ ref('agg_attribution_controls') }}
    where
        is_configured
        and not is_control
    group by cluster_id

),

failures as (

    select
        cluster_id,
        count(*) as failure_count
    from {{ ref('fct_failures') }}
    where
        evidence_count > 0
        and not is_culprit_named
    group by cluster_id

)

select
    coalesce(controls.cluster_id, failures.cluster_id) as cluster_id,
    controls.hit_count,
    failures.failure_count
from controls
full outer join failures on controls.cluster_id = failures.cluster_id
where coalesce(controls.hit_count, 0) != coalesce(failures.failure_count, 0)
