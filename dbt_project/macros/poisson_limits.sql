{#-
    90% limits of a Poisson mean for counts beyond the seed's last (1,000), after Wilson and Hilferty: a chi-square
    quantile with n degrees of freedom is close to n (1 - 2/(9n) + z sqrt(2/(9n)))^3, z = 1.6448536269514722.
    Relative error of the limits below 2e-7 from 1,000 on.
-#}
{% macro poisson_limit_low(event_count) -%}
    {{ event_count }} * pow(1 - 1 / (9e0 * {{ event_count }}) - 1.6448536269514722 / sqrt(9e0 * {{ event_count }}), 3)
{%- endmacro %}


{% macro poisson_limit_high(event_count) -%}
    ({{ event_count }} + 1)
    * pow(1 - 1 / (9e0 * ({{ event_count }} + 1)) + 1.6448536269514722 / sqrt(9e0 * ({{ event_count }} + 1)), 3)
{%- endmacro %}
