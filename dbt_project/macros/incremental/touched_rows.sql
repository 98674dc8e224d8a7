{#- What models read where rows of the last publication stay. dbt's is_incremental() is the decision: the tables of
    incremental models are there only where some rows are to be replaced, see orchestration/dbt/reusable_rows.py. -#}


{#- Records of touched jobs, where other rows stay. -#}
{% macro touched_jobs_only() -%}
    {%- if is_incremental() -%}
        where {{ is_in_lookup(touched_jobs()) }}
    {%- endif -%}
{%- endmacro %}


{#- The same, and records of jobs that are chained or sized otherwise now. -#}
{% macro renewed_jobs_only() -%}
    {%- if is_incremental() -%}
        where {{ is_in_lookup(renewed_jobs()) }}
    {%- endif -%}
{%- endmacro %}


{#- The first and the last day on which a touched job ran, or runs, as constants, at which DuckDB leaves out what it
    need not read; nothing where all rows are built. -#}
{% macro touched_days() -%}
    {%- if is_incremental() -%}
        {%- set found = run_query('select first_day, last_day from touched.days').rows[0] -%}
        {{- return(["date '" ~ found[0] ~ "'", "date '" ~ found[1] ~ "'"]) -}}
    {%- endif -%}
{%- endmacro %}


{#- Whether a record ran on one of those days, where the rows of other days stay. -#}
{% macro is_on_touched_day() -%}
    {%- set days = touched_days() -%}
    {{ 'observed_until_at >= ' ~ days[0] ~ ' and started_at < ' ~ days[1] ~ ' + interval 1 day' if days else 'true' }}
{%- endmacro %}


{#- Those days themselves. -#}
{% macro touched_days_only(days) -%}
    {%- set touched = touched_days() -%}
    {%- if touched -%}
        where {{ days }}.day_date between {{ touched[0] }} and {{ touched[1] }}
    {%- endif -%}
{%- endmacro %}


{#- The first day on which health results are new or gone, or another boot is known, or on which a check first failed
    whose failures are now known to repeat otherwise. Whether a result says something new is told by the one before it,
    the last boot and the silence that ends an episode: what is older stays as it is. Stretches of unchanged results end
    at midnight, and so none goes on into that day. The silences are asked as touched.check_silences is made
    (orchestration/dbt/reusable_rows.py). -#}
{% macro first_touched_day_of_checks(boots) -%}
    {%- set check_silences -%}
        select distinct cluster_id, check_stream, check_first_failed_at, silence_seconds
        from intermediate.int_health_streams
    {%- endset -%}
    select coalesce(date_trunc('day', min(touched_at)), timestamp '9999-12-31')
    from (
        select first_at as touched_at from touched.health_checks
        union all
        select booted_at from (from {{ boots }} except from touched.node_boots)
        union all
        select booted_at from (from touched.node_boots except from {{ boots }})
        union all
        select check_first_failed_at from ({{ check_silences }} except from touched.check_silences)
        union all
        select check_first_failed_at from (from touched.check_silences except {{ check_silences }})
    )
{%- endmacro %}


{#- That day as a constant, at which DuckDB leaves out what it need not read; nothing where all rows are built. -#}
{% macro checks_touched_from(boots) -%}
    {%- if is_incremental() -%}
        timestamp '{{ run_query(first_touched_day_of_checks(boots)).columns[0][0] }}'
    {%- endif -%}
{%- endmacro %}


{#- Whether a result is of that day or later. -#}
{% macro is_touched_check(observed_at, boots) -%}
    {%- set first_day = checks_touched_from(boots) -%}
    {{ observed_at ~ ' >= ' ~ first_day if first_day else 'true' }}
{%- endmacro %}


{#- Has a CTE worked out for each that reads it, of the rows that one reads, where each reads few of them. -#}
{% macro not_materialized_hint() -%}
    {{- 'not materialized' if is_incremental() -}}
{%- endmacro %}


{#- Results that touched ones follow on: those of the week before, and of streams that were silent then, all there are. -#}
{% macro touched_checks_with_previous(heard, boots) -%}
    {%- set first_day = checks_touched_from(boots) -%}
    {%- if first_day -%}
    {%- set week_before = first_day ~ ' - interval 7 day' -%}
    select * from {{ heard }}
    where observed_at >= {{ week_before }}
    union all
    select * from {{ heard }}
    where
        observed_at < {{ week_before }}
        and stream_key in (
            select stream_key from {{ heard }}
            where observed_at >= {{ week_before }}
            group by stream_key
            having min(observed_at) >= {{ first_day }}
        )
    {%- else -%}
    select * from {{ heard }}
    {%- endif -%}
{%- endmacro %}


{#- Changes with their numbers, which go on from those that stay. -#}
{% macro continue_numbering(numbered, changed, boots) -%}
    {%- set first_day = checks_touched_from(boots) -%}
    {%- if first_day -%}
    select
        {{ numbered }}.* replace (
            {{ numbered }}.change_number + coalesce(before.change_number, 0) as change_number,
            {{ numbered }}.episode_number + coalesce(before.episode_number, 0) as episode_number
        )
    from {{ numbered }}
    left join (
        select
            stream_key,
            max(change_number) as change_number,
            max(episode_number) as episode_number
        from {{ changed }}
        where observed_at < {{ first_day }}
        group by all
    ) as before using (stream_key)
    {%- else -%}
    select * from {{ numbered }}
    {%- endif -%}
{%- endmacro %}
