{#- Lookups that models declare for the strategy `replace_by_key`: the rows that something new can have changed. The tables
    of schema `touched` are made before dbt starts, by orchestration/dbt/reusable_rows.py. -#}


{#- The jobs whose records are new, changed or gone. -#}
{% macro touched_jobs() -%}
    {{ return({
        'columns': ['cluster_id', 'job_id_raw'],
        'in': 'select cluster_id, job_id_raw from touched.jobs',
    }) }}
{%- endmacro %}


{#- The attempts of these jobs, as they were. -#}
{% macro touched_attempts() -%}
    {{ return({'columns': ['attempt_id'], 'in': 'select attempt_id from touched.attempts'}) }}
{%- endmacro %}


{#- The runs that these attempts belonged to, and those that are chained otherwise now. -#}
{% macro touched_runs() -%}
    {{ return({'columns': ['run_id'], 'in': touched_run_ids('intermediate.int_jobs_chained')}) }}
{%- endmacro %}


{#- The days on which one of these jobs ran, or runs. -#}
{% macro days_of_touched_jobs() -%}
    {{ return({
        'columns': ['day_date'],
        'from': 'select first_day from touched.days',
        'to': 'select last_day from touched.days',
    }) }}
{%- endmacro %}


{#- The moments from which on results of checks are followed anew. -#}
{% macro touched_checks(boots) -%}
    {{ return({'columns': ['observed_at'], 'from': first_touched_day_of_checks(boots)}) }}
{%- endmacro %}
