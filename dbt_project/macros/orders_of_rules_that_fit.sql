{#-
    Rules of a check that match a text: a list of their orders, with NULL for rules that do not match; NULL for a check
    without rules. Patterns are constants, because DuckDB compiles a pattern from a column for each row
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
