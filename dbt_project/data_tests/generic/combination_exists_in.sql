{#- A reference of several columns: every combination here stands there. A row with a missing part refers to nothing. -#}
{% test combination_exists_in(model, columns, to, to_columns=none) %}

with

referring as (

    select distinct
        {{ columns | join(',\n        ') }}
    from {{ model }}
    where
        {{ columns | join(' is not null\n        and ') }} is not null

)

select referring.*
from referring
left join {{ to }} as referred
    on
        {% for column in columns -%}
        {% if not loop.first %}and {% endif -%}
        referring.{{ column }} = referred.{{ (to_columns or columns)[loop.index0] }}
        {% endfor -%}
where referred.{{ (to_columns or columns)[0] }} is null

{% endtest %}
