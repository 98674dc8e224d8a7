"""estimates.est_location_rates: which places of a machine fail more often than the rest, and which lose several nodes.

A cluster has rows for each kind of place with two places or more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from assets.estimates.common_columns import CLUSTER, NODES_OF_JOBS, WEIGHTED_METHODS, common_columns
from assets.estimates.table import Column, TableSpec, bounded, estimate, nodes_of_jobs, numbers, read, with_limits
from assets.model.common_causes import CommonCauses, bursts_of, common_causes, mttf_of_job
from assets.model.false_discovery import FALSE_DISCOVERIES
from assets.model.place_rates import PlaceRates, place_rates
from assets.model.power import LARGEST_RATIO, POWER, detectable_effect

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb
    from numpy.typing import NDArray

KINDS = ("rack", "switch", "nvlink_domain", "position", "gpu_model")
FAILED = tuple(f"inp_incident_nodes_placed.{name}" for name in ("failure_probability", "failed_at", "attempt_id"))
IN_USE = ("node_days",)
RATE = (*FAILED, *IN_USE, *KINDS, "inp_attempt_nodes_placed.node_id")
COMPARED = (*RATE, "est_lemon_nodes.verdict")
LARGE = tuple(f"inp_largest_sizes_found.{name}" for name in NODES_OF_JOBS)
PER_NODE_DAYS = "failures per 1,000 node-days"
RATIO = "ratio 0 to 1"
SAME = 3.0
"""Below this ratio nothing needs to be done about a place."""
LIKELY = 0.5
"""Nodes that failed with at least this probability count in a burst."""
MORE, TOGETHER, BOTH, NO_MORE, CANNOT_TELL = "fails more", "fails together", "both", "no difference", "cannot tell"
KIND = Column(
    "place_kind",
    "varchar",
    "",
    "rack, switch, nvlink_domain, position (in the rack, over all racks) or gpu_model: columns of dim_nodes.",
    KINDS,
    is_required=True,
)

TABLE = TableSpec(
    table="est_location_rates",
    description=(
        "Failures of nodes by place, compared with the rest of the cluster: which racks, switches, NVLink domains, "
        "positions and GPU models fail more often, and which lose several nodes at once. One row per cluster, kind of "
        "place and place."
    ),
    key=("cluster_id", "place_kind", "place"),
    columns=(
        CLUSTER,
        KIND,
        Column("place", "varchar", "", "Name of the place. NULL: all places of the kind together.", KINDS),
        Column(
            "node_count",
            "bigint",
            "nodes",
            "Nodes of the place that were in use.",
            (*IN_USE, *KINDS),
            is_required=True,
        ),
        *with_limits(
            "failures_per_1000_node_days",
            PER_NODE_DAYS,
            "Failures of its nodes over their days in use. The limits allow for differences of nodes and bursts.",
            RATE,
        ),
        Column(
            "ratio",
            "double",
            "none",
            "Its rate over the rate of all other places of the kind, without their lemons. NULL: it has fewer than 3 "
            "nodes, or no other place failed.",
            COMPARED,
        ),
        Column("low", "double", "none", "Lower limit of the ratio.", COMPARED),
        Column("high", "double", "none", "Upper limit of the ratio. NULL: none.", COMPARED),
        Column(
            "q_value",
            "double",
            RATIO,
            "Expected share of wrong names among places that fail more often than the rest, if the list ends with "
            "this one (Benjamini-Hochberg within the kind). Its node with most failures is left out, so that a lemon "
            "makes no bad rack. NULL: fewer than 3 nodes.",
            COMPARED,
        ),
        Column(
            "detectable_effect",
            "double",
            "none",
            f"Ratio that {POWER:.0%} of such comparisons would find among as many places. NULL: not compared.",
            COMPARED,
        ),
        Column(
            "burst_count",
            "bigint",
            "bursts",
            "Bursts that took two or more of its nodes. Likely failures with no more than 10 minutes between them are "
            "one burst.",
            RATE,
            is_required=True,
        ),
        Column(
            "expected_burst_count",
            "double",
            "bursts",
            "The same if each burst took nodes by their days in use; nodes of one job, by where the job ran.",
            RATE,
            is_required=True,
        ),
        *with_limits(
            "common_cause_share",
            RATIO,
            "Share of its failures that come together with others of the place, beyond chance. NULL: no failure.",
            RATE,
        ),
        Column(
            "common_cause_q_value",
            "double",
            RATIO,
            "As q_value, among places that lose several nodes at once more often than by chance; for all together, "
            "the probability of as many by chance.",
            RATE,
            is_required=True,
        ),
        Column(
            "verdict",
            "varchar",
            "",
            f"{MORE}: q_value is at most {FALSE_DISCOVERIES}; {TOGETHER}: common_cause_q_value is; {BOTH}; {NO_MORE}: "
            f"neither, high is at most {SAME:.0f}, and detectable_effect at most {LARGEST_RATIO:g}; {CANNOT_TELL}: it "
            f"may fail that much more often. All places together: {TOGETHER}, or {CANNOT_TELL}.",
            COMPARED,
            is_required=True,
        ),
        Column(
            "same_nodes_as",
            "varchar",
            "",
            "Places of other kinds with the same nodes in use: one finding. For a place that fails more or together, "
            "others that do so too, if one has all nodes of the other and at most as many again. NULL: "
            "none.",
            (*IN_USE, *KINDS, "est_lemon_nodes.verdict"),
        ),
        Column(
            "large_gpu_count",
            "bigint",
            "GPUs",
            "For all places together: size of a large job, the largest with 1% of the cluster's node-days.",
            ("inp_largest_sizes_found.gpu_count",),
        ),
        *with_limits(
            "mttf_hours",
            "hours",
            "Mean time to failure of a job of that size on nodes drawn from all. A burst ends it once, whatever the "
            "number of nodes it takes. NULL: no failure, no job with GPUs, or the row is of one place.",
            (*RATE, *LARGE),
            "Upper limit. NULL: none.",
        ),
        *with_limits(
            "independent_mttf_hours",
            "hours",
            "The same if each node failed by itself.",
            (*RATE, *LARGE),
            "Upper limit. NULL: none.",
        ),
        *common_columns(
            WEIGHTED_METHODS,
            "Failures of nodes, a sum of probabilities: each node that an incident took down counts.",
            FAILED,
            "Days that nodes were in use and had a log that was understood; if no node had one, all days in use.",
            IN_USE,
        ),
    ),
    inputs=("inp_nodes_placed", "inp_incident_nodes_placed", "inp_attempt_nodes_placed", "inp_largest_sizes_found"),
    estimates=("est_lemon_nodes",),
)


@dataclass(frozen=True)
class Kind:
    """The nodes of a cluster that have a place of one kind, and their failures.

    Attributes
    ----------
    nodes
        Nodes in use, numbered from 0.
    code, names
        Number of each node's place, and the names of the places.
    failures
        Each node that failed in a burst, once.
    node
        Number of the node of each failure.
    together
        Numbers of bursts in each place, and in all of them.
    large
        Size of a large job, and the columns that its nodes follow from; no row if no job has GPUs.
    """

    cluster_id: str
    name: str
    nodes: pd.DataFrame
    code: NDArray[np.intp]
    names: list[str]
    failures: pd.DataFrame
    node: NDArray[np.intp]
    together: CommonCauses
    large: pd.DataFrame


def kinds_of(con: duckdb.DuckDBPyConnection) -> Iterator[Kind]:
    """Yield each kind of place with several places in a cluster."""
    nodes = read(con, "inp_nodes_placed")
    lemons = read(con, "est_lemon_nodes").query("verdict == 'lemon'")[["cluster_id", "node_id"]]
    nodes = nodes.merge(lemons.assign(is_lemon=True), "left", ["cluster_id", "node_id"])
    nodes["is_lemon"] = nodes["is_lemon"].notna()
    failures = read(con, "inp_incident_nodes_placed", "cluster_id, failed_at, incident_id, node_id")
    job_nodes, large = read(con, "inp_attempt_nodes_placed"), read(con, "inp_largest_sizes_found")
    for cluster_id, own in nodes.groupby("cluster_id"):
        failed = _in_bursts(own, failures[failures["cluster_id"] == cluster_id])
        of_jobs = job_nodes[job_nodes["cluster_id"] == cluster_id]
        for name in KINDS:
            placed = own[own[name].notna() & (own["node_days"] > 0)].reset_index(drop=True)
            if placed[name].nunique() > 1:
                code, names = pd.factorize(placed[name], sort=True)
                of_kind = failed[failed["node_id"].isin(placed["node_id"])]
                node = pd.Index(placed["node_id"]).get_indexer(of_kind["node_id"])
                together = _together(placed, code, node, of_kind, of_jobs)
                size = large[large["cluster_id"] == cluster_id]
                yield Kind(str(cluster_id), name, placed, code, list(names), of_kind, node, together, size)


def _in_bursts(nodes: pd.DataFrame, failures: pd.DataFrame) -> pd.DataFrame:
    """Assign a number to each burst, and keep each node once in each."""
    failed = failures[failures["node_id"].isin(nodes["node_id"])]
    is_likely = numbers(failed, "failure_probability") >= LIKELY
    failed = failed.assign(burst=bursts_of(numbers(failed, "seconds"), is_likely))
    likeliest_first = failed.sort_values("failure_probability", ascending=False, kind="stable")
    return likeliest_first.drop_duplicates(["burst", "node_id"])


def _together(
    nodes: pd.DataFrame,
    code: NDArray[np.intp],
    node: NDArray[np.intp],
    failures: pd.DataFrame,
    job_nodes: pd.DataFrame,
) -> CommonCauses:
    """Count the bursts in places. A job that lost several nodes drew them from its own nodes."""
    is_likely = numbers(failures, "failure_probability") >= LIKELY
    likely, place = failures[is_likely], code[node[is_likely]]
    days = np.bincount(code, numbers(nodes, "node_days"))
    several = likely.groupby(["burst", "attempt_id"])["node_id"].transform("size") > 1
    known = pd.Series(code, index=nodes["node_id"]).reindex(job_nodes["node_id"])
    jobs = job_nodes.assign(place=known.to_numpy())[known.notna().to_numpy()]
    jobs = jobs[jobs["attempt_id"].isin(likely.loc[several, "attempt_id"])]
    shares = pd.crosstab(jobs["attempt_id"], jobs["place"], normalize="index").reindex(columns=range(len(days)))
    draw = np.where(several, pd.Index(shares.index).get_indexer(likely["attempt_id"]) + 1, 0)
    chances = np.vstack([days / days.sum(), shares.fillna(0.0).to_numpy().reshape(-1, len(days))])
    return common_causes(pd.factorize(likely["burst"])[0], place, draw, chances)


def with_rates(kind: Kind) -> pd.DataFrame:
    """Compare each place of a kind with the rest; the last row is for all places together."""
    days, probability = numbers(kind.nodes, "node_days"), numbers(kind.failures, "failure_probability")
    is_lemon = kind.nodes["is_lemon"].to_numpy(dtype=bool)
    own, all_own = (
        place_rates(code, days, kind.node, kind.failures["burst"], probability, is_lemon)
        for code in (kind.code, np.zeros(len(days), dtype=np.intp))
    )

    def each(name: str, part: str = "rate") -> NDArray[np.float64]:
        return np.concatenate([getattr(getattr(rates, part), name) for rates in (own, all_own)])

    rows = pd.DataFrame({
        "cluster_id": kind.cluster_id,
        "place_kind": kind.name,
        "place": [*kind.names, None],
        "node_count": np.concatenate([own.node_count, all_own.node_count]),
        "failures_per_1000_node_days": 1000 * each("value"),
        "failures_per_1000_node_days_low": 1000 * each("low"),
        "failures_per_1000_node_days_high": 1000 * each("high"),
        "ratio": each("value", "ratio"),
        "low": each("low", "ratio"),
        "high": bounded(each("high", "ratio")),
        "q_value": np.append(own.q_value, np.nan),
        "detectable_effect": np.append(_detectable(own), np.nan),
        "burst_count": kind.together.burst_count,
        "expected_burst_count": kind.together.expected_count,
        "common_cause_share": kind.together.share,
        "common_cause_share_low": kind.together.low,
        "common_cause_share_high": kind.together.high,
        "common_cause_q_value": kind.together.q_value,
        "confidence_level": own.rate.confidence_level,
        "method": each("method"),
        "event_count": each("event_count"),
        "exposure": each("exposure"),
        "exposure_unit": "node-days",
        "note": None,
    })  # fmt: skip
    is_more, is_together = (rows[name] <= FALSE_DISCOVERIES for name in ("q_value", "common_cause_q_value"))
    is_alike = (rows["high"] <= SAME) & (rows["detectable_effect"] <= LARGEST_RATIO)
    verdicts = [is_more & is_together, is_more, is_together, is_alike]
    rows["verdict"] = np.select(verdicts, [BOTH, MORE, TOGETHER, NO_MORE], CANNOT_TELL)
    return rows.join(pd.DataFrame(_times(kind), index=rows.index[-1:]))


def _detectable(rates: PlaceRates) -> NDArray[np.float64]:
    tested = np.isfinite(rates.q_value)
    return np.where(tested, bounded(detectable_effect(rates.information, int(tested.sum()))), np.nan)


def with_same_nodes(rows: pd.DataFrame, kinds: list[Kind]) -> pd.DataFrame:
    """Return for each place the places of other kinds that are one finding with it."""
    nodes = {
        (kind.cluster_id, kind.name, place): frozenset(kind.nodes["node_id"][kind.code == code])
        for kind in kinds
        for code, place in enumerate(kind.names)
    }
    keys = list(zip(rows["cluster_id"], rows["place_kind"], rows["place"], strict=True))
    is_found = dict(zip(keys, rows["verdict"].isin([MORE, TOGETHER, BOTH]), strict=True))

    def are_one(key: tuple[str, str, str], other: tuple[str, str, str]) -> bool:
        if key[0] != other[0] or key[1] == other[1]:
            return False
        few, many = sorted((nodes[key], nodes[other]), key=len)
        return few == many or (is_found[key] and is_found[other] and few < many and len(many) <= 2 * len(few))

    same = ["; ".join(f"{one[1]} {one[2]}" for one in nodes if key in nodes and are_one(key, one)) for key in keys]
    return rows.assign(same_nodes_as=pd.Series(same, rows.index).where(lambda names: names != "", None))


def _times(kind: Kind) -> dict[str, Any]:
    """Compute the MTTF of a large job, with bursts in places and without."""
    failed = kind.failures.assign(place=kind.code[kind.node])
    bursts = failed.groupby(["burst", "place"])["failure_probability"].agg(["sum", "max"])
    machine, has_size = len(kind.nodes), len(kind.large) > 0
    job = min(float(nodes_of_jobs(kind.large)[0]), machine) if has_size else np.nan
    row: dict[str, Any] = {"large_gpu_count": kind.large["gpu_count"].iloc[0] if has_size else None}
    for name, taken, probability in (
        ("mttf_hours", bursts["sum"] / bursts["max"], bursts["max"]),
        ("independent_mttf_hours", np.ones(len(failed)), failed["failure_probability"]),
    ):
        found = mttf_of_job(taken, probability, job, machine, float(kind.nodes["node_days"].sum()))
        row |= {name: bounded(found.hours), f"{name}_low": found.low, f"{name}_high": bounded(found.high)}
    return row


def headline(rates: pd.DataFrame) -> str:
    """Return a sentence: the places that differ, by cluster."""
    found = rates[rates["verdict"].isin([MORE, TOGETHER, BOTH]) & rates["place"].notna()]
    names = found["cluster_id"] + ": " + found["place_kind"] + " " + found["place"] + " " + found["verdict"]
    return "; ".join(names) or f"{len(rates)} places, none of them differs"


@estimate(TABLE, headline)
def est_location_rates(con: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """Compare the places of each kind, and compare the bursts in them with chance."""
    kinds = list(kinds_of(con))
    found = [with_rates(kind) for kind in kinds]
    return with_same_nodes(pd.concat(found), kinds) if found else pd.DataFrame(columns=TABLE.column_names)
