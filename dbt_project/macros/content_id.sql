{#- Key derived from a row's content: the same logs give the same key on every run and every machine. -#}
{% macro content_id(columns) -%}
    md5(concat_ws(
        '|'
        {%- for column in columns %},
        coalesce(cast({{ column }} as string), '')
        {%- endfor %}
    ))
{%- endmacro %}
