-- Large attempts that ended in the study period, on the days of the comparison of nodes, and the same without the
-- lemons.
with windows as (
    select
        cluster_id,
        rate_start_date,
        window_end_date,
        large_gpu_count
    from inputs.inp_lemon_windows_chosen
    where not list_contains(cast($left_out as varchar []), cluster_id)
),

lemons as (
    select
        cluster_id,
        node_id
    from estimates.est_lemon_nodes
    where verdict = 'lemon' and not list_contains(cast($left_out as varchar []), cluster_id)
),

lemon_counts as (
    select
        windows.cluster_id,
        count(lemons.node_id) as lemon_count
    from windows
    left join lemons using (cluster_id)
    group by windows.cluster_id
),

large_attempts as (
    select
        attempts.cluster_id,
        attempts.attempt_id,
        cast(coalesce(failures.posterior_probability, 0) as decimal(28, 12)) as failure_probability,
        culprits.node_id is not null as is_lemon_failure
    from marts.fct_attempts as attempts
    inner join windows using (cluster_id)
    inner join marts.dim_clusters as clusters using (cluster_id)
    left join marts.fct_failures as failures using (cluster_id, attempt_id)
    left join lemons as culprits
        on failures.cluster_id = culprits.cluster_id and failures.culprit_node_id = culprits.node_id
    anti join marts.dim_study_gaps as gaps
        on
            attempts.cluster_id = gaps.cluster_id
            and attempts.ended_at > gaps.from_at
            and attempts.ended_at <= gaps.to_at
    where
        attempts.is_terminal
        and attempts.started_at is not null
        and attempts.job_gpu_count >= windows.large_gpu_count
        and cast(attempts.ended_at as date) between windows.rate_start_date and windows.window_end_date
        and attempts.ended_at > clusters.study_from_at
        and attempts.ended_at <= clusters.study_to_at
),

attempts_with_lemons as (
    select distinct
        attempt_nodes.cluster_id,
        attempt_nodes.attempt_id
    from marts.fct_attempt_nodes as attempt_nodes
    inner join lemons using (cluster_id, node_id)
),

members as (
    select
        'all' as population,
        cluster_id,
        failure_probability
    from large_attempts
    union all
    select
        'all_without_lemon_failures' as population,
        cluster_id,
        if(is_lemon_failure, 0, failure_probability) as failure_probability
    from large_attempts
    union all
    select
        if(attempts_with_lemons.attempt_id is null, 'without_lemon_node', 'with_lemon_node') as population,
        large_attempts.cluster_id,
        large_attempts.failure_probability
    from large_attempts
    left join attempts_with_lemons using (cluster_id, attempt_id)
),

counts as (
    select
        cluster_id,
        population,
        count(*) as attempt_count,
        cast(sum(failure_probability) as double) as failure_count
    from members
    group by cluster_id, population
)

select
    windows.cluster_id,
    populations.population,
    windows.rate_start_date as window_start_date,
    windows.window_end_date,
    windows.large_gpu_count,
    lemon_counts.lemon_count,
    coalesce(counts.attempt_count, 0) as attempt_count,
    coalesce(counts.failure_count, 0) as failure_count,
    nullif(concat_ws(
        '; ',
        case
            when windows.large_gpu_count is null then 'no size of 16 GPUs and more has 30 ended attempts of several nodes'
            when windows.large_gpu_count < 512 then 'too few attempts of 512 GPUs: the largest common size instead'
        end,
        if(lemon_counts.lemon_count = 0, 'no node is called a lemon', null)
    ), '') as note
from windows
cross join
    (values ('all'), ('all_without_lemon_failures'), ('with_lemon_node'), ('without_lemon_node'))
        as populations (population)
inner join lemon_counts using (cluster_id)
left join counts using (cluster_id, population)
order by windows.cluster_id, populations.population
