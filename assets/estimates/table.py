"""Declares and writes the table of an estimate.

A `TableSpec` gives the DDL, the comments in the database, the schema and lineage in Dagster, the rows of ops.lineage
and the asset's upstream keys.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import dagster as dg
import numpy as np
from numpy.typing import NDArray

from assets.bad_clusters.errors import described, is_of_the_files
from assets.bad_clusters.left_out import LEFT_OUT
from assets.bad_clusters.search import leave_out_bad_clusters
from assets.estimates.method_version import METHOD_VERSION
from assets.model.failure_rate import RateInterval
from assets.model.incident_counts import weighted_interval
from assets.model.month_variation import MonthVariation, month_variation
from assets.model.mttf import nodes_of
from assets.not_computed import COMPUTED, NOT_COMPUTED
from assets.sql import literal
from assets.warehouse import Warehouse, replace_lineage, replace_table

if TYPE_CHECKING:
    import duckdb
    import pandas as pd

Result = dg.MaterializeResult[None]
Compute = Callable[["duckdb.DuckDBPyConnection"], "pd.DataFrame"]
"""Read the inputs of an estimate and return its rows."""
Headline = Callable[["pd.DataFrame"], str]
"""Describe the rows of an estimate in a sentence, which Dagster shows next to the row count."""
_log = logging.getLogger(__name__)
STAGE = "estimates"
"""The stage of clusters left out because an estimate fails on their rows."""
ENOUGH_DATA = "inp_clusters_judged"
"""The input that says whether enough was seen of each cluster."""
NEEDED = (
    "est_evidence_reach",
    "est_failure_rates",
    "est_unit_failure_rates",
    "est_forecast_scores",
    "est_mttf_by_size",
    "est_mttf_projections",
    "est_ettr_by_size",
    "est_lost_gpu_hours",
    "est_lemon_nodes",
)
"""Rates, MTTF, ETTR, losses and lemons, with what these read: if one of them fails, nothing is published."""
WRITTEN = ("method_version", "has_enough_data")
"""The columns that `write` adds."""


@dataclass(frozen=True)
class Column:
    """One column: its DuckDB type, its unit (empty for text and keys), its meaning, and the columns behind it.

    `inputs` names columns of the table's first input, or, as `table.column`, of another input or estimate. The default
    is the column of the same name in the first input. `is_required` forbids NULL.
    """

    name: str
    type: str
    unit: str
    description: str
    inputs: tuple[str, ...] | None = None
    is_required: bool = False

    @property
    def comment(self) -> str:
        """Meaning and unit in one text, the comment in the database."""
        return f"{self.description} Unit: {self.unit}." if self.unit else self.description


@dataclass(frozen=True)
class TableSpec:
    """One table of schema `estimates`: name without schema, meaning and grain, key columns, columns.

    `inputs` names the models of schema `inputs` that it reads, at most four; `estimates` names other estimates.
    `judges_itself` means that its frame says whether enough was seen; `needs_jobs`, that without accounting not enough
    was seen.
    """

    table: str
    description: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]
    inputs: tuple[str, ...] = ()
    estimates: tuple[str, ...] = ()
    judges_itself: bool = False
    needs_jobs: bool = True

    @property
    def name(self) -> str:
        """`schema.table`."""
        return f"estimates.{self.table}"

    @property
    def asset_key(self) -> dg.AssetKey:
        """Schema and table."""
        return dg.AssetKey(["estimates", self.table])

    @property
    def column_names(self) -> list[str]:
        """Names in the order of the table."""
        return [column.name for column in self.columns]

    @property
    def ddl(self) -> str:
        """The text between the parentheses of `create table`."""
        return ",\n".join(f"{c.name} {c.type}{' not null' if c.is_required else ''}" for c in self.columns)

    @property
    def comments(self) -> list[str]:
        """The statements that comment the table and its columns in the database."""
        texts = [("table", self.name, self.description)]
        texts += [("column", f"{self.name}.{column.name}", column.comment) for column in self.columns]
        return [f"comment on {kind} {target} is {literal(text)}" for kind, target, text in texts]

    def lineage(self) -> list[tuple[str, str, str, str]]:
        """Return rows of ops.lineage: table, column, upstream table, upstream column."""
        rows = []
        for column in self.columns:
            own = (column.name,) if column.inputs is None and self.inputs else column.inputs or ()
            for name in own:
                table, _, origin = name.rpartition(".")
                rows.append((self.name, column.name, _place(table or self.inputs[0]), origin))
        return rows

    @property
    def is_of_clusters(self) -> bool:
        """Whether its rows are about clusters, so that `write` adds whether enough was seen."""
        return "cluster_id" in self.column_names and not self.judges_itself

    @property
    def upstream_keys(self) -> list[dg.AssetKey]:
        """The assets whose tables this one reads."""
        # `write` reads the last one
        read = {*self.inputs, *self.estimates} | ({ENOUGH_DATA} if self.is_of_clusters else set())
        return [dg.AssetKey(_place(table).split(".")) for table in sorted(read)]

    @property
    def metadata(self) -> dict[str, Any]:
        """Schema and lineage for Dagster's pages."""
        schema = [dg.TableColumn(name=c.name, type=c.type, description=c.comment) for c in self.columns]
        deps: dict[str, list[dg.TableColumnDep]] = {}
        for _, column, table, origin in self.lineage():
            deps.setdefault(column, []).append(dg.TableColumnDep(dg.AssetKey(table.split(".")), origin))
        return {
            "dagster/column_schema": dg.TableSchema(columns=schema),
            "dagster/column_lineage": dg.TableColumnLineage(deps_by_column=deps),
        }


