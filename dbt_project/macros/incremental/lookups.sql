{#- Lookups that models declare for the strategy `replace_by_key`: the rows that something new can have changed. The tables
    of schema `touched` are made before dbt starts, by orchestration/dbt/reusable_rows.py. -#}


{#- The jobs whose records are new, changed or gone. -#}
{% macro touched_jobs() -%}
    {{ return({
        'columns': ['cluster_id', 'job_id_raw'],
        'in': 'select cluster_id, job_id_raw from touched.jobs',
    }) }}
{%- endmacro %}


{#- These, and jobs with unchanged records whose chain or size changed. -#}
{% macro renewed_jobs() -%}
    {%- set job_ids = [
        ('intermediate.int_jobs_chained', 'touched.jobs_chained', 'job_key'),
        ('intermediate.int_het_jobs_sized', 'touched.het_jobs_sized', 'attempt_id'),
    ] -%}
    {%- set query -%}
        select cluster_id, job_id_raw from touched.jobs
        {%- for now, before, attempt_id in job_ids %}
        union all
        select cluster_id, {{ job_id_of_attempt('cluster_id', attempt_id) }}
        from ((from {{ now }} except from {{ before }}) union all (from {{ before }} except from {{ now }}))
        {%- endfor %}
    {%- endset -%}
    {{ return({'columns': ['cluster_id', 'job_id_raw'], 'in': query}) }}
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
