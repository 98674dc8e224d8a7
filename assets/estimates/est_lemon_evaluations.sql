-- Time in use of every node inside the study period, by period: 0 is the last, as long as a list is judged for, 1 the
-- one before it.
with windows as (
    select
        cluster_id,
        window_end_date,
        judged_days,
        rate_days,
        day_count,
        large_gpu_count
    from inputs.inp_lemon_windows_chosen
),

used_days as (
    select
        node_days.cluster_id,
        node_days.node_id,
        node_days.day_date,
        node_days.study_hours,
        cast(floor((windows.window_end_date - node_days.day_date) / greatest(windows.judged_days, 1)) as integer)
            as period
    from marts.fct_node_days as node_days
    inner join windows using (cluster_id)
)

select
    used_days.cluster_id,
    used_days.node_id,
    used_days.period,
    any_value(windows.window_end_date) as last_date,
    any_value(windows.judged_days) as judged_days,
    any_value(windows.rate_days) as rate_days,
    any_value(windows.day_count) as day_count,
    any_value(windows.large_gpu_count) as large_gpu_count,
    cast(sum(cast(3600 * used_days.study_hours as decimal(28, 6))) as double) / 86400 as in_use_node_days
from used_days
inner join windows using (cluster_id)
group by used_days.cluster_id, used_days.node_id, used_days.period
order by used_days.cluster_id, used_days.node_id, used_days.period;

-- Incidents of the study period by period, each with the nodes that may have caused it and what it cost.
select
    suspects.cluster_id,
    suspects.incident_id,
    suspects.node_id,
    suspects.is_known,
    suspects.incident_probability,
    suspects.failed_at,
    suspects.lost_gpu_hours,
    cast(floor(
        (windows.window_end_date - cast(suspects.failed_at as date)) / greatest(windows.judged_days, 1)
    ) as integer) as period
from marts.fct_incident_suspects as suspects
inner join inputs.inp_lemon_windows_chosen as windows using (cluster_id)
inner join marts.dim_clusters as clusters using (cluster_id)
anti join marts.dim_study_gaps as gaps
    on
        suspects.cluster_id = gaps.cluster_id
        and suspects.failed_at > gaps.from_at
        and suspects.failed_at <= gaps.to_at
where suspects.failed_at > clusters.study_from_at and suspects.failed_at <= clusters.study_to_at
order by suspects.cluster_id, suspects.incident_id, suspects.node_id;

-- Large jobs that ended in each period of the study, and those that failed, by the node that failed them.
select
    attempts.cluster_id,
    failures.culprit_node_id as node_id,
    cast(floor(
        (windows.window_end_date - cast(attempts.ended_at as date)) / greatest(windows.judged_days, 1)
    ) as integer) as period,
    count(*) as attempt_count,
    coalesce(cast(sum(cast(failures.posterior_probability as decimal(28, 12))) as double), 0) as failure_count
from marts.fct_attempts as attempts
inner join inputs.inp_lemon_windows_chosen as windows using (cluster_id)
inner join marts.dim_clusters as clusters using (cluster_id)
left join marts.fct_failures as failures using (cluster_id, attempt_id)
anti join marts.dim_study_gaps as gaps
    on
        attempts.cluster_id = gaps.cluster_id
        and attempts.ended_at > gaps.from_at
        and attempts.ended_at <= gaps.to_at
where
    attempts.is_terminal
    and attempts.started_at is not null
    and attempts.job_gpu_count >= windows.large_gpu_count
    and attempts.ended_at > clusters.study_from_at
    and attempts.ended_at <= clusters.study_to_at
group by all
order by all
