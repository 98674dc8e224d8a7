{#- GPUs of the job: those of the attempt, or of all components if it belongs to a heterogeneous job. -#}
{% macro job_gpu_count(attempts, het_jobs) -%}
    case when {{ het_jobs }}.attempt_id is null then {{ attempts }}.gpu_count else {{ het_jobs }}.job_gpu_count end
{%- endmacro %}
