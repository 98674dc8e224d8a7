{#- Rows of the last publication that stay: those that nothing which is new can have changed. A model that is
    materialized as `kept` (materializations/kept.sql) gives all its rows where keeps_rows() is false, else those to be
    put in the place of others.
    What is touched is found before dbt starts, in the schema `touched`, see orchestration/kept.py. -#}


{#- Says something where the model's table holds the rows of the last publication, and only some are to be replaced. -#}
{% macro keeps_rows() -%}
    {{- adapter.dispatch('keeps_rows', 'faultline')() -}}
{%- endmacro %}

{% macro default__keeps_rows() -%}
{%- endmacro %}

{% macro duckdb__keeps_rows() -%}
    {%- if execute and this and load_cached_relation(this) and adapter.get_relation(target.database, 'touched', 'jobs') -%}
        yes
    {%- endif -%}
{%- endmacro %}


{#- The attempts of touched jobs, as they were and as they are. -#}
{% macro replaced_attempts() -%}
    attempt_id in (select attempt_id from touched.attempts union all select attempt_id from incoming_rows)
{%- endmacro %}


{#- The touched jobs. -#}
{% macro replaced_jobs() -%}
    (cluster_id, job_id_raw) in (select cluster_id, job_id_raw from touched.jobs)
{%- endmacro %}


{#- Records of touched jobs, where other rows are kept. -#}
{% macro touched_jobs_only() -%}
    {%- if keeps_rows() -%}
        where {{ replaced_jobs() }}
    {%- endif -%}
{%- endmacro %}


{#- The same, and records of jobs that what is new chains or blames otherwise, though their own are as they were. -#}
{% macro renewed_jobs_only(chained_jobs, failures) -%}
    {%- if keeps_rows() -%}
        {%- set blamed = 'select cluster_id, attempt_id, failure_category, incident_id from ' ~ failures -%}
        where (cluster_id, job_id_raw) in (
            select cluster_id, job_id_raw from touched.jobs
            union all
            select cluster_id, {{ job_id_of_attempt('cluster_id', 'job_key') }}
            from (
                (from {{ chained_jobs }} except from touched.jobs_chained)
                union all
                (from touched.jobs_chained except from {{ chained_jobs }})
            )
            union all
            select cluster_id, {{ job_id_of_attempt('cluster_id', 'attempt_id') }}
            from (
                ({{ blamed }} except from touched.failures)
                union all
                (from touched.failures except {{ blamed }})
            )
        )
    {%- endif -%}
{%- endmacro %}


{#- All rows of the days of a cluster on which a touched job ran, or runs. -#}
{% macro replaced_days(table) -%}
    exists (
        from touched.days
        where
            days.cluster_id = {{ table }}.cluster_id
            and {{ table }}.day_date between days.first_day and days.last_day
    )
{%- endmacro %}


{#- Whether a record ran on one of those days, where the rows of other days are kept. -#}
{% macro is_on_touched_day(records) -%}
    {%- if keeps_rows() -%}
        exists (
            from touched.days
            where
                days.cluster_id = {{ records }}.cluster_id
                and {{ records }}.ended_at >= days.first_day
                and {{ records }}.started_at < days.last_day + interval 1 day
        )
    {%- else -%}
        true
    {%- endif -%}
{%- endmacro %}


{#- Those days themselves. -#}
{% macro touched_days_only(clusters, days) -%}
    {%- if keeps_rows() -%}
        where exists (
            from touched.days as touched_days
            where
                touched_days.cluster_id = {{ clusters }}.cluster_id
                and {{ days }}.day_date between touched_days.first_day and touched_days.last_day
        )
    {%- endif -%}
{%- endmacro %}
