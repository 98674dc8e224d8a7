{#- Seconds from one timestamp to another, to the microsecond; negative when the second comes first. -#}
{% macro seconds_between(from_at, to_at) -%}
    ((epoch_us({{ to_at }}) - epoch_us({{ from_at }})) / 1000000)
{%- endmacro %}
