{#- Key of an attempt: cluster, numeric job id, submit time in epoch seconds. Every export has these three. None is
    NULL, which concat would skip. concat writes the text once; || writes it four times. -#}
{% macro attempt_id(cluster_id, job_id_raw, submitted_at) -%}
    concat({{ cluster_id }}, ':', {{ job_id_raw }}, ':', {{ epoch_seconds(submitted_at) }})
{%- endmacro %}
