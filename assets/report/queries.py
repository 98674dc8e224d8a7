"""The queries of the report: published tables by name, and one SQL file for each question that needs more.

Numbers arrive as Python values, None for unknown. To read another published table, add a line to `PUBLISHED`; its rows
of one cluster are `ClusterData.rows(name)`. A row with a category also gets the category's label.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from operator import itemgetter
from pathlib import Path
from typing import Any

import duckdb

from assets.bad_clusters.cluster_outcomes import CLUSTER_OUTCOMES
from assets.bad_clusters.left_out import CHANGED_PRIVACY
from assets.not_computed import NOT_COMPUTED
from assets.report.numbers import moment, printable
from assets.rows import rows_of
from assets.site_rules import ORDER
from assets.sql import fill

Row = dict[str, Any]


def grouped(rows: Iterable[Row], *columns: str) -> dict[Any, list[Row]]:
    """Group rows by the values of one or more columns; groups and rows keep their order.

    >>> grouped([{"a": 2}, {"a": 1}, {"a": 2}], "a")
    {2: [{'a': 2}, {'a': 2}], 1: [{'a': 1}]}
    """
    groups, key = defaultdict[Any, list[Row]](list), itemgetter(*columns)
    for row in rows:
        groups[key(row)].append(row)
    return dict(groups)


def summed(rows: Iterable[Row], *names: str) -> dict[str, float]:
    """Return the sums of the known values of some columns.

    >>> summed([{"a": 1.5, "b": None}, {"a": None, "b": 2.0}], "a", "b")
    {'a': 1.5, 'b': 2.0}
    """
    listed = list(rows)
    return {name: math.fsum(row[name] or 0.0 for row in listed) for name in names}


class QueryRows(dict[str, list[Row]]):
    """Rows by the name of their query; they never change after reading."""

    @cached_property
    def of_cluster(self) -> Callable[[str], dict[str, list[Row]]]:
        """The rows of a query by cluster, grouped once: a home may have hundreds of clusters."""
        return cache(lambda name: grouped(self[name], "cluster_id"))


TABLES = re.compile(r"\b(?:marts|estimates)\.\w+")
SQL = Path(__file__).parent / "sql"
ANSWERS = Path(__file__).parents[1] / "answers"
WITHOUT_NUMBERS = "clusters_without_numbers"
PUBLISHED = {
    "annotations": "marts.dim_annotations order by annotated_date, annotation_number",
    "attribution_chance": "estimates.est_attribution_chance order by attributed_count desc, failure_category",
    "categories": "marts.dim_failure_categories order by priority nulls last, failure_category",
    "checks": "ops.checks where run_id = (select run_id from ops.runs order by rowid desc limit 1) "
    "order by passed, table_name, check_name",
    "check_introductions": "marts.agg_check_introductions where source = 'health_check' "
    "and coalesce(is_introduction, true) order by first_reported_at, check_name",
    "checkpoint_plans": "estimates.est_checkpoint_plans order by gpu_count",
    "cooccurrence": "marts.agg_cooccurrence where (other_category = 'any other category' and failure_count >= 5) "
    "or (failure_category = 'pcie' and other_category in ('xid 79', 'xid 79 with ipmi critical interrupt')) "
    "or (failure_category = 'ib_link' and other_category = 'any gpu category') "
    "or (other_kind = 'category' and both_count >= 3) "
    "order by failure_count desc, failure_category, other_kind, both_count desc nulls last, other_category",
    "daily_rates": "(select * replace (expected_failure_count as failure_count, expected_failure_count_30d as "
    "failure_count_30d, 1000 * expected_failure_count_30d / nullif(node_days_30d, 0) as "
    "failures_per_1000_node_days_30d) from marts.agg_failure_rates_daily) order by day_date, failure_category",
    "ettr": "estimates.est_ettr_by_size order by gpu_size_bin",
    "ettr_by_qos": "estimates.est_ettr_by_qos qualify count(distinct qos) over (partition by cluster_id) > 1 "
    "order by qos, gpu_size_bin",
    WITHOUT_NUMBERS: f"({CLUSTER_OUTCOMES}) where cluster_end = 'no numbers' order by cluster_id",
    "evidence_reach": "estimates.est_evidence_reach where month_date is null",
    "files": "ops.files order by cluster_id, kind, path",
    "forecasts": "estimates.est_forecast_scores order by month_date",
    "lemon_effects": "estimates.est_lemon_effects order by list_position("
    "['all', 'all_without_lemon_failures', 'with_lemon_node', 'without_lemon_node'], population)",
    "lemon_lists": "estimates.est_lemon_evaluations order by window_end_date nulls last",
    "losses": "estimates.est_lost_gpu_hours order by period, loss",
    "lost_by_account": "marts.agg_lost_hours_by_account "
    "order by expected_lost_gpu_hours desc nulls last, account nulls last, user_name nulls last",
    "not_computed": f"({NOT_COMPUTED})",
    "projections": "estimates.est_mttf_projections order by gpu_count",
    "rate_changes": "estimates.est_rate_changes order by failure_category != 'all', failure_category, changed_at",
    "rate_ratios": "estimates.est_rate_ratios where comparison = 'months'",
    "rates": "estimates.est_failure_rates order by population, counted_as",
    "run": "ops.runs order by rowid desc limit 1",
    "scale_tests": "estimates.est_scale_tests",
    "sizes": "(select * rename (job_count as attempt_count, job_ratio as attempt_ratio) from marts.agg_job_sizes) "
    "order by gpu_size_bin nulls last",
    "states": "marts.agg_job_states order by is_infrastructure, attempt_count desc, state",
    "time_to_failure": "estimates.est_time_to_failure order by gpu_size_bin",
    "unit_rates": "estimates.est_unit_failure_rates order by cause",
    "unmapped_signals": f"marts.agg_unmapped_signals order by {ORDER}",
}
"""Published tables by the name of their query, with the selected rows and their order."""
EXPLAINED = {
    "around": fill(
        "report/explained/around.sql",
        attempts="select cluster_id, attempt_id, failed_at as ended_at, culprit_node_id from marts.fct_failures "
        "where not is_attributed",
    ),
    "timelines": fill(
        "report/explained/timeline.sql",
        nodes="select distinct cluster_id, node_id from marts.fct_incident_suspects where is_known",
        limit=10,
    ),
}
"""Queries of the panels: entries around failures without evidence, and the latest entries of failed nodes."""
LABELS = {
    "failure_category": "label",
    "loss": "label",
    "other_category": "other_label",
    "relapsed_category": "relapsed_label",
}
"""Columns that hold a category, and the column that its label gets."""
OBSERVED = re.compile(
    r"\w*_count(_median|_min|_max)?|\w*outage_hours|(expected_)?lost_(gpu_hours|cost)|(other_)?node_days|(held_)?gpu_hours|held_ratio|(down_)?unit_days|runtime_hours|exposure|confidence_level"
    r"|planned_days|(restart|write|checkpoint)_minutes|ettr_target"
)
"""Columns of estimates that are not estimated: counts, exposures, losses of seen failures, and assumptions."""


@dataclass(frozen=True)
class ClusterData:
    """The rows of one cluster, and of all of them."""

    query_rows: QueryRows
    cluster: Row
    sources: str = "sources"
    """Path of the sources folder."""
    queries_read: set[str] = field(default_factory=set)
    """Names of the queries that were read."""

    @property
    def folder(self) -> str:
        """Path of the cluster's log folder, relative to the home if the cluster hides names: a path may hold one."""
        is_hidden = self.cluster["are_names_hidden"] or self.cluster["is_pseudonymous"]
        return f"{'sources' if is_hidden else self.sources}/{printable(self.cluster['cluster_id'])}"

    @property
    def first_day(self) -> str:
        """The first day of the study period, for export commands; START if there is none."""
        begin = self.cluster["study_from_at"]
        return moment(begin)[:10] if begin else "START"

    def rows(self, name: str, **wanted: Any) -> list[Row]:
        """Select the cluster's rows of a query that have the wanted values; without a cluster, those of all."""
        self.queries_read.add(name)
        rows = self.query_rows[name]
        if self.cluster:
            rows = self.query_rows.of_cluster(name).get(self.cluster["cluster_id"], [])
        return [row for row in rows if all(row[column] == value for column, value in wanted.items())]

    def row(self, name: str, **wanted: Any) -> Row:
        """Select the first such row, or an empty one."""
        return next(iter(self.rows(name, **wanted)), {})

    def not_computed(self, *names: str) -> list[Row]:
        """Select the estimates that these queries read and that could not be computed."""
        read = {table for name in names for table in TABLES.findall(texts()[name])}
        return [row for row in self.query_rows.get("not_computed", []) if row["table_name"] in read]


