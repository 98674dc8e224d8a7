-- Every combination of size, failure rate, checkpoint interval and cost that the grid holds; nothing is measured here.
-- Sizes and rates hold those the paper names: 8,000, 12,000, 16,000 and 100,000 GPUs, 6.5 and 2.34 failures per 1,000
-- node-days. Costs, in the order of the rows: the paper's first version (writes cost nothing), its second (five
-- minutes), writes in the background (ten seconds), and a fast restart.
with sizes as (
    select
        unnest([1024, 2048, 4096, 8000, 8192, 12000, 16000, 16384, 32768, 65536, 100000, 131072]) as gpu_count,
        8 as gpus_per_node
),

rates as (
    select unnest([0.5, 1.0, 1.5, 2.34, 3.5, 5.0, 6.5, 8.0, 10.0, 15.0]) as failures_per_1000_node_days
),

intervals as (
    select unnest([1, 2, 5, 7, 10, 15, 21, 30, 45, 60, 90, 120]) as checkpoint_minutes
),

costs as (
    select
        scenario,
        restart_minutes,
        write_minutes
    from (
        values ('free_writes', 5, 0), ('blocking_writes', 5, 5), ('async_writes', 5, 10 / 60.0), ('fast_restart', 2, 0)
    ) as scenarios (scenario, restart_minutes, write_minutes)
)

select
    costs.scenario,
    cast(sizes.gpu_count as bigint) as gpu_count,
    cast(sizes.gpus_per_node as bigint) as gpus_per_node,
    cast(rates.failures_per_1000_node_days as double) as failures_per_1000_node_days,
    cast(intervals.checkpoint_minutes as double) as checkpoint_minutes,
    cast(costs.restart_minutes as double) as restart_minutes,
    cast(costs.write_minutes as double) as write_minutes
from costs
cross join sizes
cross join rates
cross join intervals
order by
    list_position(['free_writes', 'blocking_writes', 'async_writes', 'fast_restart'], costs.scenario),
    sizes.gpu_count,
    rates.failures_per_1000_node_days,
    intervals.checkpoint_minutes
