"""estimates.est_lemon_evaluations: whether past lists of lemons were right, judged by the weeks after them.

Each list is made from the days before a period, and judged by the failures in it.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from assets.estimates.common_columns import CLUSTER, common_columns
from assets.estimates.suspects import (
    SUSPECTS,
    blame_of,
    clusters_of,
    days_ago,
    node_numbers,
    of_nodes_in_use,
    summed,
)
from assets.estimates.table import Column, TableSpec, estimate, numbers, read, with_limits
from assets.model.coincidence import Share, binomial_share
from assets.model.failure_rate import CONFIDENCE_LEVEL
from assets.model.lemons.evaluation import evaluate_forward
from assets.model.lemons.verdicts import LEMON, decide, is_past_burst
from assets.rounding import rounded

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb

WINDOWS = ("last_date", "judged_days", "rate_days")
LISTED = (*(f"inp_suspects_listed.{name}" for name in SUSPECTS), "in_use_node_days", *WINDOWS)
LOST = (*LISTED, "inp_suspects_listed.lost_gpu_hours")
LARGE = ("inp_large_attempts_counted.attempt_count", "inp_large_attempts_counted.failure_count")
RATIO = "ratio 0 to 1"
TOO_SHORT = "the record is too short to make a list and judge it"


TABLE = TableSpec(
    table="est_lemon_evaluations",
    description=(
        "Lists of lemons as they would have been made in the past, judged by the period after. A node proves bad if "
        "its failures have a probability of at most 1% at the rate of normal nodes. One row per cluster and list, and "
        "one for a cluster without a list that can be judged."
    ),
    key=("cluster_id", "window_end_date"),
    columns=(
        CLUSTER,
        Column("window_start_date", "date", "UTC day", "First day behind the list.", WINDOWS),
        Column("window_end_date", "date", "UTC day", "Last day behind the list. NULL: no list.", WINDOWS),
        Column("judged_end_date", "date", "UTC day", "Last day of the period after the list.", WINDOWS),
        Column("listed_count", "bigint", "nodes", "Nodes in the list.", LISTED),
        Column("named_count", "bigint", "nodes", "Listed nodes in use in the period after.", LISTED),
        Column("bad_count", "bigint", "nodes", "Nodes that proved bad.", LISTED),
        Column("judged_count", "bigint", "nodes", "Nodes in use in the period after.", LISTED),
        *with_limits("precision", RATIO, "Named nodes that proved bad. NULL: none named.", LISTED),
        *with_limits("recall", RATIO, "Bad nodes that had been named. NULL: none proved bad.", LISTED),
        *with_limits("lift", "none", "Precision over the share of bad nodes among all. NULL: as precision.", LISTED),
        *with_limits(
            "lost_gpu_hours_avoidable",
            "GPU-hours",
            "Loss of the named nodes beyond the loss of normal nodes in their place.",
            LOST,
        ),
        Column("large_gpu_count", "bigint", "GPUs", "Fewest GPUs of a large job. NULL: none."),
        Column("large_job_count", "bigint", "attempts", "Large attempts that ended in the period after.", LARGE),
        *with_limits("large_job_failure_ratio", RATIO, "Share of these that infrastructure failed.", LARGE),
        *with_limits(
            "large_job_failure_ratio_without_lemons",
            RATIO,
            "The same without the failures that named nodes caused.",
            (*LARGE, *LISTED),
        ),
        *common_columns(
            "forward: precision and recall with Clopper-Pearson limits, hours with Garwood's; not_ranked: the data "
            "before was not enough to name a node; no_period: the record is too short.",
            "Failures of the named nodes in the period after.",
            LISTED,
            "Node-days of the named nodes in the period after, within the study period.",
            LISTED,
        ),
    ),
    inputs=("inp_node_periods_used", "inp_suspects_listed", "inp_large_attempts_counted"),
)


def with_evaluations(uses: pd.DataFrame, suspects: pd.DataFrame, large: pd.DataFrame) -> pd.DataFrame:
    """Judge every list of every cluster."""
    rows = []
    for own, own_suspects in clusters_of(uses, suspects):
        rows += list(evaluations(own, own_suspects, large[large["cluster_id"] == own["cluster_id"].iloc[0]]))
    return pd.DataFrame(rows, columns=TABLE.column_names).astype(
        {column.name: "Int64" for column in TABLE.columns if column.type == "bigint"}
    )


def evaluations(uses: pd.DataFrame, suspects: pd.DataFrame, large: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Judge the lists of one cluster, oldest first. Periods that the record does not cover are left out."""
    first = uses.iloc[0]
    days = int(first["judged_days"])
    oldest = int(first["day_count"]) // days - 1 if days else 0
    common = {
        "cluster_id": first["cluster_id"],
        "large_gpu_count": first["large_gpu_count"],
        "confidence_level": CONFIDENCE_LEVEL,
        "exposure_unit": "node-days",
    }
    if oldest < 1:
        yield {**common, "method": "no_period", "note": TOO_SHORT}
        return
    length = max(1, round(int(first["rate_days"]) / days))
    for period in range(oldest - 1, -1, -1):
        start = min(period + length, oldest)
        window_end = first["last_date"] - timedelta(days=days * (period + 1))
        window = {
            **common,
            "window_start_date": window_end - timedelta(days=days * (start - period) - 1),
            "window_end_date": window_end,
            "judged_end_date": window_end + timedelta(days=days),
        }
        nodes = used_nodes(uses, uses["period"].between(period + 1, start))
        yield evaluation(
            window,
            nodes.assign(node_days_after=used_nodes(uses, uses["period"] == period)["in_use_node_days"]),
            suspects[suspects["period"].between(period + 1, start)],
            suspects[suspects["period"] == period],
            large[large["period"] == period],
        )


