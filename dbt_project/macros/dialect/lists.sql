{#- Lists. Function names differ between the engines; the DuckDB form is the default. -#}


{#- One row per item, as a column of the select list. An empty list and NULL give no row. -#}
{% macro unnest_list(list) -%}
    {{ adapter.dispatch('unnest_list', 'faultline')(list) }}
{%- endmacro %}

{% macro default__unnest_list(list) -%}
    unnest({{ list }})
{%- endmacro %}

{% macro spark__unnest_list(list) -%}
    explode({{ list }})
{%- endmacro %}


{#- One row per whole number from the first to the last, both included. -#}
{% macro unnest_integer_range(first, last) -%}
    {{ adapter.dispatch('unnest_integer_range', 'faultline')(first, last) }}
{%- endmacro %}

{% macro default__unnest_integer_range(first, last) -%}
    unnest(generate_series({{ first }}, {{ last }}))
{%- endmacro %}

{#- Without a step, Spark would count down if the last comes before the first. -#}
{% macro spark__unnest_integer_range(first, last) -%}
    explode(case when {{ first }} <= {{ last }} then sequence({{ first }}, {{ last }}) end)
{%- endmacro %}


{#- One row per day from the first to the last, both included. -#}
{% macro unnest_date_range(first, last) -%}
    {{ adapter.dispatch('unnest_date_range', 'faultline')(first, last) }}
{%- endmacro %}

{% macro default__unnest_date_range(first, last) -%}
    cast(unnest(generate_series({{ first }}, {{ last }}, interval 1 day)) as date)
{%- endmacro %}

{% macro spark__unnest_date_range(first, last) -%}
    explode(case when {{ first }} <= {{ last }} then sequence({{ first }}, {{ last }}, interval 1 day) end)
{%- endmacro %}


{% macro list_literal(items) -%}
    {{ adapter.dispatch('list_literal', 'faultline')(items) }}
{%- endmacro %}

{% macro default__list_literal(items) -%}
    [{{ items | join(', ') }}]
{%- endmacro %}

{% macro spark__list_literal(items) -%}
    array({{ items | join(', ') }})
{%- endmacro %}


{% macro empty_integer_list() -%}
    {{ adapter.dispatch('empty_integer_list', 'faultline')() }}
{%- endmacro %}

{% macro default__empty_integer_list() -%}
    cast([] as integer[])
{%- endmacro %}

{% macro spark__empty_integer_list() -%}
    cast(array() as array<integer>)
{%- endmacro %}


{% macro list_length(list) -%}
    {{ adapter.dispatch('list_length', 'faultline')(list) }}
{%- endmacro %}

{% macro default__list_length(list) -%}
    len({{ list }})
{%- endmacro %}

{% macro spark__list_length(list) -%}
    size({{ list }})
{%- endmacro %}


{#- NULL for an empty list. -#}
{% macro first_item(list) -%}
    {{ adapter.dispatch('first_item', 'faultline')(list) }}
{%- endmacro %}

{% macro default__first_item(list) -%}
    {{ list }}[1]
{%- endmacro %}

{% macro spark__first_item(list) -%}
    get({{ list }}, 0)
{%- endmacro %}


{% macro lists_overlap(one, other) -%}
    {{ adapter.dispatch('lists_overlap', 'faultline')(one, other) }}
{%- endmacro %}

{% macro default__lists_overlap(one, other) -%}
    list_has_any({{ one }}, {{ other }})
{%- endmacro %}

{% macro spark__lists_overlap(one, other) -%}
    arrays_overlap({{ one }}, {{ other }})
{%- endmacro %}


{#- The items in order, as one text. -#}
{% macro list_as_text(list, separator) -%}
    {{ adapter.dispatch('list_as_text', 'faultline')(list, separator) }}
{%- endmacro %}

{% macro default__list_as_text(list, separator) -%}
    array_to_string(list_sort({{ list }}), '{{ separator }}')
{%- endmacro %}

{% macro spark__list_as_text(list, separator) -%}
    array_join(array_sort({{ list }}), '{{ separator }}')
{%- endmacro %}
