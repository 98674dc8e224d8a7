"""SQL that reads the four moments of an accounting record as UTC."""

from __future__ import annotations

from assets.sources.sacct.columns import TEXTS
from assets.sources.text import times

MOMENTS = ("Submit", "Eligible", "Start", "End")
# A list: DuckDB makes a join of IN with more than four constants, which this statement has too many of already.
_NEVER = "['', 'Unknown', 'None', 'N/A', '(null)', '0']"


def moment_columns(name: str) -> str:
    """Parse one moment into `<name>_exact` (UTC), or `<name>_local` (naive)."""
    text = TEXTS[name]
    return f"""
        case when not {times.is_dated(text)} then null
             when length({text}) = 19 then try_cast({text} as timestamp)
             when length({text}) > 19 and not {times.has_offset(text)} then try_cast({text} as timestamp)
        end as {name}_local,
        case when length({text}) between 9 and 11 and try_cast({text} as bigint) is not null
             then make_timestamp(try_cast({text} as bigint) * 1000000)
             when length({text}) > 19 and {times.is_dated(text)} and {times.has_offset(text)}
             then try_cast({text} as timestamptz)::timestamp
        end as {name}_exact
    """


def moment_problem(name: str) -> str:
    """Return SQL for the reason why a moment's text is none, NULL when it is fine."""
    text = TEXTS[name]
    return rf"""case
        when {text} is null or {name}_local is not null or {name}_exact is not null then null
        when contains({_NEVER}, {text}) then null
        when regexp_full_match({text}, '\d\d:\d\d(:\d\d)?')
            or regexp_full_match({text}, '(\d{{1,2}} )?[A-Z][a-z]+ \d\d:\d\d')
            then 'relative_timestamp'
        when regexp_full_match({text}, '\d{{4}}-\d\d-[0-9T:.+-]*') then 'truncated_timestamp'
        else 'bad_timestamp'
    end"""


def placed(zone: str, years: times.Years) -> str:
    """Return the CTEs from `parsed` to `placed`, with `<name>_at` in UTC, is_ambiguous and is_nonexistent.

    A doubled Start or End is settled by End - Start = Elapsed + Suspended, where both passes fit by the one that does
    not start before Submit; else by Submit <= Eligible <= Start <= End; else the first pass is meant and the row says
    so.
    """
    first = {n: f"coalesce({n}_exact, {times.utc(f'{n}_local', zone, years=years)})" for n in MOMENTS}
    if not times.changes_within(zone, years):
        columns = ", ".join(f"{first[n]} as {n}_at" for n in MOMENTS)
        return f"placed as (select *, {columns}, false as is_ambiguous, false as is_nonexistent from parsed)"
    columns = ", ".join(
        f"{first[n]} as {n}_first, case when {n}_doubled "
        f"then {times.utc(f'{n}_local', zone, second_of_fold=True, years=years)} else {first[n]} end as {n}_second"
        for n in MOMENTS
    )
    doubled = ",\n".join(
        f"coalesce({times.is_ambiguous(f'{n}_local', zone, years=years)}, false) as {n}_doubled" for n in MOMENTS
    )
    gap = " or ".join(f"coalesce({times.is_nonexistent(f'{n}_local', zone, years=years)}, false)" for n in MOMENTS)
    lasted = "told_elapsed + coalesce(told_suspended, 0) - date_diff('second', {0}, {1}) between -1 and 1"
    pairs = [("first", "first"), ("second", "second"), ("first", "second"), ("second", "first")]
    fits = [(place, lasted.format(f"Start_{s}", f"End_{e}"), s) for place, (s, e) in enumerate(pairs, 1)]
    settled = "\n".join(
        [f"when {fit} and Start_{s} >= Submit_first then {place}" for place, fit, s in fits]
        + [f"when {fit} then {place}" for place, fit, _ in fits]
    )

    def ordered(name: str, earlier: str) -> str:
        return f"case when {name}_doubled and {name}_first < {earlier} then {name}_second else {name}_first end"

    return f"""
        flagged as (select *, {doubled}, {gap} as is_nonexistent from parsed),
        twice as (select *, {columns} from flagged),
        fitted as (
            select *,
                case when not (Start_doubled or End_doubled) then 1 {settled} else 0 end as fitting,
                Submit_first as Submit_at
            from twice
        ),
        begun as (
            select *,
                {ordered("Eligible", "Submit_at")} as Eligible_at,
                case fitting when 0 then {ordered("Start", "Submit_at")}
                     when 2 then Start_second when 4 then Start_second else Start_first end as Start_at
            from fitted
        ),
        placed as (
            select *,
                case fitting when 0 then {ordered("End", "Start_at")}
                     when 2 then End_second when 3 then End_second else End_first end as End_at,
                Submit_doubled or Eligible_doubled or ((Start_doubled or End_doubled) and fitting = 0) as is_ambiguous
            from begun
        )
    """
