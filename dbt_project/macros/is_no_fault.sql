{#-
    Whether an outage of this category is nobody's fault: planned work, or a machine that a cloud could not give or took
    back. Such outages and the ends that they bring about are never failures.
-#}
{% macro is_no_fault(failure_category) -%}
    {{ failure_category }} in ('planned', 'capacity')
{%- endmacro %}