def _place(table: str) -> str:
    """Put the schema before the name of an input or an estimate that has none yet."""
    return table if "." in table else f"{'inputs' if table.startswith('inp_') else 'estimates'}.{table}"


def read(
    con: duckdb.DuckDBPyConnection, table: str, order: str = "all", *, with_left_out: bool = False
) -> pd.DataFrame:
    """Read an input or an estimate, in the order of its columns or of `order`.

    Without `with_left_out`, exclude rows of clusters that the run leaves out: the table may be older than the reason
    to leave them out.
    """
    shown = "true" if with_left_out else f"cluster_id not in ({LEFT_OUT})"
    return con.execute(f"from {_place(table)} where {shown} order by {order}").df()


def estimate(spec: TableSpec, headline: Headline) -> Callable[[Compute], dg.AssetsDefinition]:
    """Make the asset of the table, which writes what the decorated function returns.

    Key, group, upstream keys and description come from the spec, the sentence about its rows from `headline`.

    A table that reads nothing still comes after the marts, because these create the file of the publication. If the
    function fails on the rows of some clusters, it runs again without them. If it fails for another reason, or an
    estimate that it reads did, the table has no rows; if others need it, the error is raised.
    """

    def made(compute: Compute) -> dg.AssetsDefinition:
        def compute_and_write(warehouse: Warehouse) -> Result:
            with warehouse.writing() as con:
                frame = compute(con)
                return write(con, spec, frame, headline(frame))

        @dg.asset(
            key=spec.asset_key,
            deps=spec.upstream_keys or [dg.AssetKey(["marts", "dim_clusters"])],
            group_name="estimates",
            kinds={"python", "duckdb"},
            description=spec.description,
            metadata=spec.metadata,
        )
        def asset(warehouse: dg.ResourceParam[Warehouse]) -> dg.MaterializeResult[None]:
            with warehouse.writing() as con:
                for table, *_ in con.execute(NOT_COMPUTED).fetchall():
                    if dg.AssetKey(table.split(".")) in spec.upstream_keys:
                        return _write_nothing(con, spec, f"{table} could not be computed")
            try:
                return compute_for_good_clusters(compute_and_write, warehouse, spec.name)
            except Exception as error:  # noqa: BLE001 -- which errors it raises again, it decides
                with warehouse.writing() as con:
                    return publish_without_rows(con, spec, error)

        return asset

    return made


def compute_for_good_clusters(compute: Callable[[Warehouse], Result], warehouse: Warehouse, table: str) -> Result:
    """Compute an estimate without the clusters on whose rows it fails; raise an error that no cluster causes."""

    def explain(error: Exception) -> str:
        return f"{table} could not be made of its rows: {described(error)}"

    try:
        return compute(warehouse)
    except Exception as error:
        if not leave_out_bad_clusters(warehouse, STAGE, error, partial(compute, warehouse), explain):
            raise
    return compute_for_good_clusters(compute, warehouse, table)


def publish_without_rows(con: duckdb.DuckDBPyConnection, spec: TableSpec, error: Exception) -> Result:
    """Write the table of an estimate that cannot be computed; raise the error if others need the estimate."""
    if spec.table in NEEDED or is_of_the_files(error):
        raise error
    _log.error("%s could not be computed", spec.name, exc_info=error)
    return _write_nothing(con, spec, described(error))


def _write_nothing(con: duckdb.DuckDBPyConnection, spec: TableSpec, reason: str) -> Result:
    con.execute(f"create or replace table {spec.name} ({spec.ddl})")
    _write_metadata(con, spec)
    said = f"{spec.description} It could not be computed and has no rows: {reason}"
    con.execute(f"comment on table {spec.name} is {literal(said)}")
    con.execute(
        "insert into ops.checks (run_id, table_name, check_name, passed, is_blocking, observed, expected, checked_at)"
        " select coalesce((select run_id from ops.runs order by rowid desc limit 1), ''), ?, ?, false, false, ?,"
        " 'the estimate can be computed', now()::timestamp",
        [spec.name, COMPUTED, reason],
    )
    return dg.MaterializeResult(metadata={"dagster/row_count": 0, "headline": f"could not be computed: {reason}"})


