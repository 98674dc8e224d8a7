"""estimates.est_lemon_nodes: for each node the probability that it is a lemon, its failure rate, and the verdict.

The root cause of a lemon is that of its repair tickets, as in the paper's table II.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from assets.estimates.common_columns import CLUSTER, common_columns
from assets.estimates.suspects import SEED, SUSPECTS, blame_of, clusters_of, days_ago, of_nodes_in_use
from assets.estimates.table import Column, TableSpec, estimate, numbers, read, with_limits
from assets.model.failure_rate import CONFIDENCE_LEVEL
from assets.model.lemons.gate import compare_with_even_fleets
from assets.model.lemons.signals import SIGNALS, StandingOut, stand_out
from assets.model.lemons.verdicts import LEMON, NOT_ENOUGH_DATA, OK, Verdicts, decide, is_past_burst
from assets.model.node_savings import DAYS_PER_MONTH, Use, node_savings
from assets.rounding import rounded

if TYPE_CHECKING:
    import duckdb

    from assets.model.lemons.culprits import Blame

BLAMED = tuple(f"inp_suspects_listed.{name}" for name in SUSPECTS)
IN_USE = ("in_use_node_days",)
RATE = (*BLAMED, *IN_USE)
USED = ("used_gpu_hours", "attempts_gpu_hours", "days")
PER_NODE_DAYS = "failures per 1,000 node-days"
SAVED = (*RATE, *USED, "incident_loss_gpu_hours", "cluster_lost_gpu_hours")
NOT_USED, GPUS_UNKNOWN = "no job used it in these days", "the GPU counts of its jobs are unknown"
NO_RATE = "its rate is not estimated"
A_MONTH = "GPU-hours per 30 days"

TABLE = TableSpec(
    table="est_lemon_nodes",
    description=(
        "Nodes by the probability that they are lemons: nodes that fail at least three times as often as normal ones. "
        "From the incidents of marts.fct_incident_suspects over days in use, both inside the study period. Failures "
        "without a known culprit are divided by expectation-maximisation, and a fleet of two groups is fitted to the "
        "counts. One row per node of a cluster with accounting."
    ),
    key=("cluster_id", "node_id"),
    columns=(
        CLUSTER,
        Column("node_id", "varchar", "", "Node.", is_required=True),
        Column(
            "rank",
            "bigint",
            "rank, 1 is first",
            "Rank by local false-discovery rate, then by rate. NULL: the data cannot rank the nodes; note says why.",
            RATE,
        ),
        Column("posterior_probability", "double", "ratio 0 to 1", "Probability of a lemon. NULL: as rank.", RATE),
        Column("local_fdr", "double", "ratio 0 to 1", "1 minus posterior_probability.", RATE),
        Column(
            "false_discovery_ratio",
            "double",
            "ratio 0 to 1",
            "Expected share of wrong names among this node and all ranked before it; a list ends at 0.1.",
            RATE,
        ),
        Column("rate", "double", PER_NODE_DAYS, "Rate, shrunk towards its group. NULL: no fleet rate.", RATE),
        Column(
            "rate_low",
            "double",
            PER_NODE_DAYS,
            "Lower limit of the rate; the more likely a lemon, the more it follows from the node's own count.",
            RATE,
        ),
        Column("rate_high", "double", PER_NODE_DAYS, "Upper limit of the rate, likewise.", RATE),
        Column("fleet_rate", "double", PER_NODE_DAYS, "Mean rate of the cluster's normal nodes.", RATE),
        Column(
            "verdict",
            "varchar",
            "",
            "lemon: in the list, with probability 0.7 or more and 2 failures or more, not all within two weeks that "
            "ended a month ago; watch: a probability of more than 1 in 10, or signals of two kinds agree; ok: "
            "neither, and a node that fails 10 times as often as normal would have shown 3 failures on its days with "
            "a log that was understood; not enough data: it would not have shown them.",
            (*RATE, *SIGNALS, "seen_node_days", "thresholds"),
            is_required=True,
        ),
        Column(
            "reasons",
            "varchar",
            "",
            "The reasons for the verdict, in words.",
            (*RATE, *SIGNALS, "seen_node_days", "thresholds"),
        ),
        Column(
            "root_cause",
            "varchar",
            "",
            "Component of a lemon that most of its repair tickets from these days on name, with the number of tickets "
            "that name it: GPU, DIMM, PCIe, EUD, BIOS, NIC, PSU, Optics or CPU; unknown, and why. NULL: no lemon.",
            (*RATE, "root_cause"),
        ),
        Column("signals_above", "varchar[]", "", "Signals above their limits.", (*SIGNALS, "thresholds")),
        Column(
            "thresholds",
            "json",
            "",
            "Configured limits by signal; other signals have a limit from the fleet.",
        ),
        Column(
            "inferred_failure_count",
            "double",
            "failures",
            "Sum of shares of failures with an unknown culprit, in addition to event_count.",
            RATE,
        ),
        Column(
            "days_since_last_failure",
            "double",
            "days",
            "From the last failure that more likely than not is this node's to the end of the last day. NULL: none.",
            (*BLAMED, "window_end_date"),
        ),
        Column(
            "p_value",
            "double",
            "ratio 0 to 1",
            "Probability of counts as uneven in a fleet without lemons, by bootstrap; above 0.05 nobody is ranked.",
            RATE,
        ),
        Column(
            "incident_loss_gpu_hours",
            "double",
            "GPU-hours",
            "Cost of one incident on this node: at most half a checkpoint interval of its attempts' GPUs, as a mean "
            "over all time that they ran, times the attempts that an incident of this cluster ends on its culprit, "
            "and with the cluster's share of second-order losses. NULL: the GPU counts of more than a tenth of that "
            "time are unknown.",
        ),
        *with_limits(
            "saved_gpu_hours_per_month",
            A_MONTH,
            "Loss that a normal node in its place would avoid: excess rate x node-days in use x "
            "incident_loss_gpu_hours. At most attempts_gpu_hours_per_month; for all nodes together, at most what the "
            "cluster lost in these days. The limits are from those of the rate. NULL: see saving_note.",
            SAVED,
        ),
        Column(
            "given_up_gpu_hours_per_month",
            "double",
            A_MONTH,
            "Cost of taking it out: the use of its own GPUs in these days.",
            USED,
        ),
        Column(
            "attempts_gpu_hours_per_month",
            "double",
            A_MONTH,
            "All GPUs of the attempts that ran on it, including those of their other nodes.",
            USED,
        ),
        *with_limits(
            "break_even_days",
            "days",
            "The longest repair that pays: days of its use that equal the savings of the next 30 days.",
            SAVED,
        ),
        Column("saving_note", "varchar", "", "Why the saving is unknown. NULL: it is known.", SAVED),
        Column("window_start_date", "date", "UTC day", "First day counted."),
        Column("window_end_date", "date", "UTC day", "Last day counted."),
        *common_columns(
            "gamma_poisson_mixture: two groups by maximum likelihood, averaged over 50 draws of the unknown culprits; "
            "no_fit: no failure, or no node in use.",
            "Incidents with the node as known culprit, or as the only node that all failed attempts share, by "
            "their probability.",
            BLAMED,
            "Node-days in use within the study period of the cluster.",
            IN_USE,
        ),
    ),
    inputs=("inp_nodes_used", "inp_suspects_listed"),
)


def with_verdicts(nodes: pd.DataFrame, suspects: pd.DataFrame) -> pd.DataFrame:
    """Judge the nodes of every cluster."""
    judged = [judge(*cluster) for cluster in clusters_of(nodes, suspects)]
    return pd.concat(judged) if judged else pd.DataFrame(columns=TABLE.column_names)


def judge(nodes: pd.DataFrame, suspects: pd.DataFrame) -> pd.DataFrame:
    """Judge the nodes of one cluster."""
    suspects = of_nodes_in_use(nodes, suspects)
    blame, exposure = blame_of(nodes, suspects), numbers(nodes, "in_use_node_days")
    signals = np.column_stack([numbers(nodes, signal) for signal in SIGNALS])
    configured = json.loads(nodes["thresholds"].iloc[0])
    standing = stand_out(signals, configured)
    first_ago, last_ago = days_ago(nodes, suspects, blame, nodes["window_end_date"].iloc[0])
    is_over = is_past_burst(first_ago, last_ago)
    gate = None
    if blame.fleet is not None:
        generator = np.random.default_rng(SEED)
        gate = compare_with_even_fleets(blame.event_count, exposure, blame.fleet.single, generator)
    # A node is not called ok because of days without a log of it that was understood.
    time_seen = numbers(nodes, "seen_node_days")
    verdicts = decide(blame, time_seen, standing.is_candidate, is_over, gate)
    seen = [
        when + signs
        for when, signs in zip(
            last_failures(last_ago, is_over, nodes["window_end_date"].iloc[0]),
            sightings(signals, standing, configured),
            strict=True,
        )
    ]
    unknown = np.full(len(nodes), np.nan)
    fit, fleet, is_ranked = blame.nodes, blame.fleet, verdicts.refusal is None
    return nodes.assign(
        rank=pd.array(verdicts.rank, dtype="Int64") if is_ranked else None,
        posterior_probability=fit.posterior_probability if fit and is_ranked else unknown,
        local_fdr=fit.local_fdr if fit and is_ranked else unknown,
        false_discovery_ratio=fit.false_discovery_ratio if fit and is_ranked else unknown,
        rate=1000 * (fit.value if fit else unknown),
        rate_low=1000 * (fit.low if fit else unknown),
        rate_high=1000 * (fit.high if fit else unknown),
        fleet_rate=1000 * fleet.normal.rate if fleet else np.nan,
        verdict=verdicts.verdict,
        reasons=reasons(blame, verdicts, exposure, time_seen, seen),
        root_cause=nodes["root_cause"].where(verdicts.verdict == LEMON, None),
        signals_above=pd.Series([[SIGNALS[number] for number in np.flatnonzero(row)] for row in standing.is_above]),
        inferred_failure_count=blame.event_count - blame.known_count,
        days_since_last_failure=last_ago,
        p_value=gate.p_value if gate else np.nan,
        **savings(nodes, blame, exposure, verdicts.refusal),
        confidence_level=CONFIDENCE_LEVEL,
        method="gamma_poisson_mixture" if fit else "no_fit",
        event_count=blame.known_count,
        exposure=exposure,
        exposure_unit="node-days",
        note=verdicts.refusal,
    )


def savings(nodes: pd.DataFrame, blame: Blame, exposure: np.ndarray, refusal: str | None) -> dict[str, Any]:
    """Compute the columns of what each node costs, and what taking it out saves and costs."""
    fit = blame.nodes if refusal is None else None
    unknown, days = np.full(len(nodes), np.nan), numbers(nodes, "days")[0]
    loss, used, attempts = (numbers(nodes, f"{name}_gpu_hours") for name in ("incident_loss", "used", "attempts"))
    saved = node_savings(
        (fit.value, fit.low, fit.high) if fit else (unknown, unknown, unknown),
        blame.fleet.normal.rate if blame.fleet else np.nan,
        Use(days, exposure, loss, attempts, used, numbers(nodes, "cluster_lost_gpu_hours")[0]),
    )
    limits = {"": saved.value, "_low": saved.low, "_high": saved.high}
    why = np.where(exposure <= 0, NOT_USED, np.where(np.isnan(loss), GPUS_UNKNOWN, refusal or NO_RATE))
    return {
        "incident_loss_gpu_hours": loss,
        **{f"saved_gpu_hours_per_month{end}": value for end, value in limits.items()},
        "given_up_gpu_hours_per_month": saved.given_up,
        "attempts_gpu_hours_per_month": attempts * DAYS_PER_MONTH / days,
        **{f"break_even_days{end}": saved.break_even_days(value) for end, value in limits.items()},
        "saving_note": pd.Series(why).where(np.isnan(saved.value), None),
    }


def sightings(signals: np.ndarray, standing: StandingOut, configured: dict[str, float]) -> list[list[str]]:
    """Return for each node the signals that are above their limits, with the limits."""
    words = [
        f"limit {limit:g}" if signal in configured else f"99th percentile {rounded(limit)}"
        for signal, limit in zip(SIGNALS, standing.limit, strict=True)
    ]
    return [
        [f"{SIGNALS[n]} {rounded(value[n])} ({words[n]})" for n in np.flatnonzero(is_above)]
        for value, is_above in zip(signals, standing.is_above, strict=True)
    ]


def last_failures(days_ago: np.ndarray, is_over: np.ndarray, last_day: Any) -> list[list[str]]:
    """Return for each node the day of its last failure; its age would depend on when the data is said to end.

    >>> last_failures(np.array([34.56, np.nan]), np.array([True, False]), "2026-05-31")
    [['all of one burst, the last on 2026-04-27'], []]
    """
    end = pd.Timestamp(last_day) + pd.Timedelta(days=1)
    return [
        [f"{'all of one burst, ' * bool(over)}the last on {end - pd.Timedelta(days=days):%Y-%m-%d}"]
        if np.isfinite(days)
        else []
        for days, over in zip(days_ago, is_over, strict=True)
    ]


def reasons(
    blame: Blame, verdicts: Verdicts, exposure: np.ndarray, time_seen: np.ndarray, seen: list[list[str]]
) -> list[str]:
    """Return for each node the reasons of its verdict."""
    texts = []
    for number, days in enumerate(exposure):
        known, total = float(blame.known_count[number]), float(blame.event_count[number])
        counted = rounded(known)
        parts = [f"{counted} failure{'s' * (counted != '1')} in {rounded(days)} node-days in use"]
        if total - known >= 0.05:
            parts[0] += f" and {total - known:.1f} inferred"
        if blame.fleet and days > 0 and total >= 1:
            parts[0] += f", {rounded(total / days / blame.fleet.normal.rate, 2)} times as many as a normal node"
        if days - time_seen[number] >= 0.5:
            parts.append(f"no log of it was understood on {rounded(days - time_seen[number], 2)} of these")
        verdict, telling = verdicts.verdict[number], verdicts.telling_count[number]
        if verdict in (OK, NOT_ENOUGH_DATA) and np.isfinite(telling):
            parts.append(f"failing 10 times as often as they do it would have failed {rounded(telling, 2)} times")
        texts.append("; ".join(parts + seen[number]))
    return texts


def headline(judged: pd.DataFrame) -> str:
    """Return a sentence: how many lemons each cluster has, or why that is unknown."""
    found = []
    for cluster_id, own in judged.groupby("cluster_id"):
        count = (own["verdict"] == LEMON).sum()
        found.append(f"{cluster_id}: {own['note'].iloc[0] or f'{count} lemons among {len(own)} nodes'}")
    return "; ".join(found)


@estimate(TABLE, headline)
def est_lemon_nodes(con: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """Infer which node caused each failure, fit the fleet, and judge every node."""
    nodes, suspects = (read(con, name) for name in TABLE.inputs)
    return with_verdicts(nodes, suspects[suspects["is_in_window"]])
