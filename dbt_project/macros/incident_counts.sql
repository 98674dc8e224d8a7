{#- Expected failures and incidents, with their variances, by any columns. `failures` has a row per failure, with
    `incident_id` and `failure_probability`. An incident of probability w with E expected failures has m = E / w
    failures or none: it adds w m^2 (2 - w) to the variance of failures, and w (2 - w) to that of incidents. An incident
    of probability 0 adds nothing. -#}
{% macro incident_counts(failures, columns) -%}
    select
        {{ columns | join(', ') }},
        {{ exact_sum('expected_count', 15) }} as failure_count,
        {{ exact_sum('coalesce(' ~ incident_variance('expected_count', 'incident_probability') ~ ', 0)', 15) }}
            as failure_variance,
        {{ exact_sum('incident_probability', 15) }} as incident_count,
        {{ exact_sum('incident_probability * (2 - incident_probability)', 15) }} as incident_variance
    from (
        select
            {{ columns | join(', ') }},
            incident_id,
            max(failure_probability) as incident_probability,
            {{ exact_sum('failure_probability', 15) }} as expected_count
        from {{ failures }}
        group by {{ columns | join(', ') }}, incident_id
    ) as incidents
    group by {{ columns | join(', ') }}
{%- endmacro %}


{#- Variance that an incident adds to a sum in which it has an expected part. -#}
{% macro incident_variance(expected, probability) -%}
    {{ expected }} * {{ expected }} / nullif({{ probability }}, 0) * (2 - {{ probability }})
{%- endmacro %}


{#- Variance of the expected failures over the draws of the posterior's parameters, by any columns. -#}
{% macro parameter_variances(failures, columns) -%}
    select
        {{ columns | join(', ') }},
        greatest(
            sum(expected_count * expected_count order by draw) / count(*)
            - power(sum(expected_count order by draw) / count(*), 2),
            0
        ) as variance
    from (
        select
            {% for column in columns %}failures.{{ column }}, {% endfor %}draws.draw,
            {{ exact_sum('draws.probability', 15) }} as expected_count
        from {{ failures }} as failures
        inner join {{ ref('int_failure_draws') }} as draws using (cluster_id, attempt_id)
        group by {% for column in columns %}failures.{{ column }}, {% endfor %}draws.draw
    ) as draw_counts
    group by {{ columns | join(', ') }}
{%- endmacro %}
