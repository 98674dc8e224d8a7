{#- Whether an attempt that ended in this state may have been ended by infrastructure. -#}
{% macro may_be_failed(state) -%}
    {{ state }} in ('NODE_FAIL', 'BOOT_FAIL', 'FAILED', 'REQUEUED')
{%- endmacro %}
