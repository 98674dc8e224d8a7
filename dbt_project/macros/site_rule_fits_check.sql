{#- Whether a site's rule is of a check: by its exact name, or by a pattern. -#}
{% macro site_rule_fits_check(rules, check_key) -%}
    case
            when {{ rules }}.pattern is null then {{ check_key }} = {{ rules }}.check_name
            else {{ site_pattern_matches(check_key, rules ~ '.pattern') }}
        end
{%- endmacro %}
