{#- Attempts that satisfy `condition`, with their work and what an interruption lost of it. A running attempt counts its
    work so far. An attempt has one restart; later segments of a resized job have none. The time after it alternates
    between work and checkpoint writes. Accounting does not record checkpoints, so the loss at an interruption or a time
    limit is an assumption: at most a whole interval. -#}
{% macro measured_work(attempts, clusters, condition) %}
{%- set loses_work = "is_interrupted or state = 'TIMEOUT'" %}
select
    *,
    case
        when {{ loses_work }} then least(working_seconds * work_ratio, checkpoint_seconds / 2) else 0
    end as lost_seconds,
    case
        when {{ loses_work }} then least(working_seconds * work_ratio, checkpoint_seconds) else 0
    end as lost_seconds_high
from (
    select
        attempts.*,
        clusters.checkpoint_minutes * 60 as checkpoint_seconds,
        case
            when clusters.write_minutes > 0
                then clusters.checkpoint_minutes / (clusters.checkpoint_minutes + clusters.write_minutes)
            else 1
        end as work_ratio,
        greatest(
            0,
            attempts.exposure_seconds
            - case when attempts.is_continuation then 0 else clusters.restart_minutes * 60 end
        ) as working_seconds,
        attempts.is_infrastructure_failure
        or attempts.state in ('NODE_FAIL', 'PREEMPTED', 'REQUEUED')
        or coalesce(attempts.end_reason = 'capacity', false)
        or (attempts.state = 'TIMEOUT' and not attempts.is_last_of_run) as is_interrupted
    from {{ attempts }} as attempts
    inner join {{ clusters }} as clusters on attempts.cluster_id = clusters.cluster_id
    where {{ condition }}
) as working_attempts
{%- endmacro %}
