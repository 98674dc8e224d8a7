-- Numbers with limits that are compared with the previous report, under the names of their tables.
-- One row per number.
with numbers as (
    select
        cluster_id, 'est_failure_rates' as table_name, population || ' ' || counted_as as table_key,
        population as subject, method_version, failures_per_1000_node_days as number_value,
        failures_per_1000_node_days_low as number_low, failures_per_1000_node_days_high as number_high
    from estimates.est_failure_rates
    where is_reference or (population = 'all' and counted_as = 'incidents')
    union all
    select cluster_id, 'est_mttf_by_size', gpu_size_bin, null, method_version,
        mttf_hours, mttf_hours_low, mttf_hours_high
    from estimates.est_mttf_by_size
    union all
    select cluster_id, 'est_ettr_by_size', gpu_size_bin, null, method_version,
        ettr_measured, ettr_measured_low, ettr_measured_high
    from estimates.est_ettr_by_size
    union all
    select cluster_id, 'est_cause_rates', failure_category, label, method_version,
        1e6 * failures_per_gpu_hour, 1e6 * failures_per_gpu_hour_low, 1e6 * failures_per_gpu_hour_high
    from estimates.est_cause_rates
    left join marts.dim_failure_categories using (failure_category)
    where counted_as = 'attempts'
    union all
    select cluster_id, 'est_lemon_nodes', node_id, node_name, method_version, cast(verdict = 'lemon' as double), null, null
    from estimates.est_lemon_nodes
    left join marts.dim_nodes using (cluster_id, node_id)
)

select
    cluster_id, table_name, table_name || ' ' || table_key as number_key, coalesce(subject, table_key) as subject,
    method_version, number_value, number_low, number_high
from numbers
order by
    list_position([
        'est_failure_rates', 'est_mttf_by_size', 'est_ettr_by_size', 'est_cause_rates', 'est_lemon_nodes'
    ], table_name),
    cluster_id, number_key
