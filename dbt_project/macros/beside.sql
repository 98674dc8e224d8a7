{#- A mart as a view among the marts names it: by schema alone, so that the view means the tables of its own file, under
    whatever name somebody opens that. -#}
{% macro beside(mart) -%}
    {{ ref(mart).include(database=false) }}
{%- endmacro %}

{#- Around the making of such a view: DuckDB checks its text before it knows in which file it will stand. -#}
{% macro look_beside() -%}
    {% if target.type == 'duckdb' %}set search_path = 'publication.marts'{% endif %}
{%- endmacro %}

{% macro look_anywhere() -%}
    {% if target.type == 'duckdb' %}reset search_path{% endif %}
{%- endmacro %}
