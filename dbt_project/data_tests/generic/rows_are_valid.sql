{#- Checks the rows of a model in one statement. With a test for each rule, dbt would take longer than DuckDB does.
    keys: columns, or lists of columns, that identify a row: never NULL and unique
    required: columns that are never NULL
    accepted_values: the values that a column may have; NULL is accepted
    references: columns with values of another model, except those in `but`; rows with a NULL are not looked up
    Returns a row once per broken rule, with all its columns. Its cluster_id says which cluster fails. -#}
{% test rows_are_valid(model, keys=[], required=[], accepted_values={}, references=[]) %}

{%- set broken = [] -%}

{%- for key in keys -%}
    {%- set columns = [key] if key is string else key -%}
    {%- set named = columns | join(', ') -%}
    {%- set repeated = 'select ' ~ named ~ ' from ' ~ model ~ ' group by ' ~ named ~ ' having count(*) > 1' -%}
    {%- do broken.append([named ~ ' missing', columns | join(' is null or ') ~ ' is null']) -%}
    {%- do broken.append([named ~ ' not unique', '(' ~ named ~ ') in (' ~ repeated ~ ')']) -%}
{%- endfor -%}

{%- for column in required -%}
    {%- do broken.append([column ~ ' missing', column ~ ' is null']) -%}
{%- endfor -%}

{%- for column, values in accepted_values.items() -%}
    {%- do broken.append([column ~ ' not accepted', column ~ " not in ('" ~ values | join("', '") ~ "')"]) -%}
{%- endfor -%}

{%- for rule, condition in broken %}
select
    '{{ rule }}' as broken_rule,
    judged.*
from {{ model }} as judged
where {{ condition }}
{{ 'union all' if references or not loop.last }}
{%- endfor %}

{%- for reference in references %}
{%- set columns = [reference['columns']] if reference['columns'] is string else reference['columns'] -%}
{%- set to_columns = reference.get('to_columns', columns) -%}
{%- set to_columns = [to_columns] if to_columns is string else to_columns -%}
{%- set named = columns | join(', ') %}
select
    '{{ named }} not found' as broken_rule,
    judged.*
from {{ model }} as judged
where ({{ named }}) in (
    {#- Not `except`: it loads all rows of the other model into memory, even if this one has few. #}
    select {% for column in columns %}referring.{{ column }}{{ ', ' if not loop.last }}{% endfor %}
    from {{ model }} as referring
    anti join {{ reference['to'] }} as referred
        on {% for column in columns %}referring.{{ column }} = referred.{{ to_columns[loop.index0] }}{{ ' and ' if not loop.last }}{% endfor %}
    {%- if reference.get('but') %}
    where referring.{{ columns[0] }} not in ('{{ reference['but'] | join("', '") }}')
    {%- endif %}
)
{{ 'union all' if not loop.last }}
{%- endfor %}

{% endtest %}
