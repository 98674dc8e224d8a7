{% macro value(column) %}
    case
        {% for kind, words, pattern, parts, state in wordings %}
        {% if column in parts %}
        when wording = {{ loop.index0 }} then nullif(w{{ loop.index0 }}.{{ column }}, '')
        {% elif column == "state" and state %}
        when wording = {{ loop.index0 }} then {{ state | literal }}
        {% endif %}
        {% endfor %}
    end
{%- endmacro %}
create or replace temp table slurmctld_parsed as
with matched as (
    select
        *,
        -- A pattern can only match its own lines.
        {% for kind, words, pattern, parts, state in wordings %}
        case when wording = {{ loop.index0 }} then regexp_extract(message, {{ pattern | literal }}, {{ parts | list }}) end
            as w{{ loop.index0 }}{{ "," if not loop.last }}
        {% endfor %}
    from slurmctld_lines
    where wording is not null
)
select
    file_id,
    line_number,
    logged_at,
    has_no_year,
    case
        {% for kind, words, pattern, parts, state in wordings %}
        when wording = {{ loop.index0 }} then {{ kind | literal }}
        {% endfor %}
    end as kind,
    try_cast(coalesce({{ value("job") }}, {{ value("job_shown") }}) as bigint) as job_id_raw,
    try_cast(coalesce({{ value("instigator") }}, {{ value("instigator_shown") }}) as bigint) as instigator_job_id_raw,
    try_cast({{ value("instigator_array") }} as bigint) as instigator_array_job_id,
    regexp_replace({{ value("mode") }}, '^cancell?ed$', 'killed') as preempt_mode,
    rtrim({{ value("nodes") }}, ',.') as node_list,
    rtrim({{ value("state") }}, '*') as state,
    {{ value("reason") }} as reason,
    {{ value("version") }} as version,
    message
from matched;

-- Lines with a rule of the site or the weight of an error; a list that cannot be expanded leaves a row without node.
create or replace temp table slurmctld_others as
select
    lines.file_id,
    lines.line_number,
    lines.logged_at,
    lines.has_no_year,
    lines.message,
    lines.rule_pattern,
    nullif(rtrim(regexp_extract(
        lines.message, '(?i)\bnode(?:s|name|list|\(s\))?[=: ]+([a-z][\w.-]*[\d\[][\w.\-\[\],]*)', 1
    ), ',.'), '') as node_list
from slurmctld_lines as lines
inner join batch_files on batch_files.file_id = lines.file_id
where
    lines.wording is null
    and (lines.rule_pattern is not null or (lines.has_weight and lines.message <> ''))
    and not {{ is_implausible }}
