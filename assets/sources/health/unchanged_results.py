"""Unchanged results of a check on a node within a day: only the first and the last of them are kept.

Sites that keep every result of every check have billions of rows that say nothing new. What they tell is that the
node was being checked, so a stretch is cut short only where a result came in every quarter of an hour: then its two
ends and `unchanged_since` hold all that onsets and coverage need.
"""

from __future__ import annotations

from collections.abc import Sequence

from assets.sources.text.check_subjects import SUBJECTS
from assets.sql import literal

QUARTER_HOURS = 48
"""Quarters of an hour in half a day: two integers hold a bit for each quarter of a day."""

_NAMED = ", ".join(f"'{name}'" for name in SUBJECTS)
_QUARTER = f"(epoch_us({{moment}}) // 900000000 % {2 * QUARTER_HOURS})"


def _quarters(half: int) -> str:
    """Return SQL for the number of quarters of an hour of half a day in which a result came, kept as bits."""
    place = f"(quarter - {half * QUARTER_HOURS})"
    return (
        "bit_count(bit_or("
        f"case when {place} between 0 and {QUARTER_HOURS - 1} then 1::bigint << {place} else 0::bigint end))"
    )


def stretches(results: str, file: str = "file_id", unfolded: Sequence[tuple[str | None, str | None]] = ()) -> str:
    """Return the query of the stretches of a day in which all results of a check on a node say the same.

    Node Health Check scripts report failures under other names than successes, so theirs are left alone, and so are
    results that tell of moments.

    Parameters
    ----------
    results
        Where results come from, as SQL behind `from`.
    file
        The column that tells files apart.
    unfolded
        Name or pattern of checks of which each bad result counts by itself.
    """
    verdict, words = "hash(result, result_quality)", "hash(message, check_type)"
    return f"""
select
    {file}, node_name, check_name, observed_at::date as day_date,
    min(observed_at) as first_at,
    max(observed_at) as last_at
from (select *, {_QUARTER.format(moment="observed_at")} as quarter from {results})
group by {file}, node_name, check_name, day_date
having count(*) > 2
    and min({verdict}) = max({verdict})
    and (
        (any_value(result) = 'OK' and lower(trim(check_name)) not in ({_NAMED}))
        or min({words}) = max({words})
    )
    -- asked of an aggregate, so that it is asked of groups: a condition on their key is moved down to the results
    and any_value(check_type) is distinct from 'event'
    and not starts_with(lower(any_value(check_name)), 'check_'){_each_counts(unfolded)}
    and {_quarters(0)} + {_quarters(1)}
    = {_QUARTER.format(moment="max(observed_at)")} - {_QUARTER.format(moment="min(observed_at)")} + 1"""


def _each_counts(checks: Sequence[tuple[str | None, str | None]]) -> str:
    name = "lower(trim(any_value(check_name)))"
    fits = [
        f"{name} = {literal((exact or '').strip().lower())}"
        if pattern is None
        else f"regexp_matches({name}, {literal(pattern)}, 'i')"
        for exact, pattern in checks
    ]
    return f"\n    and not (any_value(result) <> 'OK' and ({' or '.join(fits)}))" if fits else ""


MAX_LINES_BEHIND = 10_000
"""A file is unsorted if a result of an earlier day stands more than this behind the first result of its last day."""


def last_day(last_at: str) -> str:
    """Return SQL for the first day of which a file may tell more when it grows, made of its last moment.

    Nodes write at their own pace: a result may come behind those of an hour later.
    """
    return f"({last_at} - interval 1 hour)::date"


IS_OF_STRETCH = """stretches.node_name = results.node_name and stretches.check_name = results.check_name
        and stretches.day_date = results.observed_at::date"""
"""Whether the stretch, when there is one, is that of the check on the node on that day; the file is left to say."""

IS_INSIDE = "results.observed_at > stretches.first_at and results.observed_at < stretches.last_at"

_IS_RESULT = "stands_alone and skip_reason is null and problem is null"

UNCHANGED = f"""
create or replace temp table health_unchanged as
select results.file_id, results.line_number
from health_results as results
inner join health_stretches as stretches
    on stretches.file_id = results.file_id and {IS_OF_STRETCH}
where {_IS_RESULT} and {IS_INSIDE}"""


def steps(unfolded: Sequence[tuple[str | None, str | None]]) -> list[str]:
    """Return the steps that find stretches among the results of lines, and what lies inside them.

    A line with several results has one outcome, so those are left alone.
    """
    found = stretches(f"health_results where {_IS_RESULT}", unfolded=unfolded)
    return [f"create or replace temp table health_stretches as {found}", UNCHANGED]
