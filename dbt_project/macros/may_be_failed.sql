{#- Whether infrastructure may have ended an attempt in this state. -#}
{% macro may_be_failed(state) -%}
    {{ state }} in ('NODE_FAIL', 'BOOT_FAIL', 'FAILED', 'REQUEUED')
{%- endmacro %}
