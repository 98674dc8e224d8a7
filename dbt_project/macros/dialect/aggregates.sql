{#- Aggregates and columns. -#}


{#- Value in the first, or last, row. Rows with a NULL value are skipped. -#}
{% macro first_by(value, ordering) -%}
    {{ adapter.dispatch('first_by', 'faultline')(value, ordering) }}
{%- endmacro %}

{% macro default__first_by(value, ordering) -%}
    min_by({{ value }}, {{ ordering }})
{%- endmacro %}

{% macro spark__first_by(value, ordering) -%}
    min_by({{ value }}, {{ ordering }}) filter (where {{ value }} is not null)
{%- endmacro %}


{% macro last_by(value, ordering) -%}
    {{ adapter.dispatch('last_by', 'faultline')(value, ordering) }}
{%- endmacro %}

{% macro default__last_by(value, ordering) -%}
    max_by({{ value }}, {{ ordering }})
{%- endmacro %}

{% macro spark__last_by(value, ordering) -%}
    max_by({{ value }}, {{ ordering }}) filter (where {{ value }} is not null)
{%- endmacro %}


{% macro sorted_list(value) -%}
    {{ adapter.dispatch('sorted_list', 'faultline')(value) }}
{%- endmacro %}

{% macro default__sorted_list(value) -%}
    list({{ value }} order by {{ value }})
{%- endmacro %}

{% macro spark__sorted_list(value) -%}
    sort_array(collect_list({{ value }}))
{%- endmacro %}


{#- All columns except the named ones, separated by commas. -#}
{% macro exclude_columns(columns) -%}
    {{ adapter.dispatch('exclude_columns', 'faultline')(columns) }}
{%- endmacro %}

{% macro default__exclude_columns(columns) -%}
    * exclude ({{ columns }})
{%- endmacro %}

{% macro spark__exclude_columns(columns) -%}
    * except ({{ columns }})
{%- endmacro %}


{#- The nearest whole number. Spark's cast would truncate. -#}
{% macro round_to_integer(value) -%}
    {{ adapter.dispatch('round_to_integer', 'faultline')(value) }}
{%- endmacro %}

{% macro default__round_to_integer(value) -%}
    cast({{ value }} as bigint)
{%- endmacro %}

{% macro spark__round_to_integer(value) -%}
    cast(rint({{ value }}) as bigint)
{%- endmacro %}


{#- Hash of several columns, to sort and join by. It may differ between versions of the engine. -#}
{% macro hash_columns(columns) -%}
    {{ adapter.dispatch('hash_columns', 'faultline')(columns) }}
{%- endmacro %}

{% macro default__hash_columns(columns) -%}
    hash({{ columns | join(', ') }})
{%- endmacro %}

{#- Spark skips NULL: without the text, ('a', NULL, 1) and ('a', 1, NULL) would be equal. -#}
{% macro spark__hash_columns(columns) -%}
    xxhash64(
        {%- for column in columns %}
        coalesce(cast({{ column }} as string), 'NULL'){{ ',' if not loop.last }}
        {%- endfor %}
    )
{%- endmacro %}
