"""The kinds of rules in the suites. Great Expectations judges all rules of a table in one query.

A rule finds violations in SQL. Every rule has a name, the sentence that must hold, and a severity: it blocks or only
warns. Rules that the code guarantees hold for every row. Rules about the data (`of_data`) allow the share of odd rows
that the cluster's `[quarantine] max_share` sets.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from assets.sql import identifier, literal


@dataclass(frozen=True)
class Rule:
    """What must hold for a table.

    Attributes
    ----------
    check
        Name, unique in its table.
    holds
        What should be true, as a clause a person reads.
    condition, finding
        SQL condition of a violating row, and the SQL text that says what is wrong with it. One scan finds the
        violations of all such rules of a table.
    query
        Instead of both: SQL over `{batch}`, the table. Each row that it returns is a violation: `finding` says what
        is wrong, and `cluster_id` names the cluster; NULL concerns all clusters.
    warns
        A violation does not stop the refresh.
    tolerates_share
        One odd row of a cluster, or the share that its settings allow, is only a warning.
    """

    check: str
    holds: str
    query: str = ""
    condition: str = ""
    finding: str = ""
    warns: bool = False
    tolerates_share: bool = False


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
        A violation does not stop the refresh.
    """
    return Rule(check, holds, condition=where, finding=shown(shows), warns=warns)


def shown(names: Sequence[str]) -> str:
    """Return the SQL that shows columns of a row with their names."""
    parts = ", ', ', ".join(f"{literal(f'{name} ')}, coalesce({identifier(name)}::varchar, 'NULL')" for name in names)
    return f"concat({parts})"


def no_finding(check: str, query: str, holds: str, warns: bool = False) -> Rule:
    """Demand that a query over `{batch}` returns no row; see `Rule`."""
    return Rule(check, holds, query=query, warns=warns)


def values_known(holds: str, **allowed: Iterable[str]) -> Rule:
    """Demand that every value of some columns is one of a closed list."""
    conditions, findings = [], []
    for column, values in allowed.items():
        listed = ", ".join(literal(value) for value in sorted(values))
        conditions.append(f"{identifier(column)} not in ({listed})")
        words = f"{literal(f'{column} has the unexpected value ')}, chr(39), {identifier(column)}, chr(39)"
        findings.append(f"case when {conditions[-1]} then concat({words}) end")
    return Rule(
        "values_known", holds, condition=" or ".join(conditions), finding=f"concat_ws(', ', {', '.join(findings)})"
    )


def of_data(rules: Iterable[Rule]) -> list[Rule]:
    """Return rules that only warn while a cluster has one odd row, or the share that its settings allow."""
    return [replace(rule, tolerates_share=True) for rule in rules]


def same_total(check: str, parts: str, whole: str, holds: str) -> Rule:
    """Demand that two queries of `cluster_id, total` give the same total per cluster.

    `parts` reads `{batch}`, `whole` another table. A cluster absent on one side counts as 0 there.
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
        where coalesce(parts.total, 0) <> coalesce(whole.total, 0)
        """,
        holds,
    )