def write(con: duckdb.DuckDBPyConnection, spec: TableSpec, frame: pd.DataFrame, headline: str) -> Result:
    """Replace the table by the frame's columns, add its comments, and return the result for Dagster.

    Dagster shows the sentence of `headline` next to the row count. Every row gets the version of the methods, and
    whether enough was seen of its cluster; if not, its note begins with the reason.
    """
    frame = frame.assign(method_version=METHOD_VERSION)
    if not spec.judges_itself:
        frame = frame.assign(has_enough_data=True)
    if spec.is_of_clusters:
        frame = _with_enough_data(con, frame, spec.needs_jobs)
    rows = replace_table(con, spec.name, frame[spec.column_names], spec.ddl)
    _write_metadata(con, spec)
    return dg.MaterializeResult(metadata={"dagster/row_count": rows, "headline": headline})


def _write_metadata(con: duckdb.DuckDBPyConnection, spec: TableSpec) -> None:
    con.execute(f"begin; {'; '.join(spec.comments)}; commit")
    replace_lineage(con, [spec.name], spec.lineage())


NO_ACCOUNTING = "no accounting"
"""The note of `ENOUGH_DATA` on a cluster that has none."""


def _with_enough_data(con: duckdb.DuckDBPyConnection, frame: pd.DataFrame, needs_jobs: bool) -> pd.DataFrame:
    enough = con.execute(f"select cluster_id, has_enough_data, note from inputs.{ENOUGH_DATA}").fetchall()
    reasons = {
        cluster_id: reason
        for cluster_id, has_enough_data, reason in enough
        if not has_enough_data and (needs_jobs or reason != NO_ACCOUNTING)
    }
    notes = frame["note"].astype(object).where(frame["note"].notna(), None)
    # A pair of clusters needs enough of both.
    sides = [frame[name] for name in ("cluster_id", "other_cluster_id") if name in frame]
    found = [next((reasons[name] for name in names if name in reasons), None) for names in zip(*sides, strict=True)]
    # Without accounting the notes end here.
    texts = (
        (reason,) if reason == NO_ACCOUNTING else (reason, note) for reason, note in zip(found, notes, strict=True)
    )
    joined: list[Any] = ["; ".join(filter(None, parts)) or None for parts in texts]
    has_enough = np.array([reason is None for reason in found], dtype=bool)
    if "has_enough_records" in frame:
        has_enough &= frame["has_enough_records"].to_numpy(dtype=bool)
    return frame.assign(has_enough_data=has_enough, note=joined)


def with_limits(
    name: str, unit: str, description: str, inputs: tuple[str, ...], upper_limit: str = "Upper limit."
) -> tuple[Column, Column, Column]:
    """Declare the columns of a value and its limits."""
    return (
        Column(name, "double", unit, description, inputs),
        Column(f"{name}_low", "double", unit, "Lower limit.", inputs),
        Column(f"{name}_high", "double", unit, upper_limit, inputs),
    )


def numbers(frame: pd.DataFrame, column: str) -> NDArray[np.float64]:
    """Return a column as floats, with `nan` for NULL."""
    return frame[column].to_numpy(dtype=float, na_value=np.nan)


def node_day_rate(frame: pd.DataFrame, prefix: str = "") -> RateInterval:
    """Compute failures per node-day with limits, from the columns of count, variance and node-days."""
    return weighted_interval(
        numbers(frame, f"{prefix}failure_count"),
        numbers(frame, f"{prefix}failure_variance"),
        numbers(frame, f"{prefix}node_days"),
    )


def nodes_of_jobs(frame: pd.DataFrame) -> NDArray[np.float64]:
    """Count the nodes of jobs of `gpu_count` GPUs, shape (rows,), on a fleet whose nodes may differ in size."""
    names = ("gpu_count", "gpus_per_node", "fleet_gpu_count", "fleet_node_count")
    return nodes_of(*(numbers(frame, name) for name in names))


def variance_of_future(frame: pd.DataFrame, rate: RateInterval, future_days: float) -> NDArray[np.float64]:
    """Compute how far the rate of days to come may differ from the node-day rate of a row, from the months of the rate.

    Parameters
    ----------
    frame
        With the lists `month_failure_counts` and `month_node_days`, empty if no month was seen.
    rate
        The rate of each row; its dispersion is that of a count within a month.
    future_days
        Days to come.

    Returns
    -------
    ndarray
        Variance over squared mean, shape (rows,).
    """
    months = zip(frame["month_failure_counts"], frame["month_node_days"], np.asarray(rate.dispersion), strict=True)
    variations = (_variation(tuple(counts), tuple(node_days), float(phi)) for counts, node_days, phi in months)
    return np.array([float(variation.of_future(future_days)) for variation in variations])


@lru_cache(maxsize=1_000)
def _variation(counts: tuple[float, ...], node_days: tuple[float, ...], dispersion: float) -> MonthVariation:
    """Estimate once for all sizes of a cluster, which have the same months (13 ms)."""
    return month_variation(counts, node_days, dispersion)


def bounded(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Replace `inf`, which means no upper limit in the model, by NULL."""
    return np.where(np.isfinite(values), values, np.nan)
