"""The few shapes of rule the suites are written in. Great Expectations judges all rules of a table in one query.

A rule counts violations per cluster in SQL and returns at most a few sentences about them, so a table of millions of
rows costs one scan for each. Every rule has a name, the sentence that must hold, and a severity: it blocks or only
warns. Rules that the code guarantees hold for every row. Rules about the data (`of_data`) allow the share of odd rows
that the cluster's `[quarantine] max_share` sets.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

EARLIEST, EARLIEST_RECORD = "2000-01-01", "1980-01-01"
"""Before which no log is believed, and no record of a failure, as these are kept for decades."""


@dataclass(frozen=True)
class Rule:
    """What must hold for a table.

    Attributes
    ----------
    check
        Name, unique in its table.
    holds
        What should be true, as a clause a person reads.
    query
        SQL over `{batch}`, the table. Each row that it finds is a violation: `finding` says in words what is wrong,
        and `cluster_id` with whose rows; NULL concerns all clusters.
    warns
        The refresh goes on when it is violated.
    tolerates_share
        One odd row of a cluster, or the share that its settings allow, is no more than a warning.
    """

    check: str
    holds: str
    query: str
    warns: bool = False
    tolerates_share: bool = False


def one_of(column: str, allowed: Iterable[str], holds: str) -> Rule:
    """Demand that every value of a column is one of a closed list."""
    listed = ", ".join(f"'{value}'" for value in sorted(allowed))
    query = f"""
        select cluster_id, concat('{column} has the unexpected value ', chr(39), {column}, chr(39)) as finding
        from {{batch}}
        where {column} not in ({listed})
    """
    return no_finding(f"{column}_known", query, holds)


def no_row(check: str, where: str, shows: Sequence[str], holds: str, warns: bool = False) -> Rule:
    """Demand that no row satisfies a condition.

    Parameters
    ----------
    check
        Name of the check, unique in its table.
    where
        SQL condition of a violation; a NULL is no violation.
    shows
        Columns that name an offending row and its value.
    holds
        What should be true, as a clause a person reads.
    warns
        The refresh goes on when it is violated.
    """
    parts = ", ', ', ".join(f"'{name} ', coalesce({name}::varchar, 'NULL')" for name in shows)
    query = f"select cluster_id, concat({parts}) as finding from {{batch}} where {where}"
    return no_finding(check, query, holds, warns)


def no_finding(check: str, query: str, holds: str, warns: bool = False) -> Rule:
    """Demand that a query over `{batch}` returns no row; see `Rule`."""
    return Rule(check, holds, query, warns=warns)


def of_data(rules: Iterable[Rule]) -> list[Rule]:
    """Change rules so that they only warn while a cluster has one odd row, or the share that its settings allow."""
    return [replace(rule, tolerates_share=bool(rule.query)) for rule in rules]


def without_cluster(rules: Iterable[Rule]) -> list[Rule]:
    """Change rules for a table without clusters: a violation concerns all clusters."""
    return [
        replace(rule, query=rule.query.replace("select cluster_id,", "select null::varchar as cluster_id,"))
        for rule in rules
    ]


def not_negative(column: str, *shows: str) -> Rule:
    """Demand a quantity of zero or more; NULL, unknown, is allowed."""
    return no_row(f"{column}_not_negative", f"{column} < 0", (*shows, column), f"{column} is zero or more")


def in_order(earlier: str, later: str, *shows: str) -> Rule:
    """Demand that one timestamp does not come after another."""
    return no_row(
        f"{later}_not_before_{earlier}",
        f"{later} < {earlier}",
        (*shows, earlier, later),
        f"{later} is not before {earlier}",
    )


def believable_time(column: str, *shows: str, earliest: str = EARLIEST) -> Rule:
    """Demand that most times are between a day and tomorrow; otherwise a clock or a format was misread."""
    rule = no_row(
        f"{column}_believable",
        f"{column} < timestamp '{earliest}' or {column} > timezone('UTC', now()) + interval 1 day",
        (*shows, column),
        f"{column} lies between {earliest} and tomorrow",
    )
    return of_data([rule])[0]


def ratio(column: str, *shows: str) -> Rule:
    """Demand a share between 0 and 1, with a tolerance for floating point. NaN fails: DuckDB orders it above all."""
    return no_row(
        f"{column}_in_0_1",
        f"{column} not between -1e-9 and 1 + 1e-9",
        (*shows, column),
        f"{column} lies between 0 and 1",
    )


def interval(value: str, *shows: str) -> Rule:
    """Demand that an estimate lies inside its own interval; an open side is NULL."""
    low, high = f"{value}_low", f"{value}_high"
    slack = f"1e-9 * (1 + abs({value}))"
    return no_row(
        f"{value}_inside_interval",
        f"{low} > {value} + {slack} or {high} < {value} - {slack} or {low} > {high} + 1e-9 * (1 + abs({high}))",
        (*shows, value, low, high),
        f"{low} <= {value} <= {high}",
    )


def finite(names: Sequence[str], *shows: str, check: str = "numbers_finite") -> Rule:
    """Demand that no number is infinite or NaN: an unknown value is NULL."""
    return no_row(
        check,
        " or ".join(f"not isfinite({name}::double)" for name in names),
        (*shows, *names),
        "no number is infinite or NaN",
    )


def same_total(check: str, parts: str, whole: str, holds: str, tolerance: float = 0.0) -> Rule:
    """Demand that two queries give the same total per cluster.

    Parameters
    ----------
    check, holds
        Name of the check, and what should be true.
    parts, whole
        Queries of `cluster_id, total`; `parts` reads `{batch}`, `whole` another table. A cluster absent on one side
        counts as 0 there.
    tolerance
        Relative difference allowed.
    """
    return no_finding(
        check,
        f"""
        select
            cluster_id,
            concat(cluster_id, ': ', coalesce(parts.total, 0), ' here, ', coalesce(whole.total, 0), ' expected')
                as finding
        from ({parts}) as parts
        full join ({whole}) as whole using (cluster_id)
        where abs(coalesce(parts.total, 0) - coalesce(whole.total, 0))
            > {tolerance} * greatest(abs(coalesce(parts.total, 0)), abs(coalesce(whole.total, 0)))
        """,
        holds,
    )
