{#- Means, deviations and sums of long runs. Floats are added in the order of run_id: in another order they differ in the
    last digit, and the same logs must give the same table. -#}
{% macro measured_runs() -%}
    count(*) as run_count,
    count(ettr) as ettr_count,
    avg(ettr order by run_id) as ettr_mean,
    stddev_samp(ettr order by run_id) as ettr_deviation,
    min(ettr) as ettr_lowest,
    max(ettr) as ettr_highest,
    avg(ettr_low order by run_id) as ettr_bound_low,
    avg(ettr_high order by run_id) as ettr_bound_high,
    count(progress_ratio) as progress_count,
    avg(progress_ratio order by run_id) as progress_mean,
    stddev_samp(progress_ratio order by run_id) as progress_deviation,
    min(progress_ratio) as progress_lowest,
    max(progress_ratio) as progress_highest,
    avg(progress_ratio_low order by run_id) as progress_ratio_bound_low,
    avg(progress_ratio_high order by run_id) as progress_ratio_bound_high,
    if(count(ettr) = count(*), sum(wallclock_hours order by run_id), null) as wallclock_hours,
    if(count(ettr) = count(*), sum(queue_hours order by run_id), null) as queue_hours,
    sum(scheduled_hours - working_seconds / 3600 order by run_id) as restart_hours,
    sum(working_seconds / 3600 - productive_hours_high order by run_id) as write_hours,
    sum(productive_hours_high - productive_hours order by run_id) as lost_work_hours,
    sum(productive_hours order by run_id) as productive_hours,
    sum(scheduled_hours order by run_id) as scheduled_hours,
    sum(infrastructure_failure_count) as failure_count
{%- endmacro %}