def evaluation(
    window: dict[str, Any], nodes: pd.DataFrame, before: pd.DataFrame, after: pd.DataFrame, large: pd.DataFrame
) -> dict[str, Any]:
    """Make a list from the suspects of a window, and judge it by the suspects and large jobs of the period after."""
    before = of_nodes_in_use(nodes, before)
    blame = blame_of(nodes, before)
    verdicts = decide(
        blame,
        numbers(nodes, "in_use_node_days"),
        np.zeros(len(nodes), dtype=bool),
        is_past_burst(*days_ago(nodes, before, blame, window["window_end_date"])),
    )
    is_named = verdicts.verdict == LEMON
    return {
        **window,
        "listed_count": is_named.sum(),
        "method": "not_ranked" if verdicts.refusal else "forward",
        "note": verdicts.refusal,
        **(judged(nodes, after, is_named, blame.fleet.normal.rate) if blame.fleet else {}),
        **large_jobs(large, set(nodes["node_id"][is_named])),
    }


def used_nodes(uses: pd.DataFrame, is_wanted: pd.Series[bool]) -> pd.DataFrame:
    """Sum the time in use of every node over some periods; 0 if it was not used."""
    days = uses["in_use_node_days"].where(is_wanted, 0.0)
    return days.groupby(uses["node_id"], sort=True).sum().reset_index()


def judged(
    nodes: pd.DataFrame, suspects: pd.DataFrame, is_named: NDArray[np.bool_], normal_rate: float
) -> dict[str, Any]:
    """Judge a list by the failures of a period with a known culprit."""
    known = suspects[suspects["is_known"].astype(bool)]
    number = node_numbers(nodes, known)
    found = evaluate_forward(
        is_named,
        summed(number, numbers(known, "incident_probability"), len(nodes)),
        numbers(nodes, "node_days_after"),
        summed(number, numbers(known, "lost_gpu_hours") * numbers(known, "incident_probability"), len(nodes)),
        normal_rate=normal_rate,
    )
    hours = "lost_gpu_hours_avoidable"
    return {
        **{name: getattr(found, name) for name in ("named_count", "bad_count", "judged_count")},
        **limited("precision", found.precision),
        **limited("recall", found.recall),
        **{name: getattr(found, name) for name in ("lift", "lift_low", "lift_high")},
        **{name: getattr(found, name) for name in (hours, f"{hours}_low", f"{hours}_high")},
        "event_count": found.named_failure_count,
        "exposure": found.named_node_days,
    }


def large_jobs(large: pd.DataFrame, named: set[str]) -> dict[str, Any]:
    """Count failed large jobs, with all failures and without those of the named nodes."""
    count, failed = int(large["attempt_count"].sum()), float(large["failure_count"].sum())
    spared = min(failed, float(large.loc[large["node_id"].isin(named), "failure_count"].sum()))
    ratio = "large_job_failure_ratio"
    return {
        "large_job_count": count,
        **limited(ratio, binomial_share(failed, count)),
        **limited(f"{ratio}_without_lemons", binomial_share(failed - spared, count)),
    }


def limited(name: str, share: Share) -> dict[str, float]:
    """Return a share and its limits by column."""
    return {name: share.value, f"{name}_low": share.low, f"{name}_high": share.high}


def headline(lists: pd.DataFrame) -> str:
    """Return a sentence: how many lists were judged, and how often the named nodes failed."""
    ranked = lists[lists["method"] == "forward"]
    return (
        f"{len(ranked)} lists judged: {ranked['named_count'].sum()} nodes named, "
        f"{rounded(ranked['event_count'].sum(), 4)} failures of theirs in {rounded(ranked['exposure'].sum(), 4)} "
        "node-days after"
    )


@estimate(TABLE, headline)
def est_lemon_evaluations(con: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """Make the lists of the past, and judge each by the period after it."""
    uses, suspects, large = (read(con, name) for name in TABLE.inputs)
    return with_evaluations(uses, suspects, large)
