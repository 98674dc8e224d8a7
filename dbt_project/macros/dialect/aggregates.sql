{#- Aggregates and columns. -#}


{#- The value in the row that comes first, or last; rows where the value is NULL are passed over. -#}
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


{#- Every column but one. -#}
{% macro all_but(column) -%}
    {{ adapter.dispatch('all_but', 'faultline')(column) }}
{%- endmacro %}

{% macro default__all_but(column) -%}
    * exclude ({{ column }})
{%- endmacro %}

{% macro spark__all_but(column) -%}
    * except ({{ column }})
{%- endmacro %}


{#- The nearest whole number; Spark's cast would cut the fraction off. -#}
{% macro whole(value) -%}
    {{ adapter.dispatch('whole', 'faultline')(value) }}
{%- endmacro %}

{% macro default__whole(value) -%}
    cast({{ value }} as bigint)
{%- endmacro %}

{% macro spark__whole(value) -%}
    cast(rint({{ value }}) as bigint)
{%- endmacro %}


{#- One number for several columns, to sort and join by; it is compared within one run only and never kept. -#}
{% macro hash_of(columns) -%}
    {{ adapter.dispatch('hash_of', 'faultline')(columns) }}
{%- endmacro %}

{% macro default__hash_of(columns) -%}
    hash({{ columns | join(', ') }})
{%- endmacro %}

{#- Spark passes over NULL: without the text, ('a', NULL, 1) and ('a', 1, NULL) would be one. -#}
{% macro spark__hash_of(columns) -%}
    xxhash64(
        {%- for column in columns %}
        coalesce(cast({{ column }} as string), 'NULL'){{ ',' if not loop.last }}
        {%- endfor %}
    )
{%- endmacro %}
