"""estimates.est_ettr_grid: the expected ETTR at any size, failure rate and checkpoint interval; the paper's figure 10.

The table uses no data. Rates are assumed; estimates.est_failure_rates has the rates of the clusters.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from assets.estimates.common_columns import METHOD_VERSION_COLUMN
from assets.estimates.table import Column, TableSpec, estimate, numbers
from assets.model.checkpoint import longest_minutes
from assets.model.ettr import expected_ettr, expected_ettr_exact
from assets.model.mttf import mttf_at_scale, nodes_of
from assets.model.run_plan import ASSUMED, assumed_rate

if TYPE_CHECKING:
    import duckdb
    import pandas as pd

TARGET = 0.9
RATIO = "ratio 0 to 1"

TABLE = TableSpec(
    table="est_ettr_grid",
    description=(
        "Expected ETTR of long runs without queue at assumed failure rates, by the paper's form and by the exact "
        "renewal form. One row per gpu_count, failure rate, checkpoint_minutes and scenario of costs."
    ),
    key=("scenario", "gpu_count", "failures_per_1000_node_days", "checkpoint_minutes"),
    columns=(
        Column(
            "scenario",
            "varchar",
            "",
            "What restart and write cost. free_writes: 5 and 0 minutes, the paper's first version; blocking_writes: 5 "
            "and 5 minutes, its second; async_writes: 5 minutes and 10 seconds; fast_restart: 2 and 0 minutes.",
            (),
            is_required=True,
        ),
        Column("gpu_count", "bigint", "GPUs", "Size of the run.", (), is_required=True),
        Column("node_count", "bigint", "nodes", "gpu_count / 8, rounded up.", (), is_required=True),
        Column(
            "failures_per_1000_node_days",
            "double",
            "failures per 1,000 node-days",
            "Assumed failure rate; 6.5 and 2.34 are those of the paper's clusters.",
            (),
            is_required=True,
        ),
        Column("checkpoint_minutes", "double", "minutes", "Work between two checkpoints.", (), is_required=True),
        Column(
            "restart_minutes", "double", "minutes", "From an attempt's start to its first step.", (), is_required=True
        ),
        Column("write_minutes", "double", "minutes", "Time that one checkpoint stops the work.", (), is_required=True),
        Column("mttf_hours", "double", "hours", "Mean time between failures of the run.", (), is_required=True),
        Column("ettr_expected", "double", RATIO, "By the paper's form; at least 0.", (), is_required=True),
        Column("ettr_expected_exact", "double", RATIO, "By the renewal form.", (), is_required=True),
        Column("ettr_target", "double", RATIO, "Target of checkpoint_minutes_longest.", (), is_required=True),
        Column(
            "checkpoint_minutes_longest",
            "double",
            "minutes",
            "Longest interval that reaches the target by the renewal form: the line through the grid. NULL: none does.",
            (),
        ),
        Column("confidence_level", "double", RATIO, "NULL: nothing is estimated.", ()),
        Column("method", "varchar", "", "assumed: the failure rate is an assumption.", (), is_required=True),
        METHOD_VERSION_COLUMN,
        Column("has_enough_data", "boolean", "", "True: nothing is estimated.", (), is_required=True),
        Column("event_count", "bigint", "events", "NULL: no events are counted.", ()),
        Column("exposure", "double", "node-days", "NULL: no exposure is counted.", ()),
    ),
)


GPU_COUNTS = (1024, 2048, 4096, 8000, 8192, 12000, 16000, 16384, 32768, 65536, 100000, 131072)
RATES = (0.5, 1.0, 1.5, 2.34, 3.5, 5.0, 6.5, 8.0, 10.0, 15.0)
INTERVALS = (1.0, 2.0, 5.0, 7.0, 10.0, 15.0, 21.0, 30.0, 45.0, 60.0, 90.0, 120.0)
SCENARIOS = {
    "free_writes": (5.0, 0.0),
    "blocking_writes": (5.0, 5.0),
    "async_writes": (5.0, 10 / 60),
    "fast_restart": (2.0, 0.0),
}
"""Minutes of a restart and of a write: the paper's first and second version, background writes, a fast restart.

Sizes and rates include those that the paper names: 8,000, 12,000, 16,000 and 100,000 GPUs, 6.5 and 2.34 failures per
1,000 node-days.
"""


def combinations() -> pd.DataFrame:
    """Return every size, failure rate and interval in every scenario of costs; nothing is measured here."""
    import pandas as pd

    rows = product(SCENARIOS, GPU_COUNTS, RATES, INTERVALS)
    names = ("scenario", "gpu_count", "failures_per_1000_node_days", "checkpoint_minutes")
    grid = pd.DataFrame(rows, columns=names)
    costs = pd.DataFrame(grid["scenario"].map(SCENARIOS).tolist(), columns=["restart_minutes", "write_minutes"])
    return grid.join(costs).assign(gpus_per_node=8)


def with_expectations(grid: pd.DataFrame) -> pd.DataFrame:
    """Add both expected forms and the longest interval that reaches the target."""
    nodes = nodes_of(numbers(grid, "gpu_count"), numbers(grid, "gpus_per_node"))
    rate = assumed_rate(numbers(grid, "failures_per_1000_node_days") / 1000)
    per_day, checkpoint = nodes * rate.value, numbers(grid, "checkpoint_minutes")
    costs = {name: numbers(grid, name) for name in ("restart_minutes", "write_minutes")}
    return grid.assign(
        node_count=nodes,
        mttf_hours=mttf_at_scale(rate, nodes).hours,
        ettr_expected=expected_ettr(per_day, checkpoint, **costs),
        ettr_expected_exact=expected_ettr_exact(per_day, checkpoint, **costs),
        ettr_target=TARGET,
        checkpoint_minutes_longest=longest_minutes(per_day, TARGET, **costs),
        confidence_level=None,
        method=ASSUMED,
        event_count=None,
        exposure=None,
    )


def headline(grid: pd.DataFrame) -> str:
    """Return a sentence: the number of combinations, and the target."""
    return f"{len(grid):,} combinations; {TARGET} is the target of the line"


@estimate(TABLE, headline)
def est_ettr_grid(con: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """Compute both expected forms on the whole grid."""
    return with_expectations(combinations())
