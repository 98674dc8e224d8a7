"""Queries on the published file for explanations: rows of one cluster, by the report's own queries too."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import duckdb

from assets.report.actions import CANNOT_TELL
from assets.report.explained.failures import Part
from assets.report.numbers import duration, printable, share
from assets.report.queries import Row, add_labels, texts, without_doubtful_numbers
from assets.report.wording import span
from assets.rows import rows_of
from assets.sql import fill, identifier

AROUND = fill(
    "report/explained/around.sql",
    attempts="select attempts.cluster_id, attempts.attempt_id, attempts.ended_at, failures.culprit_node_id "
    "from marts.fct_attempts as attempts left join marts.fct_failures as failures using (cluster_id, attempt_id) "
    "where cluster_id = $cluster and attempt_id = $attempt and attempts.ended_at is not null",
)
REPAIRS = """
    select * from estimates.est_repairs
    where cluster_id = $cluster and failure_category = $category and verdict = 'try first'
"""
CHECKS = "from estimates.est_check_scores where cluster_id = $cluster and check_name = $check"


class Reader:
    """Rows of one cluster."""

    def __init__(self, con: duckdb.DuckDBPyConnection, cluster_id: str) -> None:
        self.con = con
        self.cluster_id = cluster_id

    def ask(self, statement: str, **values: Any) -> list[Row]:
        """Return the rows of a statement with `$cluster` and other values; categories get their labels."""
        found = [
            without_doubtful_numbers(row)
            for row in rows_of(self.con, statement, {"cluster": self.cluster_id, **values})
        ]
        add_labels(found, self._labels)
        return found

    def rows_if_there(self, statement: str, table: str, **values: Any) -> list[Row]:
        """Run a statement on an estimate that an older publication may lack."""
        return self.ask(statement, **values) if table in self._estimates else []

    def report_rows(self, name: str, **wanted: Any) -> list[Row]:
        """Return the rows of a report query that have these values."""
        conditions = " and ".join(f"{identifier(column)} = ${column}" for column in wanted)
        return self.ask(f"select * from ({texts()[name]}) where cluster_id = $cluster and {conditions}", **wanted)

    def around(self, attempt_id: str) -> list[Row]:
        """Return what tables record, except for evidence, on an attempt's nodes around its end."""
        return self.ask(AROUND, attempt=attempt_id)

    def node(self, node_id: str) -> Row:
        """Return the report's row of a node."""
        return self.report_rows("nodes", node_id=node_id)[0]

    def answers_about(self, failure: Row, evidence: list[Row]) -> list[Part]:
        """Return what is known about repairs of such failures, and about the check that found this one."""
        parts = []
        for best in self.rows_if_there(REPAIRS, "est_repairs", category=failure["failure_category"]):
            limits = span(best["relapse_30d_ratio_low"], best["relapse_30d_ratio_high"], share)
            said = (
                f"{printable(best['repair_action'])}: after it {share(best['relapse_30d_ratio'])} ({limits}) come back"
            )
            parts.append(("Repair to try first", f"{said} within 30 days. It takes {duration(best['repair_hours'])}."))
        checks = [event["check_name"] for event in evidence[:1]]
        for score in self.rows_if_there(CHECKS, "est_check_scores", check=checks[0]) if checks else []:
            said = f"{share(score['true_share'])} of its onsets were true"
            said += f" ({span(score['low'], score['high'], share)}); verdict: {score['verdict']}"
            if score["true_share"] is None or score["verdict"] == CANNOT_TELL:
                said = "too few alarms to judge it"
            parts.append(("Is the check right?", f'"{printable(checks[0])}": {said}.'))
        return parts

    @cached_property
    def cluster(self) -> Row:
        """The row of the cluster."""
        return self.ask("from marts.dim_clusters where cluster_id = $cluster")[0]

    @cached_property
    def _labels(self) -> dict[str, str]:
        return dict(self.con.execute("select failure_category, label from marts.dim_failure_categories").fetchall())

    @cached_property
    def _estimates(self) -> set[str]:
        found = self.con.execute("select table_name from duckdb_tables() where schema_name = 'estimates'").fetchall()
        return {name for (name,) in found}
