"""InfiniteHBD's trace of faults: how often 400 GPU servers fail, for how long, and of what."""

from __future__ import annotations

import duckdb

from assets.warehouse import one_value
from tests.proof.published import Figure
from tests.studies import Study
from tests.studies.records import DAYS, HBD, SERVERS, refreshed

SOURCE = "InfiniteHBD-Trace"
CLASSES = {"Hardware Failure": "298", "Hardware Failure: GPU": "158", "Software Failure": "24"}


def study() -> Study:
    """Count from the published tables."""
    with duckdb.connect(refreshed(), read_only=True) as con:

        def ask(query: str, **parameters: str) -> float:
            return float(one_value(con, query, {"cluster": HBD, **parameters}))

        figures = [
            Figure(SOURCE, "faults", "584", ask(COUNT, cause=""), "-"),
            *(
                Figure(SOURCE, f"faults: {name}", text, ask(COUNT, cause=name), "count")
                for name, text in CLASSES.items()
            ),
            Figure(SOURCE, "faults per 1,000 node-days", "4.195", 1000 * ask(COUNT, cause="") / NODE_DAYS, "-"),
            Figure(f"worked out: {SOURCE}", "node-days down", "3,231.3", ask(DOWN), "fct_node_outages"),
        ]
        rate, low, high, count = con.execute(RATE, {"cluster": HBD}).fetchall()[0]
    return Study(
        "InfiniteHBD: 584 faults of 400 servers",
        "Start and end of faults of GPU servers in 348 days, `stepfun-ai/InfiniteHBD-Trace` on GitHub (Apache-2.0), "
        "kept in `tests/fixtures/hbd`. A start and an end of one server and one kind make a record. "
        "Day 0 of the trace is taken as 1 January 2024. A node is down for the union of its records.",
        figures,
        [
            (
                "The product's own rate, with limits of 90%, has the faults that began within the 348 days; one began "
                "later that day:",
                ("faults", "per 1,000 node-days", "low", "high"),
                [(f"{count:,}", *(f"{value:.3f}" for value in (rate, low, high)))],
            )
        ],
    )


COUNT = """
    select count(*) from marts.fct_unit_failures
    where cluster_id = $cluster and starts_with(coalesce(cause, ''), $cause)
"""
NODE_DAYS = SERVERS * DAYS
RATE = """
    select
        failures_per_1000_unit_days, failures_per_1000_unit_days_low, failures_per_1000_unit_days_high, failure_count
    from estimates.est_unit_failure_rates
    where cluster_id = $cluster and cause = 'all'
"""
DOWN = "select sum(epoch(ended_at - started_at)) / 86400 from marts.fct_node_outages where cluster_id = $cluster"
