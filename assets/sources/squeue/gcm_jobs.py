"""Jobs as GCM's `slurm_job_monitor` records them: the file sink's envelope, flat objects, arrays of these on a line.

A job's excluded nodes are `EXC_NODES`, a list that is left out when it is empty. Records of nodes, which the same
command writes, have no `JOBID`.
"""

from __future__ import annotations

import re

MAX_SECONDS = 10**10
"""Since 1970: what is later cannot be added to."""

_OF_JOB = re.compile(r'"JOBID(?:_RAW)?":|"NODE_NAME":')


def is_of_the_monitor(sample: str) -> bool:
    """Tell whether the first lines are records of jobs or of nodes.

    >>> is_of_the_monitor('{"int": {}, "normal": {"JOBID": "7"}, "tags": {"EXC_NODES": ["n1"]}}')
    True
    """
    return sample.lstrip().startswith(("{", "[")) and _OF_JOB.search(sample) is not None


def _text(*names: str) -> str:
    """Return SQL for the first of some fields that is there, in the envelope's parts or flat."""
    places = [f"'$.{part}{name}'" for name in names for part in ("normal.", "int.", "")]
    return f"coalesce({', '.join(f'record ->> {place}' for place in places)})"


# Digits are looked for, as a cast reads `25_4` as 254. An id of an array's waiting tasks is that of the whole array.
ROW_STEPS = (
    """
create or replace temp table gcm_job_lines as
select lines.file_id, lines.line_number, line, json_valid(line) as is_json
from lines
join batch_files on batch_files.file_id = lines.file_id and batch_files.dialect = 'gcm_jobs'
where line is not null""",
    f"""
insert into squeue_rows by name
with records as (
    select file_id, line_number, unnest(from_json(line, '["JSON"]')) as record
    from gcm_job_lines
    where is_json and json_type(line) = 'ARRAY'
    union all
    select file_id, line_number, line::json as record
    from gcm_job_lines
    where is_json and json_type(line) = 'OBJECT'
),
listed as (
    select *, coalesce(record -> '$.tags.EXC_NODES', record -> '$.EXC_NODES') as listed from records
),
excluding as (
    select
        *,
        list_filter(
            -- a condition behind `where` does not keep the cast from values that are no array
            case when json_type(listed) = 'ARRAY' then listed::varchar[] else [listed ->> '$'] end,
            lambda name: lower(name) not in ('', '(null)', 'n/a', 'none')
        ) as excluded
    from listed
)
select
    file_id,
    line_number,
    false as is_cut,
    try_cast(nullif(regexp_extract({_text("JOBID_RAW", "JOBID")}, '^ *(\\d+)', 1), '') as bigint) as job_id_raw,
    array_to_string(excluded, ',') as node_list,
    case
        when try_cast({_text("collection_unixtime")} as bigint) between 0 and {MAX_SECONDS}
            then make_timestamp(({_text("collection_unixtime")})::bigint * 1000000)
    end as collected_at
from excluding
where len(excluded) > 0
union all
select file_id, line_number, true, null, null, null from gcm_job_lines where not is_json""",
)
"""Add to `squeue_rows` the jobs that exclude nodes, and the lines that are no JSON."""
