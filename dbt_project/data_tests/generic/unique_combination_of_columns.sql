{#- A key of several columns: no two rows share all of them, and none of them is missing. -#}
{% test unique_combination_of_columns(model, columns) %}

select
    {% for column in columns -%}
    {{ column }},
    {% endfor -%}
    count(*) as row_count
from {{ model }}
group by {{ columns | join(', ') }}
having
    count(*) > 1
    {%- for column in columns %}
    or count({{ column }}) < count(*)
    {%- endfor %}

{% endtest %}
