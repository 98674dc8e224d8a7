{#-
    Seconds before and after an attempt's end in the widest window of marts.agg_attribution_controls.
-#}
{% macro widest_before_seconds(clusters) -%}
    4 * {{ clusters }}.attribution_before_seconds
{%- endmacro %}

{% macro widest_after_seconds(clusters) -%}
    2 * {{ clusters }}.attribution_after_seconds
{%- endmacro %}
