{#-
    Which rules of a check fit a text: their orders, as a list with NULL for those that do not; NULL for a check without
    rules. The patterns are constants, because DuckDB compiles a pattern that comes out of a column for each row
    (docs/decisions.md).
-#}
{% macro orders_of_rules_that_fit(check_key, text) -%}
    case
        {%- for key, rules in check_message_rules() | groupby('check_key') %}
        {%- set orders = [] %}
        {%- for rule in rules %}
        {%- do orders.append(
            'case when ' ~ regex_matches(text, regex_literal(rule.pattern)) ~ ' then ' ~ rule.rule_order ~ ' end'
        ) %}
        {%- endfor %}
        when {{ check_key }} = '{{ key }}' then {{ list_literal(orders) }}
        {%- endfor %}
        when false then {{ empty_integer_list() }}
    end
{%- endmacro %}
