{#-
    Whether an outage of this category is no fault: planned work, or a cloud machine that was not provided or was taken
    back. Such outages, and the ends that they cause, are never failures.
-#}
{% macro is_no_fault(failure_category) -%}
    {{ failure_category }} in ('planned', 'capacity')
{%- endmacro %}
