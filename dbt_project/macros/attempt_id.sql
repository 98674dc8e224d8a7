{#- Key of an attempt: cluster, numeric job id, submit time in epoch seconds. Every export carries these three. -#}
{% macro attempt_id(cluster_id, job_id_raw, submitted_at) -%}
    {{ cluster_id }} || ':' || {{ job_id_raw }} || ':' || {{ epoch_seconds(submitted_at) }}
{%- endmacro %}
