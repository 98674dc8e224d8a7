"""The rules of a table as one Great Expectations expectation, which is one query.

An expectation for each rule would cost ten times as much: Great Expectations copies and describes each of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from great_expectations import expectations as gxe
from great_expectations.core.expectation_validation_result import ExpectationValidationResult
from great_expectations.execution_engine import ExecutionEngine
from great_expectations.expectations.expectation import Expectation

from assets.expectations.rules import Rule
from assets.sql import literal

SHOWN_FINDINGS = 3


class RulesHold(gxe.UnexpectedRowsExpectation):
    """Expect that a query finds no row, with one scan instead of Great Expectations' two.

    Each row describes one rule: the clusters that violate it, how often, three findings, and whether the cluster
    tolerates that many.
    """

    metric_dependencies: ClassVar[tuple[str, ...]] = ("unexpected_rows_query.table",)

    def _validate(
        self,
        metrics: dict[str, Any],
        runtime_configuration: dict[str, Any] | None = None,
        execution_engine: ExecutionEngine | None = None,
    ) -> ExpectationValidationResult | dict[str, Any]:
        found = metrics["unexpected_rows_query.table"]
        return super()._validate(
            {**metrics, "unexpected_rows_query.row_count": len(found)}, runtime_configuration, execution_engine
        )


def suite_of(rules: Sequence[Rule], has_clusters: bool = True) -> list[Expectation]:
    """Return the expectation that judges rules together; its `meta` names the rules.

    A violation in a table without clusters concerns all clusters.
    """
    query = _findings(rules)
    if not has_clusters:
        query = query.replace("{batch}", "(select null::varchar as cluster_id, * from {batch})")
    return [RulesHold(unexpected_rows_query=query, meta={"checks": [rule.check for rule in rules]})]


def _findings(rules: Sequence[Rule]) -> str:
    """Return the query that gives one row for each violated rule."""
    of_rows = [rule for rule in rules if rule.condition]
    queries = [_rows_found(of_rows)] if of_rows else []
    queries += [
        f"select {literal(rule.check)} as check_name, cluster_id, finding from ({rule.query}) as found"
        for rule in rules
        if rule.query
    ]
    found = " union all ".join(queries)
    judged = _tolerance([rule for rule in rules if rule.tolerates_share])
    return f"""
        with findings as (
            select check_name, cluster_id, count(*) as finding_count, min(finding, {SHOWN_FINDINGS}) as examples
            from ({found}) as found
            group by check_name, cluster_id
        ),

        judged as ({judged})

        select
            check_name,
            list(
                struct_pack(
                    cluster_id := cluster_id,
                    finding_count := finding_count,
                    examples := examples,
                    is_tolerated := is_tolerated
                ) order by cluster_id
            ) as clusters
        from judged
        group by check_name
    """


def _rows_found(rules: Sequence[Rule]) -> str:
    """Return the query that finds the violating rows of rules in one scan."""
    found = ", ".join(
        f"case when {rule.condition}"
        f" then struct_pack(check_name := {literal(rule.check)}, finding := {rule.finding}) end"
        for rule in rules
    )
    return f"""
        select violation.check_name, cluster_id, violation.finding
        from (
            select cluster_id, unnest([{found}]) as violation
            from {{batch}}
            where {" or ".join(f"({rule.condition})" for rule in rules)}
        ) as of_rows
        where violation is not null
    """


def _tolerance(tolerating: Sequence[Rule]) -> str:
    """Return the query that adds to each finding whether its cluster tolerates that many; `{batch}` is the table."""
    if not tolerating:
        return "select *, false as is_tolerated from findings"
    return f"""
        select
            findings.*,
            check_name in ({", ".join(literal(rule.check) for rule in tolerating)})
            and finding_count <= greatest(1, coalesce(settings.quarantine_max_share, 0.01) * totals.row_count)
                as is_tolerated
        from findings
        left join (
            select cluster_id, count(*) as row_count from {{batch}} group by cluster_id
        ) as totals using (cluster_id)
        left join raw.clusters as settings using (cluster_id)
    """
