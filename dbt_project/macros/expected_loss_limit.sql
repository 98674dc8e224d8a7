{#- Limit of an expected loss at 90%, as loss_interval of assets/model/loss_limits.py. Without loss: no upper limit. -#}
{% macro expected_loss_low(loss, variance) -%}
    case
        when {{ loss }} > 0
            then
                {{ loss }} * pow(
                    greatest(
                        0,
                        1 - {{ variance }} / (9 * {{ loss }} * {{ loss }})
                        - 1.6448536269514722 * sqrt({{ variance }}) / (3 * {{ loss }})
                    ),
                    3
                )
        else {{ loss }}
    end
{%- endmacro %}

{% macro expected_loss_high(loss, variance, largest) -%}
    case
        when {{ loss }} > 0
            then
                ({{ loss }} + {{ largest }}) * pow(
                    1 - ({{ variance }} + {{ largest }} * {{ largest }}) / (9 * pow({{ loss }} + {{ largest }}, 2))
                    + 1.6448536269514722 * sqrt({{ variance }} + {{ largest }} * {{ largest }})
                    / (3 * ({{ loss }} + {{ largest }})),
                    3
                )
    end
{%- endmacro %}

{#- Variance that an event of probability w and cost m adds to the expected loss: w m^2 (2 - w). -#}
{% macro loss_variance_of_event(expected_loss, probability) -%}
    {{ expected_loss }} * {{ expected_loss }} / nullif({{ probability }}, 0) * (2 - {{ probability }})
{%- endmacro %}
