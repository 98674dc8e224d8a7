-- The numbers that have limits and that people follow from report to report. One row per cluster and number.
with numbers as (
    select
        cluster_id,
        'est_failure_rates' as table_name,
        'rate ' || population || ' ' || counted_as as number_key,
        population as subject,
        failures_per_1000_node_days as number_value,
        failures_per_1000_node_days_low as number_low,
        failures_per_1000_node_days_high as number_high,
        method_version
    from estimates.est_failure_rates
    where is_reference or (population = 'all' and counted_as = 'incidents')
    union all
    select
        cluster_id,
        'est_mttf_by_size',
        'mttf ' || gpu_size_bin,
        cast(gpu_size_bin as varchar),
        mttf_hours,
        mttf_hours_low,
        mttf_hours_high,
        method_version
    from estimates.est_mttf_by_size
    union all
    select
        cluster_id,
        'est_ettr_by_size',
        'ettr ' || gpu_size_bin,
        cast(gpu_size_bin as varchar),
        ettr_measured,
        ettr_measured_low,
        ettr_measured_high,
        method_version
    from estimates.est_ettr_by_size
    union all
    select
        rates.cluster_id,
        'est_cause_rates',
        'cause ' || rates.failure_category,
        coalesce(categories.label, rates.failure_category),
        1e6 * rates.failures_per_gpu_hour,
        1e6 * rates.failures_per_gpu_hour_low,
        1e6 * rates.failures_per_gpu_hour_high,
        rates.method_version
    from estimates.est_cause_rates as rates
    left join marts.dim_failure_categories as categories on rates.failure_category = categories.failure_category
    where rates.counted_as = 'attempts'
    union all
    select
        nodes.cluster_id,
        'est_lemon_nodes',
        'lemon ' || nodes.node_id,
        coalesce(names.node_name, nodes.node_id),
        case when nodes.verdict = 'lemon' then 1.0 else 0.0 end,
        null,
        null,
        nodes.method_version
    from estimates.est_lemon_nodes as nodes
    left join marts.dim_nodes as names on nodes.cluster_id = names.cluster_id and nodes.node_id = names.node_id
)

select
    cluster_id,
    table_name,
    number_key,
    subject,
    number_value,
    number_low,
    number_high,
    method_version
from numbers
order by cluster_id, table_name, number_key
