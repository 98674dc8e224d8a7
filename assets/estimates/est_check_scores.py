"""estimates.est_check_scores: which health checks to trust, by the outcome of their onsets.

An onset is judged by what happened to its node afterwards, and by the probabilities of attribution.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assets.estimates.common_columns import CLUSTER, common_columns
from assets.estimates.table import Column, TableSpec, estimate, read, with_limits
from assets.model.check_scores import (
    DROP_BELOW,
    KEEP_ABOVE,
    Onsets,
    early_count,
    lead_quantiles,
    true_share,
    verdict,
)
from assets.model.failure_rate import CONFIDENCE_LEVEL
from assets.model.incident_counts import weighted_interval

if TYPE_CHECKING:
    from collections.abc import Hashable

    import duckdb
    import pandas as pd

ONSETS = ("onset_count",)
IN_FAILURES = ("lead_seconds", "lead_weights")
JUDGED = (
    "onset_count", "judged_count", "true_count", "doubt_variance", "squared_count", "hours", "followed_count",
    "chance_count", "rate_variance", "interrupted_count", "interruption_chance_count",
)  # fmt: skip
SIGHT = ("node_days",)
NAMED = ("lead_seconds", "lead_weights", "lost_count", "failure_count")
RATIO = "ratio 0 to 1"
ALONE = "Failures that no other check or log showed, a sum of probabilities."
LOST = "The part of alone_count that would look like users' errors without the check, as Slurm names no node."
NODE_MONTH_DAYS = 30.0
MIN_BURSTS = 2.0
"""Dispersion above which the note mentions bursts."""

TABLE = TableSpec(
    table="est_check_scores",
    description=(
        "Which health checks to trust: the outcome of their onsets of high or low severity in the study period. An "
        "onset is followed until the first failure, ticket or administrator's outage of its component on its node, and "
        "at most until a boot, another outage, a gap, the end of the data or 7 days. It is true with the probability "
        "that this was a failure or ended an attempt, times max(0, 1 - mu / O): mu of the O onsets followed this way "
        "are expected by chance, at the fleet's rate at other times. It is false if nothing follows in 7 days, half of "
        "them in use; otherwise it is true with a kernel message of the component within 5 minutes. Every other onset "
        "is unknown, never false. One row per cluster and check_name that reported."
    ),
    key=("cluster_id", "check_name"),
    columns=(
        CLUSTER,
        Column("check_name", "varchar", "", "Name of the check in its source.", is_required=True),
        Column(
            "judged_count",
            "bigint",
            "onsets",
            "The part of event_count that is proved or refuted; the rest is unknown.",
            is_required=True,
        ),
        Column(
            "survived_count",
            "bigint",
            "onsets",
            "Onsets during a job on the node that ran for another hour, or COMPLETED after the window of attribution. "
            "This refutes nothing.",
            is_required=True,
        ),
        Column("true_share", "double", RATIO, "Share of judged onsets that are true. NULL: none was judged.", JUDGED),
        Column("low", "double", RATIO, "Lower limit of true_share if every unknown onset is false.", JUDGED),
        Column(
            "high",
            "double",
            RATIO,
            "Upper limit if all onsets that outages and boots ended beyond chance are true. Bursts widen both limits.",
            JUDGED,
        ),
        Column(
            "lead_seconds",
            "double",
            "seconds",
            "Median time from the check's first onset to the end of the failed attempt; negative if the onset came "
            "after. Onsets count in the window of attribution, and up to an hour before it if they are of the "
            "failure's component on its culprit. NULL: the check showed less than half a failure.",
            IN_FAILURES,
        ),
        Column("lead_seconds_p10", "double", "seconds", "10th percentile of the same over the failures.", IN_FAILURES),
        Column("lead_seconds_p90", "double", "seconds", "90th percentile of the same over the failures.", IN_FAILURES),
        *with_limits(
            "false_per_node_month",
            "onsets per 30 node-days",
            "Judged onsets that were false, a sum of probabilities.",
            (*JUDGED, *SIGHT),
            "Upper limit if every unknown onset is false.",
        ),
        Column(
            "drained_node_hours",
            "double",
            "node-hours",
            "Time out of service after onsets with a probability below 0.2, or unknown ones of high severity that a "
            "job survived: unplanned outages requested within half an hour, or within a day if the check's name is "
            "the reason.",
            is_required=True,
        ),
        Column("alone_count", "double", "failures", ALONE, is_required=True),
        Column("lost_count", "double", "failures", LOST, is_required=True),
        Column(
            "verdict",
            "varchar",
            "",
            f"keep: low is above {KEEP_ABOVE:g}; drop: high is below {DROP_BELOW:g}, and lost_count and the failures "
            f"it showed a minute early are at most 1, or 2% of the cluster's; tune: high is below {KEEP_ABOVE:g}; else "
            "cannot tell.",
            (*JUDGED, *NAMED),
            is_required=True,
        ),
        *common_columns(
            "posterior_weighted: onsets weighted by their probability; cannot_be_judged: no onset could be judged; "
            "no_events: the check never failed.",
            "Onsets of high or low severity.",
            ONSETS,
            "Node-days on which checks reported, from the check's first day.",
            SIGHT,
        ),
    ),
    inputs=("inp_checks_counted",),
)


def with_scores(checks: pd.DataFrame) -> pd.DataFrame:
    """Judge each check of each cluster."""
    import pandas as pd

    return pd.DataFrame([_row(check) for check in checks.to_dict("records")], columns=TABLE.column_names)


def _row(check: dict[Hashable, Any]) -> dict[str, Any]:
    onsets = Onsets(*(float(check[name]) for name in JUDGED))
    share, lost_count = true_share(onsets), float(check["lost_count"])
    false = max(onsets.judged_count - onsets.real_count, 0.0)
    node_months = check["node_days"] / NODE_MONTH_DAYS
    known, most = (
        weighted_interval(false + unknown, (false + onsets.variance + unknown) * onsets.dispersion, node_months)
        for unknown in (0.0, onsets.unknown_count)
    )
    early = early_count(check["lead_seconds"], check["lead_weights"])
    lead, lead_p10, lead_p90 = lead_quantiles(check["lead_seconds"], check["lead_weights"])
    is_judged = onsets.judged_count > 0
    return {
        **{name: check[name] for name in ("cluster_id", "check_name", "drained_node_hours", "alone_count")},
        "judged_count": onsets.judged_count,
        "survived_count": check["survived_count"],
        "true_share": share.value,
        "low": share.low,
        "high": share.high,
        "lead_seconds": lead,
        "lead_seconds_p10": lead_p10,
        "lead_seconds_p90": lead_p90,
        "false_per_node_month": known.value if is_judged or not onsets.count else None,
        "false_per_node_month_low": known.low,
        "false_per_node_month_high": most.high,
        "lost_count": lost_count,
        "verdict": verdict(share, max(lost_count, early), float(check["failure_count"])),
        "confidence_level": CONFIDENCE_LEVEL,
        "method": "posterior_weighted" if is_judged else "cannot_be_judged" if onsets.count else "no_events",
        "event_count": onsets.count,
        "exposure": check["node_days"],
        "exposure_unit": "node-days",
        "note": _note(onsets),
    }


def _note(onsets: Onsets) -> str | None:
    if not onsets.count:
        return "it never failed"
    said = []
    if onsets.unknown_count:
        unknown = f"{onsets.unknown_count:.0f} of {onsets.count:.0f} onsets are unknown"
        said.append(f"{unknown}: followed for less than 7 days in use, without a failure")
    if onsets.dispersion > MIN_BURSTS:
        said.append(f"onsets came in bursts: they count as {onsets.count / onsets.dispersion:.2g} single ones")
    return "; ".join(said) or None


def headline(scores: pd.DataFrame) -> str:
    """Return a sentence: how many checks to keep, tune and drop."""
    counts = scores["verdict"].value_counts()
    return ", ".join(f"{counts.get(word, 0)} checks: {word}" for word in ("keep", "tune", "drop", "cannot tell"))


@estimate(TABLE, headline)
def est_check_scores(con: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """Judge the onsets of each health check by their outcome."""
    return with_scores(read(con, "inp_checks_counted"))
