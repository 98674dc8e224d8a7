{#- dbt's own tests, but with all columns of the rows they find: cluster_id says whom a failure concerns. -#}
{% macro default__test_not_null(model, column_name) %}

select *
from {{ model }}
where {{ column_name }} is null

{% endmacro %}

{% macro default__test_unique(model, column_name) %}

select *
from {{ model }}
where {{ column_name }} in (
    select {{ column_name }}
    from {{ model }}
    where {{ column_name }} is not null
    group by {{ column_name }}
    having count(*) > 1
)

{% endmacro %}

{% macro default__test_accepted_values(model, column_name, values, quote=True) %}

select *
from {{ model }}
where {{ column_name }} not in (
    {%- for value in values %}
    {{ "'" ~ value ~ "'" if quote else value }}{{ ',' if not loop.last }}
    {%- endfor %}
)

{% endmacro %}

{% macro default__test_relationships(model, column_name, to, field) %}

select *
from {{ model }}
where
    {{ column_name }} is not null
    and {{ column_name }} not in (select {{ field }} from {{ to }} where {{ field }} is not null)

{% endmacro %}
