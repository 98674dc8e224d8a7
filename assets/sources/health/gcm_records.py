"""GCM's health-check records as SQL, a line each: the file sink's envelope, flat objects, and arrays.

Every shape becomes one struct with the nested and the flat places of each field; the first that is filled counts.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import duckdb

from assets.sources.reader import Step
from assets.sources.text import times

_OF_DIALECT = "batch_files.dialect not in ('gcm_document', 'nhc')"
"""Lines of all other files are records of GCM, or translated into such."""
_FIELDS = ("node", "health_check", "type", "_msg", "result", "job_id", "start_time", "end_time")
_TEXTS = dict.fromkeys((*_FIELDS, "time"), "VARCHAR")
STRUCTURE = json.dumps(
    {
        "int": {"result": "VARCHAR", "job_id": "VARCHAR", "time": "VARCHAR"},
        "double": {"start_time": "VARCHAR", "end_time": "VARCHAR", "time": "VARCHAR"},
        "normal": {"node": "VARCHAR", "health_check": "VARCHAR", "type": "VARCHAR", "_msg": "VARCHAR"},
        **_TEXTS,
    }
)
# A command that failed says nothing about the node; neither does a check switched off.
_COULD_NOT_RUN = "FAILED to execute|Command timeout|Exception|Invalid .*output|rpm command failed"

# Millions of rows of these are held while stretches are found: a value takes one byte instead of sixteen.
_RESULT = "enum('OK', 'WARN', 'CRITICAL', 'UNKNOWN')"
_QUALITY = "enum('ran', 'disabled', 'could_not_run')"
_TYPE = "enum('periodic', 'prolog', 'epilog', 'app', 'manual', 'event')"


def _first(*places: str) -> str:
    return f"coalesce({', '.join('r.' + place for place in places)})"


def _moment(text: str) -> str:
    """Return SQL for epoch seconds, milliseconds, micro- or nanoseconds, or ISO 8601 with offset, as UTC."""
    number = f"try_cast({text} as double)"
    scale = (
        f"case when {number} < 1e11 then 1e6 when {number} < 1e14 then 1e3 when {number} < 1e17 then 1 else 1e-3 end"
    )
    return (
        f"case when {number} between 1e8 and 1e20 then make_timestamp(({number} * {scale})::bigint) "
        f"when {times.has_offset(text)} then try_cast({text} as timestamptz)::timestamp end"
    )


def typed(fields: str, keys: str, moment: Callable[[str], str]) -> str:
    """Return the query that types the fields of records and says what is wrong with them.

    Parameters
    ----------
    fields
        Gives the keys, node, health_check, type, code, job_id and message as text, and start_time and end_time.
    keys
        Columns that tell the records apart.
    moment
        Gives SQL for a moment of UTC, made of the name of a time.
    """
    return f"""
select
    *,
    case
        when contains(message, 'is disabled by killswitch.') then 'disabled'::{_QUALITY}
        when result = 'UNKNOWN'::{_RESULT} then 'could_not_run'::{_QUALITY}
        when result = 'WARN'::{_RESULT} and regexp_matches(message, '{_COULD_NOT_RUN}')
            then 'could_not_run'::{_QUALITY}
        else 'ran'::{_QUALITY}
    end as result_quality,
    case
        when check_name is null or result is null then 'unsupported_schema'
        when node_name is null or observed_at is null then 'missing_time_or_node'
    end as problem
from (
    select
        {keys},
        -- `trim` looks up what every character is; these two tests take a quarter of its time
        nullif(if(contains(node, ' ') or strlen(node) <> length(node), trim(node), node), '') as node_name,
        nullif(health_check, '') as check_name,
        -- what nearly all say is tested as it is: lower and upper case are made of the rest only
        case
            when "type" = 'nagios' or lower("type") in ('nagios', 'periodic') then 'periodic'::{_TYPE}
            when lower("type") in ('prolog', 'epilog', 'app', 'manual', 'event') then lower("type")::{_TYPE}
        end as check_type,
        code,
        case
            when code = '0' then 'OK'::{_RESULT}
            when code = '2' then 'CRITICAL'::{_RESULT}
            when code = '1' then 'WARN'::{_RESULT}
            when upper(code) in ('0.0', 'OK') then 'OK'::{_RESULT}
            when upper(code) in ('1.0', 'WARN', 'WARNING') then 'WARN'::{_RESULT}
            when upper(code) in ('2.0', 'CRITICAL') then 'CRITICAL'::{_RESULT}
            when upper(code) in ('3', '3.0', 'UNKNOWN') then 'UNKNOWN'::{_RESULT}
        end as result,
        {moment("start_time")} as started_at,
        {moment("end_time")} as observed_at,
        -- digits are looked for, as a cast reads `25_4` as 254
        case
            when job_id <> '0'
                then nullif(try_cast(nullif(regexp_extract(job_id, '^(\\d+)(?:\\.0)?$', 1), '') as bigint), 0)
        end as job_id_raw,
        message
    from ({fields})
)"""


def results(records: str, stand_alone: bool = False) -> str:
    """Return the query that reads records (file_id, line_number, r) as results.

    Each record that stands alone has a line of its own.
    """
    fields = f"""
    select
        file_id,
        line_number,
        {_first("normal.node", "node")} as node,
        {_first("normal.health_check", "health_check")} as health_check,
        {_first('normal."type"', '"type"')} as "type",
        {_first('"int".result', "result")} as code,
        {_first('"int".job_id', "job_id")} as job_id,
        {_first('"double".start_time', "start_time")} as start_time,
        {
        _first(
            '"double".end_time',
            "end_time",
            '"double".start_time',
            "start_time",
            '"int".time',
            '"double".time',
            '"time"',
        )
    } as end_time,
        {_first("normal._msg", "_msg")} as message
    from ({records})"""
    return f"""
