{# One struct holds the nested and the flat places of each field of GCM's records; the first filled place counts. #}
{% set structure -%}
{"int": {"result": "VARCHAR", "job_id": "VARCHAR", "time": "VARCHAR"},
"double": {"start_time": "VARCHAR", "end_time": "VARCHAR", "time": "VARCHAR"},
"normal": {"node": "VARCHAR", "health_check": "VARCHAR", "type": "VARCHAR", "_msg": "VARCHAR"},
"node": "VARCHAR", "health_check": "VARCHAR", "type": "VARCHAR", "_msg": "VARCHAR", "result": "VARCHAR",
"job_id": "VARCHAR", "start_time": "VARCHAR", "end_time": "VARCHAR", "time": "VARCHAR"}
{%- endset %}

{# Files with lines that are GCM's records, or were translated into them. #}
{% set are_gcm_lines = "batch_files.dialect not in ('gcm_document', 'nhc')" %}
{% set in_gcm_files = "inner join batch_files on batch_files.file_id = lines.file_id and " ~ are_gcm_lines %}

{# Type the fields of records, and name their problems. The caller gives the keys, node, health_check, type, code,
job_id and message as text, and the expressions of `started_at` and `observed_at`.
Millions of rows are held to find unchanged results: an enumeration takes one byte, a text sixteen. #}
{% macro typed(keys, started_at, observed_at) -%}
{% set result_type = "enum('OK', 'WARN', 'CRITICAL', 'UNKNOWN')" -%}
{% set quality_type = "enum('ran', 'disabled', 'could_not_run')" -%}
{% set check_type = "enum('periodic', 'prolog', 'epilog', 'app', 'manual', 'event')" -%}
select
    *,
    case
        when contains(message, 'is disabled by killswitch.') then 'disabled'::{{ quality_type }}
        when result = 'UNKNOWN'::{{ result_type }} then 'could_not_run'::{{ quality_type }}
        -- a command that failed says nothing about the node
        when result = 'WARN'::{{ result_type }}
            and regexp_matches(
                message, 'FAILED to execute|Command timeout|Exception|Invalid .*output|rpm command failed'
            )
            then 'could_not_run'::{{ quality_type }}
        else 'ran'::{{ quality_type }}
    end as result_quality,
    case
        when check_name is null or result is null then 'unsupported_schema'
        when node_name is null or observed_at is null then 'missing_time_or_node'
    end as problem
from (
    select
        {{ keys }},
        -- `trim` classifies every character; these two tests take a quarter of its time
        nullif(if(contains(node, ' ') or strlen(node) <> length(node), trim(node), node), '') as node_name,
        nullif(health_check, '') as check_name,
        -- common spellings are compared first; only the others are converted to lower or upper case
        case
            when "type" = 'nagios' or lower("type") in ('nagios', 'periodic') then 'periodic'::{{ check_type }}
            when lower("type") in ('prolog', 'epilog', 'app', 'manual', 'event') then lower("type")::{{ check_type }}
        end as check_type,
        code,
        case
            when code = '0' then 'OK'::{{ result_type }}
            when code = '2' then 'CRITICAL'::{{ result_type }}
            when code = '1' then 'WARN'::{{ result_type }}
            when upper(code) in ('0.0', 'OK') then 'OK'::{{ result_type }}
            when upper(code) in ('1.0', 'WARN', 'WARNING') then 'WARN'::{{ result_type }}
            when upper(code) in ('2.0', 'CRITICAL') then 'CRITICAL'::{{ result_type }}
            when upper(code) in ('3', '3.0', 'UNKNOWN') then 'UNKNOWN'::{{ result_type }}
        end as result,
        {{ started_at }} as started_at,
        {{ observed_at }} as observed_at,
        -- require digits, as a cast reads `25_4` as 254
        case
            when job_id <> '0'
                then nullif(try_cast(nullif(regexp_extract(job_id, '^(\d+)(?:\.0)?$', 1), '') as bigint), 0)
        end as job_id_raw,
        message
    from ({{ caller() }})
)
{%- endmacro %}

{# Epoch seconds, milliseconds, micro- or nanoseconds, or ISO 8601 with an offset, as UTC. #}
{% macro moment(text, has_offset) -%}
{% set number = "try_cast(" ~ text ~ " as double)" -%}
case
    when {{ number }} between 1e8 and 1e20 then make_timestamp(({{ number }} * case
        when {{ number }} < 1e11 then 1e6 when {{ number }} < 1e14 then 1e3 when {{ number }} < 1e17 then 1 else 1e-3
    end)::bigint)
    when {{ has_offset }} then try_cast({{ text }} as timestamptz)::timestamp
end
{%- endmacro %}

{# Insert records, which the caller gives as file_id, line_number and r, into `health_results`. A record that stands
alone has its own line. #}
{% macro insert_records(stands_alone, start_has_offset, end_has_offset, xid_codes) -%}
{% set records = caller() -%}
insert into health_results by name
select
    * exclude (code),
    {{ xid_codes }} as xid_codes,
    {{ stands_alone }} as stands_alone,
    case
        when check_name is null then 'no health_check'
        when result is null then 'result is ' || coalesce(upper(code), 'missing')
        when node_name is null then 'no node'
        when observed_at is null then 'no end_time, start_time or time'
    end as problem_detail
from (
{% call typed(
    "file_id, line_number", moment("start_time", start_has_offset), moment("end_time", end_has_offset)
) %}
    select
        file_id,
        line_number,
        coalesce(r.normal.node, r.node) as node,
        coalesce(r.normal.health_check, r.health_check) as health_check,
        coalesce(r.normal."type", r."type") as "type",
        coalesce(r."int".result, r.result) as code,
        coalesce(r."int".job_id, r.job_id) as job_id,
        coalesce(r."double".start_time, r.start_time) as start_time,
        coalesce(
            r."double".end_time, r.end_time, r."double".start_time, r.start_time, r."int".time, r."double".time,
            r."time"
        ) as end_time,
        coalesce(r.normal._msg, r._msg) as message
    from ({{ records }})
{% endcall %}
)
{%- endmacro %}

{# The days on which all results of a check on a node say the same, with one in every quarter of an hour. Results
of Node Health Check, which names failures and successes differently, are never folded, nor are results about moments.
`counts_each` is true for a check if each of its bad results counts. #}
{% macro unchanged_days(file, subjects, counts_each) -%}
{% set quarter = "(epoch_us(MOMENT) // 900000000 % 96)" -%}
{% set one_verdict = "hash(result, result_quality)" -%}
{% set one_text = "hash(message, check_type)" -%}
select
    {{ file }}, node_name, check_name, observed_at::date as day_date,
    min(observed_at) as first_at,
    max(observed_at) as last_at
from (select *, {{ quarter | replace("MOMENT", "observed_at") }} as quarter from {{ caller() }})
group by {{ file }}, node_name, check_name, day_date
having count(*) > 2
    and min({{ one_verdict }}) = max({{ one_verdict }})
    and (
        (
            any_value(result) = 'OK'
            and lower(trim(check_name)) not in (
                {% for subject in subjects %}{{ subject | literal }}{{ ", " if not loop.last }}{% endfor %}
            )
        )
        or min({{ one_text }}) = max({{ one_text }})
    )
    -- a condition on an aggregate is tested per group; DuckDB would test one on the key per result
    and any_value(check_type) is distinct from 'event'
    and not starts_with(lower(any_value(check_name)), 'check_')
    and not (any_value(result) <> 'OK' and ({{ counts_each }}))
    -- 48 bits for each half of a day say in which quarters of an hour there was a result
    and {% for first in (0, 48) -%}
    bit_count(bit_or(
        case
            when (quarter - {{ first }}) between 0 and 47 then 1::bigint << (quarter - {{ first }})
            else 0::bigint
        end
    )) {{ "+ " if not loop.last }}
    {%- endfor %}
    = {{ quarter | replace("MOMENT", "max(observed_at)") }} - {{ quarter | replace("MOMENT", "min(observed_at)") }} + 1
{%- endmacro %}

{# Join results of a file with its unchanged days. #}
{% set is_of_day = "days.node_name = results.node_name and days.check_name = results.check_name
    and days.day_date = results.observed_at::date" %}
{% set is_inside_day = "results.observed_at > days.first_at and results.observed_at < days.last_at" %}
