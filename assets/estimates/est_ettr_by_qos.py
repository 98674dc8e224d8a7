"""estimates.est_ettr_by_qos: the measured ETTR of long runs by QOS and size.

The paper's figure 9 shows only the runs of the highest priority. Sites differ in which QOS that is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assets.estimates.common_columns import CLUSTER, common_columns
from assets.estimates.mean_ettr import METHODS, measured_columns, measured_values, spread_note
from assets.estimates.reference_rate import joined
from assets.estimates.table import Column, TableSpec, estimate, read

if TYPE_CHECKING:
    import duckdb
    import pandas as pd

RUNS = ("scheduled_hours",)

TABLE = TableSpec(
    table="est_ettr_by_qos",
    description=(
        "Measured columns of estimates.est_ettr_by_size by the QOS of the runs. Runs of a low QOS are preempted, which "
        "the expected ETTR does not include. One row per cluster, QOS and gpu_size_bin that has runs with at least 24 "
        "scheduled hours."
    ),
    key=("cluster_id", "qos", "gpu_size_bin"),
    columns=(
        CLUSTER,
        Column("qos", "varchar", "", "Slurm's quality of service of the run; unknown: not in the export."),
        Column("gpu_size_bin", "bigint", "GPUs", "GPUs of the run, rounded up to a power of two; NULL: unknown."),
        *measured_columns(),
        *common_columns(
            METHODS,
            "Infrastructure failures of the runs.",
            ("failure_count",),
            "Scheduled hours of the runs.",
            RUNS,
        ),
    ),
    inputs=("inp_runs_summed",),
)


def headline(ettr: pd.DataFrame) -> str:
    """Return a sentence: the number of runs and of QOS."""
    return f"{ettr['run_count'].sum():.0f} runs with 24 scheduled hours and more, in {ettr['qos'].nunique()} QOS"


@estimate(TABLE, headline)
def est_ettr_by_qos(con: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """Average the ETTR of long runs by QOS and size."""
    runs = read(con, "inp_runs_summed")
    groups = runs[runs["is_by_qos"]]
    return groups.assign(**measured_values(groups), note=joined(spread_note(groups)))
