"""estimates.est_hidden_failures: nodes on which more jobs end badly than on others, though Slurm blames no node.

Attempts already attributed to infrastructure do not count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from assets.estimates.common_columns import CLUSTER, common_columns
from assets.estimates.table import WRITTEN, Column, TableSpec, bounded, estimate, numbers, read
from assets.model.failure_rate import CONFIDENCE_LEVEL
from assets.model.false_discovery import FALSE_DISCOVERIES, false_discovery
from assets.model.power import POWER, detectable_effect
from assets.model.stratified_odds import NOT_COMPARED, Floats, StratifiedOdds, stratified_odds

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb

OTHERS_BY_CHANCE = 0.01
"""Largest p-value of a suspect without the user with most such ends."""
SUSPICIONS = {
    "failed_early": "a black hole: jobs fail as soon as they start",
    "timeout": "jobs hang until their time limit",
}
"""The kinds of ends on nodes, and what a node with too many may have."""
COMPARED = (
    "end_count",
    "weight",
    "node_count",
    "is_failed_early",
    "is_timeout",
    "weight_is_failed_early",
    "weight_is_timeout",
)
HELD = ("inp_idle_gpus_summed.held_gpu_hours", "inp_idle_gpus_summed.known_gpu_hours")
EITHER = (*COMPARED, "user_key", *HELD)
Ints = NDArray[np.int64]
IDLE, JOBS = "idle_gpus", "jobs"

TABLE = TableSpec(
    table="est_hidden_failures",
    description=(
        "Failures that Slurm does not report as such: how often jobs fail at once or time out on a node, compared with "
        "jobs of the same users and size on other nodes. Attempts attributed to infrastructure are left out. Also GPUs "
        "that jobs held without use, if accounting has the summaries of jobstats. One row per cluster, kind and node; "
        "for GPUs without use, per cluster."
    ),
    key=("cluster_id", "kind", "node_id"),
    columns=(
        CLUSTER,
        Column(
            "kind",
            "varchar",
            "",
            f"failed_early: FAILED within 5 minutes; timeout: TIMEOUT; {IDLE}: attempts whose GPUs were used for less "
            "than 5% of their time.",
            (),
            is_required=True,
        ),
        Column("node_id", "varchar", "", "Node. NULL: all nodes of the cluster."),
        Column(
            "odds_ratio",
            "double",
            "none",
            "Odds of such an end on the node over the odds in the same strata on other nodes (Mantel-Haenszel). NULL: "
            "nothing to compare, or no upper limit.",
            COMPARED,
        ),
        Column("low", "double", "none", "Lower limit of odds_ratio. NULL: nothing to compare.", COMPARED),
        Column("high", "double", "none", "Upper limit of odds_ratio. NULL: none.", COMPARED),
        Column(
            "q_value",
            "double",
            "ratio 0 to 1",
            "Share of false discoveries among the cluster's rows with this q_value or a lower one, by Benjamini and "
            "Hochberg over all its kinds and nodes. NULL: nothing to compare.",
            COMPARED,
        ),
        Column(
            "is_suspect",
            "boolean",
            "",
            f"q_value is at most {FALSE_DISCOVERIES:g}, and without the user with most such ends beyond expectation "
            f"the p-value is at most {OTHERS_BY_CHANCE:g}: failures of a single user are not enough.",
            COMPARED,
            is_required=True,
        ),
        Column(
            "detectable_effect",
            "double",
            "none",
            f"Odds ratio that {POWER:.0%} of such comparisons would find among as many rows. NULL: {IDLE}, or none.",
            COMPARED,
        ),
        Column(
            "expected_count",
            "double",
            "jobs",
            f"Expected event_count at the odds of other nodes. NULL: {IDLE}.",
            COMPARED,
        ),
        Column(
            "attempt_count",
            "bigint",
            "attempts",
            "Attempts of this kind, each counted.",
            ("attempts_is_failed_early", "attempts_is_timeout", "inp_idle_gpus_summed.attempt_count"),
            is_required=True,
        ),
        Column(
            "user_count",
            "bigint",
            "users",
            "Users of these attempts.",
            ("user_key", "inp_idle_gpus_summed.user_count"),
            is_required=True,
        ),
        Column(
            "held_gpu_hours",
            "double",
            "GPU-hours",
            f"For {IDLE}, GPU-hours of these attempts. NULL: other kinds.",
            ("inp_idle_gpus_summed.held_gpu_hours",),
        ),
        *common_columns(
            "mantel_haenszel; one_sided_limit: no job ended so, or none on other nodes; not_compared: no job of the "
            f"same user and size ended otherwise or on other nodes; measured: {IDLE}.",
            "Jobs with such an end that can be compared: attempts of a user under one name on one node and day are "
            f"one job. For {IDLE}, attempts.",
            EITHER,
            f"Jobs on the node. For {IDLE}, GPU-hours with known use.",
            EITHER,
        ),
    ),
    inputs=("inp_job_ends_by_node_counted", "inp_idle_gpus_summed"),
)


def with_suspects(strata: pd.DataFrame, idle: pd.DataFrame) -> pd.DataFrame:
    """Compare every node by each kind of end, and control false discoveries within each cluster."""
    found = [_idle(idle)] if len(idle) else []
    for cluster_id, own in strata.groupby("cluster_id"):
        compared = pd.concat(_comparisons(own), ignore_index=True)
        p_value = numbers(compared, "p_value")
        compared["q_value"] = q_value = false_discovery(np.where(compared["method"] == NOT_COMPARED, np.nan, p_value))
        tested = int((compared["method"] != NOT_COMPARED).sum())
        compared["detectable_effect"] = bounded(detectable_effect(compared["information"], tested))
        compared["is_suspect"] = (q_value <= FALSE_DISCOVERIES) & (compared["p_of_others"] <= OTHERS_BY_CHANCE)
        found.append(compared.assign(cluster_id=cluster_id))
    columns = [name for name in TABLE.column_names if name not in WRITTEN]
    rows = pd.concat(found, ignore_index=True) if found else pd.DataFrame(columns=["kind", "is_suspect"])
    return rows.assign(
        note=rows["kind"].map(SUSPICIONS).where(rows["is_suspect"].astype(bool)),
        confidence_level=CONFIDENCE_LEVEL,
        exposure_unit=np.where(rows["kind"] == IDLE, "GPU-hours", JOBS),
    ).reindex(columns=columns)


def _idle(clusters: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of GPUs that were held without use."""
    return clusters[["cluster_id", "attempt_count", "user_count", "held_gpu_hours"]].assign(
        kind=IDLE,
        is_suspect=False,
        method="measured",
        event_count=clusters["attempt_count"].astype(float),
        exposure=clusters["known_gpu_hours"],
    )