@cache
def texts() -> dict[str, str]:
    """Return the SQL of all queries, by name."""
    of_pages = [path for path in sorted(ANSWERS.glob("*/*.sql")) if (path.parent / "page.html.j2").exists()]
    files = {path.stem: path.read_text(encoding="utf-8") for path in (*sorted(SQL.glob("*.sql")), *of_pages)}
    return {name: f"select * from {rows}" for name, rows in PUBLISHED.items()} | EXPLAINED | files


def queries_of(answer: str) -> dict[str, str]:
    """Return the SQL of the queries of one answer, by name."""
    return {path.stem: path.read_text(encoding="utf-8") for path in sorted((ANSWERS / answer).glob("*.sql"))}


def without_doubtful_numbers(row: Row) -> Row:
    """Set estimated numbers to unknown, and verdicts to `cannot tell`, if too little was seen; the note says why.

    >>> seen = {"failure_count": 1.0, "node_days": 0.5, "checkpoint_minutes_young": 84.0, "probability": 0.3}
    >>> without_doubtful_numbers(seen | {"has_enough_data": False})["failure_count"]
    1.0
    >>> [name for name, value in without_doubtful_numbers(seen | {"has_enough_data": False}).items() if value is None]
    ['checkpoint_minutes_young', 'probability']
    >>> lost = {"lost_gpu_hours": 3.0, "lost_gpu_hours_low": 1.0, "verdict": "falls", "has_enough_data": False}
    >>> without_doubtful_numbers(lost)
    {'lost_gpu_hours': 3.0, 'lost_gpu_hours_low': None, 'verdict': 'cannot tell', 'has_enough_data': False}
    """
    if row.get("has_enough_data") is not False:
        return row
    ends = {name.removesuffix("_low") + end for name in row if name.endswith("_low") for end in ("", "_low", "_high")}
    floats = {name for name, value in row.items() if isinstance(value, float)}
    unknown = {name: None for name in (ends | floats) & row.keys() if not OBSERVED.fullmatch(name)}
    # The lemon list, whose rows have a rank, has its own verdict of too little data.
    verdicts = {"verdict", "trend_verdict"} & row.keys() if "rank" not in row else ()
    return row | unknown | dict.fromkeys(verdicts, "cannot tell")


