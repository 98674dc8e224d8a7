with clusters as (
    select cluster_id from {{ ref('dim_clusters') }}
),

runs as (
    select * replace (nullif(node_count, 0) as node_count)
    from {{ ref('fct_job_runs') }}
    where scheduled_hours >= 24
),

settings as (
    select
        cluster_id,
        checkpoint_minutes,
        restart_minutes,
        write_minutes
    from {{ ref('stg_config__clusters') }}
),

sizes as (
    select
        cluster_id,
        gpu_size_bin,
        {{ measured_runs() | indent(4) }},
        median(node_count) as node_count_median,
        60 * sum(queue_hours order by run_id) / sum(attempt_count) filter (queue_hours is not null)
            as queue_minutes_mean,
        avg(productive_hours order by run_id) as productive_hours_mean,
        sum(attempt_count) - count(*) as restart_count
    from runs
    group by cluster_id, gpu_size_bin
)

select
    sizes.* exclude (restart_count),
    settings.checkpoint_minutes,
    settings.restart_minutes,
    settings.write_minutes,
    nullif(concat_ws(
        '; ',
        if(sizes.gpu_size_bin is null, 'runs whose GPU count is unknown', null),
        case
            when sizes.run_count = 1 then 'a single run: no limits'
            when sizes.run_count < 10
                then format('{} runs: the lowest and the highest in place of limits', sizes.run_count)
            when sizes.ettr_deviation = 0 then 'the runs do not differ: no limits'
            when sizes.progress_deviation = 0 then 'the runs progress alike: no limits of the progress ratio'
        end,
        if(
            sizes.ettr_count < sizes.run_count,
            format('runs left out of ETTR, time queued unknown: {}', sizes.run_count - sizes.ettr_count),
            null
        )
    ), '') as note,
    if(
        sizes.restart_count > 2 * sizes.failure_count,
        format(
            'expected knows infrastructure failures only: {:d} of {:d} restarts', sizes.failure_count,
            sizes.restart_count
        ),
        null
    ) as note_on_restarts
from sizes
inner join clusters using (cluster_id)
left join settings using (cluster_id)