def _comparisons(strata: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """Compare the nodes of a cluster by each kind of end."""
    stratum, node_count = pd.factorize(strata["stratum"])[0], numbers(strata, "node_count")
    for kind in SUSPICIONS:
        # The sum over nodes has an attempt on several nodes once for each; it is elsewhere for none of them.
        weights = (numbers(strata, name) for name in ("weight", f"weight_is_{kind}"))
        others, bad = ((np.bincount(stratum, x)[stratum] / node_count - x).clip(0) for x in weights)
        yield _compared(strata, f"is_{kind}", others, bad).assign(kind=kind)


def _compared(strata: pd.DataFrame, name: str, others: Floats, others_bad: Floats) -> pd.DataFrame:
    """Return a row for each node of the strata, from rounded sums: their last digits differ between runs."""
    number, nodes = pd.factorize(strata["node_id"], sort=True)
    ends, bad = (numbers(strata, column).round(9) for column in ("end_count", name))
    cells = np.stack([bad, ends, others_bad.round(9), others.round(9)])
    odds = _odds(number, cells, len(nodes))
    user, users = pd.factorize(strata["user_key"])
    of_user = number * len(users) + user
    of_users = np.unique(of_user[bad > 0]) // len(users)
    p_of_others = np.ones(len(nodes))
    if (stands_out := odds.p_value <= FALSE_DISCOVERIES).any():
        kept = stands_out[number] & ~np.isin(of_user, _leading(of_user, number, cells, stands_out[number]))
        p_of_others = _odds(number[kept], cells[:, kept], len(nodes)).p_value
    attempts = np.bincount(number, numbers(strata, f"attempts_{name}"), len(nodes))
    return pd.DataFrame(
        {
            "node_id": nodes,
            "odds_ratio": odds.value,
            "low": odds.low,
            "high": bounded(odds.high),
            "p_value": odds.p_value,
            "p_of_others": p_of_others,
            "information": odds.information,
            "expected_count": odds.expected_count,
            "attempt_count": attempts.astype(int),
            "user_count": np.bincount(of_users, minlength=len(nodes)),
            "method": odds.method,
            "event_count": odds.event_count,
            "exposure": np.bincount(number, ends, len(nodes)),
        }
    )


def _odds(number: Ints, cells: Floats, node_count: int) -> StratifiedOdds:
    bad, ends, others_bad, others = cells
    return stratified_odds(number, bad, ends, others_bad, others, node_count)


def _leading(of_user: Ints, number: Ints, cells: Floats, is_asked: NDArray[np.bool_]) -> Ints:
    """Return for each node the user with most bad ends beyond expectation, as an index into the users on nodes."""
    bad, ends, others_bad, others = cells[:, is_asked]
    users, place = np.unique(of_user[is_asked], return_inverse=True)
    excess = np.bincount(place, bad - ends * (bad + others_bad) / (ends + others))
    node = np.zeros(len(users), dtype=np.int64)
    node[place] = number[is_asked]
    order = np.lexsort((excess, node))
    return users[order][np.append(np.diff(node[order]) > 0, True)]


def headline(rows: pd.DataFrame) -> str:
    """Return a sentence: the suspects by cluster."""
    suspects = rows[rows["is_suspect"].astype(bool)]
    found = zip(suspects["cluster_id"], suspects["kind"], suspects["node_id"], strict=True)
    return "; ".join(f"{cluster_id}: {kind} {node_id}" for cluster_id, kind, node_id in found) or "none"


@estimate(TABLE, headline)
def est_hidden_failures(con: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """Compare how jobs end on each node with the same users' jobs elsewhere."""
    strata = read(con, "inp_job_ends_by_node_counted", "stratum, node_id, cluster_id")
    return with_suspects(strata, read(con, "inp_idle_gpus_summed"))