def read_queries(con: duckdb.DuckDBPyConnection, *names: str) -> QueryRows:
    """Run the named queries, or all, and return their rows by name.

    A published file has no kernel messages: a query of a missing raw table returns no row. For clusters with changed
    privacy, only the fact and reason that they have no numbers are returned.
    """
    changed = {row["cluster_id"] for row in rows_of(con, CHANGED_PRIVACY)}

    def shown(name: str, text: str) -> list[Row]:
        rows = list(map(without_doubtful_numbers, rows_of(con, text)))
        return rows if name == WITHOUT_NUMBERS else [row for row in rows if row.get("cluster_id") not in changed]

    known = {row["table_name"] for row in rows_of(con, "from duckdb_tables() where schema_name = 'raw'")}
    query_rows = QueryRows(
        (name, shown(name, text) if set(re.findall(r"\braw\.(\w+)", text)) <= known else [])
        for name, text in texts().items()
        if not names or name in {*names, "categories"}
    )
    labels = {row["failure_category"]: row["label"] for row in query_rows["categories"]}
    for rows in query_rows.values():
        add_labels(rows, labels)
    return query_rows


def add_labels(rows: list[Row], labels: Mapping[str, str]) -> None:
    """Add the label of each category to the rows of one query."""
    for category, label in LABELS.items():
        if rows and category in rows[0]:
            for row in rows:
                row[label] = labels.get(row[category]) or row[category]


def tables_read() -> list[str]:
    """List the tables of marts and estimates that the queries name."""
    return sorted(set(TABLES.findall(" ".join(texts().values()))))
