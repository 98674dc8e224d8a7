{#- Key of an attempt: cluster, numeric job id, submit time in epoch seconds. Every export carries these three.
    None of them is NULL, which concat would pass over; it writes the text once, where || writes it four times. -#}
{% macro attempt_id(cluster_id, job_id_raw, submitted_at) -%}
    concat({{ cluster_id }}, ':', {{ job_id_raw }}, ':', {{ epoch_seconds(submitted_at) }})
{%- endmacro %}