select
    * exclude (code),
    {xid_codes("message")} as xid_codes,
    {stand_alone} as stands_alone,
    case
        when check_name is null then 'no health_check'
        when result is null then 'result is ' || coalesce(upper(code), 'missing')
        when node_name is null then 'no node'
        when observed_at is null then 'no end_time, start_time or time'
    end as problem_detail
from ({typed(fields, "file_id, line_number", _moment)})"""


def insertion(records: str, stand_alone: bool = False) -> str:
    """Return the statement that puts records (file_id, line_number, r) into `health_results`."""
    return f"insert into health_results by name{results(records, stand_alone)}"


def xid_codes(message: str) -> str:
    """Return SQL for the XIDs of a message, critical ones first, each once; 0 says that there is none."""
    marked = f"replace({message}, 'non-critical XID error: ', 'non-critical: ')"
    critical = f"regexp_extract_all({marked}, 'XID error: (\\d+)', 1)"
    harmless = f"regexp_extract_all({marked}, 'non-critical: (\\d+)', 1)"
    return f"case when contains({message}, 'XID error: ') then {numbers_once(f'{critical} || {harmless}')} else [] end"


def numbers_once(texts: str) -> str:
    """Return SQL for the numbers in a list of texts, each once and in their order; 0 is left out."""
    first = f"list_filter({texts}, lambda text, place: list_position({texts}, text) = place)"
    return f"list_filter(list_transform({first}, lambda text: try_cast(text as integer)), lambda number: number > 0)"


# The result line of nagios-type checks, GCM's own log and the tails of messages with line breaks; what still
# looks like a piece of a record is a broken record.
_OTHER_LINES = rf"""
insert into health_results by name
select
    lines.file_id,
    lines.line_number,
    case when not broken then 'text_line' end as skip_reason,
    case when broken then 'bad_json' end as problem,
    case when broken then 'not a complete JSON object or array' end as problem_detail
from (
    select
        lines.file_id,
        lines.line_number,
        (line[1] in ('{{', '[') and not regexp_matches(line, '^\[\d{{4}}-\d\d-\d\d '))
            or regexp_matches(line, '"(health_check|_msg|end_time|derived_cluster)"') as broken
    from lines
    join batch_files on batch_files.file_id = lines.file_id and {_OF_DIALECT}
    where line is not null and not coalesce(line[1] in ('{{', '[') and json_valid(line), false)
) as lines"""

# An array of no records has nothing to load.
_EMPTY_ARRAYS = f"""
insert into health_results by name
select lines.file_id, lines.line_number, 'no_records' as skip_reason
from lines
join batch_files on batch_files.file_id = lines.file_id and {_OF_DIALECT}
where line[1] = '[' and json_valid(line) and json_array_length(line) = 0"""


def _other_steps(elements: str) -> Step:
    """Return the step that reads the lines which are no object; clean logs have none, and are not looked at again."""

    def read_others(con: duckdb.DuckDBPyConnection) -> None:
        ((missing,),) = con.execute(
            f"""
            select
                (
                    select count(*) from lines inner join batch_files using (file_id)
                    where {_OF_DIALECT} and line is not null
                )
                - (select count(*) from health_results)
            """
        ).fetchall()
        if missing:
            for statement in (insertion(elements), _EMPTY_ARRAYS, _OTHER_LINES):
                con.execute(statement)

    return read_others


def result_steps() -> list[Step]:
    """Return the statements that fill `health_results` from files whose lines are records."""
    of_dialect = f"join batch_files on batch_files.file_id = lines.file_id and {_OF_DIALECT}"
    objects = f"""
    select lines.file_id, lines.line_number, json_transform(line, '{STRUCTURE}') as r
    from lines {of_dialect}
    where case when line[1] = '{{' then json_valid(line) else false end"""
    elements = f"""
    select lines.file_id, lines.line_number, unnest(from_json(line, '[{STRUCTURE}]')) as r
    from lines {of_dialect}
    where case when line[1] = '[' then json_valid(line) else false end"""
    return [insertion(objects, stand_alone=True), _other_steps(elements)]
