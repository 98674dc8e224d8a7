{#- Whether a site's rule applies to a check: by exact name or by pattern. -#}
{% macro site_rule_fits_check(rules, check_key) -%}
    case
            when {{ rules }}.pattern is null then {{ check_key }} = {{ rules }}.check_name
            else {{ site_pattern_matches(check_key, rules ~ '.pattern') }}
        end
{%- endmacro %}
