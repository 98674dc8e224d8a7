{#- The rules of the seed `health_check_rules`, as a list of {check_key, rule_order, pattern}. -#}
{% macro check_message_rules() -%}
    {%- set rules = [] -%}
    {%- if execute -%}
        {%- set query = 'select check_key, rule_order, pattern from ' ~ ref('health_check_rules') ~ ' order by 1, 2' -%}
        {%- for row in run_query(query).rows -%}
            {%- do rules.append({'check_key': row[0], 'rule_order': row[1] | int, 'pattern': row[2]}) -%}
        {%- endfor -%}
    {%- endif -%}
    {{ return(rules) }}
{%- endmacro %}
