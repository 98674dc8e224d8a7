"""Queries of tests on the published file of the minimal clusters."""

from __future__ import annotations

from typing import Any

import duckdb

Rows = list[tuple[Any, ...]]


def ask(minimal: duckdb.DuckDBPyConnection, cluster: str, query: str) -> Rows:
    """Return the rows of a query for a cluster. A query without `$cluster` gets a condition on it."""
    if "$cluster" not in query:
        before, order, after = query.partition(" order by ")
        query = f"{before} {'and' if ' where ' in before else 'where'} cluster_id = $cluster{order}{after}"
    return minimal.execute(f"select {query}", {"cluster": cluster}).fetchall()


def rate(minimal: duckdb.DuckDBPyConnection, cluster: str, population: str, counted_as: str) -> tuple[Any, ...]:
    """Return failures, node-days and rate per 1,000 node-days of a cluster's population."""
    (found,) = ask(
        minimal,
        cluster,
        "failure_count, node_days, failures_per_1000_node_days from estimates.est_failure_rates "
        f"where population = '{population}' and counted_as = '{counted_as}'",
    )
    return found


def halves(minimal: duckdb.DuckDBPyConnection, cluster: str) -> tuple[Any, ...]:
    """Return failures and node-days of the later half of a cluster's study, and of the earlier."""
    (found,) = ask(
        minimal,
        cluster,
        "failure_count, node_days, other_failure_count, other_node_days from estimates.est_rate_ratios "
        "where comparison = 'halves' and counted_as = 'attempts'",
    )
    return found


def causes(minimal: duckdb.DuckDBPyConnection, cluster: str) -> dict[int, str]:
    """Return the cause of each failed job."""
    return dict(
        ask(
            minimal,
            cluster,
            "job_id_raw, failures.failure_category from marts.fct_failures as failures "
            "inner join marts.fct_attempts using (cluster_id, attempt_id)",
        )
    )


def spans(minimal: duckdb.DuckDBPyConnection, cluster: str, kind: str) -> Rows:
    """Return the beginning and end of a kind's spans, in days after 1 May, and their source."""
    since = "date_diff('second', timestamp '2024-05-01', {}) / 86400"
    columns = f"{since.format('from_at')}, {since.format('to_at')}, known_by"
    return ask(minimal, cluster, f"{columns} from ops.spans where kind = '{kind}' order by from_at")
