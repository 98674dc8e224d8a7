"""Stretches of a day in which a check kept saying the same of a node: their first and last result stand for all.

Sites that keep every result of every check have billions of rows that say nothing new. What they tell is that the
node was being checked, so a stretch is cut short only where a result came in every quarter of an hour: then its two
ends and `unchanged_since` hold all that onsets and coverage need.
"""

from __future__ import annotations

SUBJECTS = ("service status", "mounted directory", "disk usage", "running process", "check module", "check ssh")
"""Checks whose good results name what was looked at: a good result says no more than its message."""

QUARTER_HOURS = 48
"""As many as half a day has: a bit each in two numbers."""

_NAMED = ", ".join(f"'{name}'" for name in SUBJECTS)
_SPEAKS = f"result <> 'OK' or lower(trim(check_name)) in ({_NAMED})"
_SAYS = f"hash(result, result_quality, case when {_SPEAKS} then message end, case when {_SPEAKS} then check_type end)"
_QUARTER = "(date_part('hour', observed_at) * 4 + date_part('minute', observed_at) // 15)"


def _quarters(half: int) -> str:
    """Give SQL for the quarters of an hour of half a day in which a result came, as bits."""
    place = f"({_QUARTER} - {half * QUARTER_HOURS})"
    return f"bit_or(case when {place} between 0 and {QUARTER_HOURS - 1} then 1::bigint << {place} else 0::bigint end)"


_IS_RESULT = "stands_alone and skip_reason is null and problem is null"

DAYS_OF_RECORDS = f"""
create or replace temp table health_record_days as
select
    record,
    observed_at::date as day_date,
    count(*) as result_count,
    min(observed_at) as first_at,
    max(observed_at) as last_at,
    {_quarters(0)} as first_half,
    {_quarters(1)} as second_half
from health_entries
group by all"""

# Node Health Check scripts report failures under other names than successes, so theirs are left alone; a line with
# several results has one outcome, so those are left alone as well.
STRETCHES = f"""
create or replace temp table health_stretches as
with told as (
    select
        file_id, node_name, check_name, observed_at::date as day_date, {_SAYS} as says,
        count(*) as result_count,
        min(observed_at) as first_at,
        max(observed_at) as last_at,
        {_quarters(0)} as first_half,
        {_quarters(1)} as second_half
    from health_results
    where {_IS_RESULT}
    group by all
    union all
    select
        file_id, node_name, check_name, day_date, {_SAYS} as says,
        result_count, first_at, last_at, first_half, second_half
    from health_record_days inner join health_records using (record)
),
days as (
    select
        file_id, node_name, check_name, day_date,
        min(first_at) as first_at,
        max(last_at) as last_at,
        bit_or(first_half) as first_half,
        bit_or(second_half) as second_half
    from told
    where not starts_with(lower(check_name), 'check_')
    group by all
    having sum(result_count) > 2 and min(says) = max(says)
)
select * exclude (first_half, second_half) from days
where bit_count(first_half) + bit_count(second_half)
    = {_QUARTER.replace("observed_at", "last_at")} - {_QUARTER.replace("observed_at", "first_at")} + 1"""

_OF_STRETCH = """inner join health_stretches as stretches
    on stretches.file_id = results.file_id and stretches.node_name = results.node_name
        and stretches.check_name = results.check_name"""

STRETCHES_OF_RECORDS = f"""
create or replace temp table health_record_stretches as
select results.record, results.file_id, stretches.day_date, stretches.first_at, stretches.last_at
from health_records as results
{_OF_STRETCH}"""

UNCHANGED = f"""
create or replace temp table health_unchanged as
select results.file_id, results.line_number
from health_results as results
{_OF_STRETCH} and stretches.day_date = results.observed_at::date
where {_IS_RESULT} and results.observed_at > stretches.first_at and results.observed_at < stretches.last_at"""

STEPS = (DAYS_OF_RECORDS, STRETCHES, STRETCHES_OF_RECORDS, UNCHANGED)
