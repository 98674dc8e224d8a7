{#- Ranks of evidence: 1 is the strongest. -#}
{% macro evidence_rank(evidence_class) -%}
    case {{ evidence_class }} when 'A' then 1 when 'B' then 2 else 3 end
{%- endmacro %}


{% macro severity_rank(severity) -%}
    case {{ severity }} when 'high' then 1 when 'low' then 2 else 3 end
{%- endmacro %}


{#- Lower a class to supporting evidence. A class is never raised. -#}
{% macro cap_at_supporting(evidence_class) -%}
    case {{ evidence_class }} when 'A' then 'B' else {{ evidence_class }} end
{%- endmacro %}
