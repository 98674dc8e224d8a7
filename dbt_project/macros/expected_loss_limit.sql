{#- A limit of an expected loss at 90%, as loss_interval of assets/model/loss_limits.py. No loss has no upper limit. -#}
{% macro expected_loss_limit(loss, variance, sign) -%}
    case
        when {{ loss }} > 0
            then {{ loss }} * exp({{ sign }}1.6448536269514722 * sqrt(ln(1 + {{ variance }} / ({{ loss }} * {{ loss }}))))
        when {{ "'" ~ sign ~ "'" }} = '-' then {{ loss }}
    end
{%- endmacro %}

{#- What an event that is real with w and then costs m adds to the variance of the expected loss: w m^2 (2 - w). -#}
{% macro loss_variance_of_event(expected_loss, probability) -%}
    {{ expected_loss }} * {{ expected_loss }} / nullif({{ probability }}, 0) * (2 - {{ probability }})
{%- endmacro %}
