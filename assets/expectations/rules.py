"""The few shapes of rule the suites are written in, each one Great Expectations expectation.

A rule counts violations per cluster in SQL and returns at most a few sentences about them, so a table of millions of
rows costs one scan. Every rule has a name, the sentence that must hold, and a severity: it blocks or only warns. Rules
that the code guarantees hold for every row. Rules about the data (`of_data`) allow the share of odd rows that the
cluster's `[quarantine] max_share` sets.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from great_expectations import expectations as gxe
from great_expectations.core.expectation_validation_result import ExpectationValidationResult
from great_expectations.execution_engine import ExecutionEngine
from great_expectations.expectations.expectation import Expectation
from great_expectations.expectations.metadata_types import FailureSeverity

EARLIEST = "2000-01-01"
SHOWN_FINDINGS = 3


class NoFinding(gxe.UnexpectedRowsExpectation):
    """Great Expectations' rule that a query finds no row, in one scan, not two.

    A row is about one cluster: how many findings there are, three of them, and whether the cluster tolerates as many.
    """

    metric_dependencies: ClassVar[tuple[str, ...]] = ("unexpected_rows_query.table",)

    def _validate(
        self,
        metrics: dict[str, Any],
        runtime_configuration: dict[str, Any] | None = None,
        execution_engine: ExecutionEngine | None = None,
    ) -> ExpectationValidationResult | dict[str, Any]:
        found = metrics["unexpected_rows_query.table"]
        counted = {**metrics, "unexpected_rows_query.row_count": sum(row["finding_count"] for row in found)}
        return super()._validate(counted, runtime_configuration, execution_engine)


def columns(*names: str) -> Expectation:
    """Demand these columns; more are welcome."""
    return gxe.ExpectTableColumnsToMatchSet(
        column_set=sorted(names), exact_match=False, meta=_meta("columns", "every column of the contract is there")
    )


def one_of(column: str, allowed: Iterable[str], holds: str) -> Expectation:
    """Demand that every value of a column is one of a closed list."""
    listed = ", ".join(f"'{value}'" for value in sorted(allowed))
    query = f"""
        select cluster_id, concat('{column} has the unexpected value ', chr(39), {column}, chr(39)) as finding
        from {{batch}}
        where {column} not in ({listed})
    """
    return no_finding(f"{column}_known", query, holds)


def no_row(check: str, where: str, shows: Sequence[str], holds: str, warns: bool = False) -> Expectation:
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


def no_finding(check: str, query: str, holds: str, warns: bool = False) -> Expectation:
    """Demand that a query over `{batch}` returns no row.

    Its column `finding` says in words what is wrong, and `cluster_id` with whose rows; NULL concerns all clusters.
    """
    return _finder(query, _NONE_TOLERATED, warns, {**_meta(check, holds), "query": query})


def of_data(expectations: Iterable[Expectation]) -> list[Expectation]:
    """Change rules so that they only warn while a cluster has one odd row, or the share that its settings allow."""
    return [
        _finder(meta["query"], _SHARE_TOLERATED, rule.severity == FailureSeverity.WARNING, meta)
        if "query" in (meta := rule.meta or {})
        else rule
        for rule in expectations
    ]


def without_cluster(expectations: Iterable[Expectation]) -> list[Expectation]:
    """Change rules for a table without clusters: a violation concerns all clusters."""
    return [
        no_finding(
            meta["check"],
            meta["query"].replace("select cluster_id,", "select null::varchar as cluster_id,"),
            meta["holds"],
            rule.severity == FailureSeverity.WARNING,
        )
        if "query" in (meta := rule.meta or {})
        else rule
        for rule in expectations
    ]


_NONE_TOLERATED = """
    select *, false as is_tolerated from findings
"""
_SHARE_TOLERATED = """
    select
        findings.*,
        finding_count <= greatest(1, coalesce(settings.quarantine_max_share, 0.01) * totals.row_count) as is_tolerated
    from findings
    left join (select cluster_id, count(*) as row_count from {batch} group by cluster_id) as totals using (cluster_id)
    left join raw.clusters as settings using (cluster_id)
"""


def _finder(query: str, judged: str, warns: bool, meta: dict[str, str]) -> Expectation:
    counted = f"""
        with findings as (
            select cluster_id, count(*) as finding_count, min(finding, {SHOWN_FINDINGS}) as examples
            from ({query}) as found
            group by cluster_id
        )
        select * from ({judged}) as judged order by cluster_id
    """
    severity = FailureSeverity.WARNING if warns else FailureSeverity.CRITICAL
    return NoFinding(unexpected_rows_query=counted, meta=meta, severity=severity)


def not_negative(column: str, *shows: str) -> Expectation:
    """Demand a quantity of zero or more; NULL, unknown, is allowed."""
    return no_row(f"{column}_not_negative", f"{column} < 0", (*shows, column), f"{column} is zero or more")


def in_order(earlier: str, later: str, *shows: str) -> Expectation:
    """Demand that one timestamp does not come after another."""
    return no_row(
        f"{later}_not_before_{earlier}",
        f"{later} < {earlier}",
        (*shows, earlier, later),
        f"{later} is not before {earlier}",
    )


def believable_time(column: str, *shows: str) -> Expectation:
    """Demand that most times are between the year 2000 and tomorrow; otherwise a clock or a format was misread."""
    rule = no_row(
        f"{column}_believable",
        f"{column} < timestamp '{EARLIEST}' or {column} > timezone('UTC', now()) + interval 1 day",
        (*shows, column),
        f"{column} lies between {EARLIEST} and tomorrow",
    )
    return of_data([rule])[0]


def ratio(column: str, *shows: str) -> Expectation:
    """Demand a share between 0 and 1, with a tolerance for floating point. NaN fails: DuckDB orders it above all."""
    return no_row(
        f"{column}_in_0_1",
        f"{column} not between -1e-9 and 1 + 1e-9",
        (*shows, column),
        f"{column} lies between 0 and 1",
    )


def interval(value: str, *shows: str) -> Expectation:
    """Demand that an estimate lies inside its own interval; an open side is NULL."""
    low, high = f"{value}_low", f"{value}_high"
    slack = f"1e-9 * (1 + abs({value}))"
    return no_row(
        f"{value}_inside_interval",
        f"{low} > {value} + {slack} or {high} < {value} - {slack} or {low} > {high} + 1e-9 * (1 + abs({high}))",
        (*shows, value, low, high),
        f"{low} <= {value} <= {high}",
    )


def finite(names: Sequence[str], *shows: str, check: str = "numbers_finite") -> Expectation:
    """Demand that no number is infinite or NaN: an unknown value is NULL."""
    return no_row(
        check,
        " or ".join(f"not isfinite({name}::double)" for name in names),
        (*shows, *names),
        "no number is infinite or NaN",
    )


def same_total(check: str, parts: str, whole: str, holds: str, tolerance: float = 0.0) -> Expectation:
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


def _meta(check: str, holds: str) -> dict[str, str]:
    return {"check": check, "holds": holds}
