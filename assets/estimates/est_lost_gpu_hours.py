"""estimates.est_lost_gpu_hours: the work that infrastructure is expected to have cost each cluster, with limits.

The first screen, the alerts and the metrics show it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from assets.estimates.common_columns import CLUSTER, common_columns
from assets.estimates.reference_rate import joined, of_study
from assets.estimates.table import Column, TableSpec, estimate, numbers, read, with_limits
from assets.model.loss_limits import loss_interval
from assets.seen_days import MIN_SEEN_DAYS, days_left_out, part_of_month, too_few

if TYPE_CHECKING:
    import duckdb
    import pandas as pd

STUDY = ("exposure",)
EXPECTED = ("expected_lost_gpu_hours", "loss_variance", "largest_loss")
SEEN = ("est_failure_rates.failure_count",)
PRICE = ("price_per_gpu_hour",)

AT_LEAST = "at least, of what the logs show, and the leading cause may be another: "

TABLE = TableSpec(
    table="est_lost_gpu_hours",
    description=(
        "Work that infrastructure is expected to have cost: what failures lost, and what restarts after them took from "
        "jobs that were preempted for it, each times the probability that infrastructure was the cause. In the study, "
        "its last 30 days and the 30 days before, both cut to what was seen; in all and by cause. What ended for want "
        "of a cloud's machines has a row of its own and is no part of all. At least, where est_evidence_reach is in "
        "doubt; see note. One row per cluster, period and loss; causes only where there is a loss."
    ),
    key=("cluster_id", "period", "loss"),
    columns=(
        CLUSTER,
        Column(
            "period",
            "varchar",
            "",
            "study: all that accounting holds; last_30_days: the 30 days that end with the study period; "
            "30_days_before: those before them. Both as far as they lie in the study period; what was lost in a gap of "
            "accounting, or on a day on which most nodes in use had no log that was understood, is in the study alone.",
            is_required=True,
        ),
        Column("from_at", "timestamp", "UTC", "Begin of the period. NULL: no study period."),
        Column("to_at", "timestamp", "UTC", "End of the period. NULL: no study period."),
        Column(
            "loss",
            "varchar",
            "",
            "all; a cause, as failure_category: what its failures lost; preemption: what restarts after failures took "
            "from others; capacity: what was lost where a cloud could not give a machine or took it back, by the same "
            "rule and as certain. That is no failure, and no part of all.",
            is_required=True,
        ),
        Column(
            "failure_count",
            "bigint",
            "failures",
            "Failures by the paper's rule, which takes each as certain. NULL: cannot be known.",
            ("failure_count", *SEEN),
        ),
        Column(
            "expected_failure_count",
            "double",
            "failures",
            "Failures to expect, a sum of probabilities. NULL: cannot be known.",
            ("expected_failure_count", *SEEN),
        ),
        Column(
            "lost_gpu_hours",
            "double",
            "GPU-hours",
            "By the paper's rule. NULL: cannot be known, or no loss has a known GPU count.",
            ("lost_gpu_hours", *SEEN),
        ),
        *with_limits(
            "expected_lost_gpu_hours",
            "GPU-hours",
            "Each loss times its probability. NULL: cannot be known, or no loss has a known GPU count.",
            (*EXPECTED, *SEEN),
            "Upper limit of what such a period costs. NULL: no loss, or it cannot be known.",
        ),
        *with_limits(
            "expected_lost_cost",
            "currency",
            "expected_lost_gpu_hours at the cluster's price. NULL: no price, or unknown.",
            (*EXPECTED, *PRICE, *SEEN),
            "Upper limit. NULL: there is none.",
        ),
        Column("currency", "varchar", "", "Currency. NULL: no price."),
        Column(
            "expected_lost_per_1000_gpu_hours",
            "double",
            "GPU-hours per 1,000 GPU-hours",
            "Expected loss of the seen time over the GPU-hours that were allocated in it: what compares between "
            f"periods. NULL: fewer than {MIN_SEEN_DAYS} days were seen, nothing was allocated, or it cannot be known.",
            ("seen_lost_gpu_hours", "allocated_gpu_hours", "exposure", *SEEN),
        ),
        *common_columns(
            "weighted_poisson: limits of a weighted sum of Poisson counts of incidents (Fay and Feuer 1997); "
            "no_loss: nothing was lost, so no upper limit is known; not_observable: losses could not have been seen.",
            "Failures to expect, as expected_failure_count.",
            ("expected_failure_count", *SEEN),
            "Days of the period that were seen: without gaps of accounting and days on which most nodes in use had no "
            "log that was understood.",
            STUDY,
            note_inputs=("estimates.est_evidence_reach.statement", "estimates.est_evidence_reach.is_doubtful"),
        ),
    ),
    inputs=("inp_losses_summed",),
    estimates=("est_evidence_reach", "est_failure_rates"),
)


def with_sight(con: duckdb.DuckDBPyConnection, sums: pd.DataFrame) -> pd.DataFrame:
    """Add whether the failures of a cluster could not have been seen, and why."""
    rates = read(con, "est_failure_rates")
    whole = rates[(rates["population"] == "all") & (rates["counted_as"] == "attempts")]
    unseen = whole.assign(is_unseen=whole["failure_count"].isna(), unseen_note=whole["note"])
    found = sums.merge(unseen[["cluster_id", "is_unseen", "unseen_note"]], "left", "cluster_id")
    return found.assign(is_unseen=found["is_unseen"].isna() | (found["is_unseen"] == True))  # noqa: E712 -- NULL is unseen


def with_losses(sums: pd.DataFrame) -> pd.DataFrame:
    """Add the limits and the cost to the sums of losses; what could not have been seen is unknown."""
    seen = ~sums["is_unseen"].to_numpy(dtype=bool)
    expected, variance = numbers(sums, "expected_lost_gpu_hours"), numbers(sums, "loss_variance")
    loss = loss_interval(expected, variance, numbers(sums, "largest_loss"))
    limits = {"": loss.value, "_low": loss.low, "_high": loss.high}
    price = numbers(sums, "price_per_gpu_hour")
    lost, allocated = numbers(sums, "seen_lost_gpu_hours"), numbers(sums, "allocated_gpu_hours")
    compares = seen & (numbers(sums, "exposure") >= MIN_SEEN_DAYS) & (allocated > 0)
    counts = ("failure_count", "expected_failure_count", "lost_gpu_hours")
    known = {name: sums[name].where(seen, None) for name in counts}
    return sums.assign(
        **known,
        **{f"expected_lost_gpu_hours{end}": np.where(seen, values, np.nan) for end, values in limits.items()},
        **{f"expected_lost_cost{end}": np.where(seen, values * price, np.nan) for end, values in limits.items()},
        expected_lost_per_1000_gpu_hours=1000
        * np.divide(lost, allocated, out=np.full(len(sums), np.nan), where=compares),
        confidence_level=loss.confidence_level,
        method=np.where(seen, loss.method, "not_observable"),
        event_count=known["expected_failure_count"],
        exposure_unit="days",
        note=joined(_unseen(sums), _cut(sums), sums["note"], _doubts(sums)),
    )


def _unseen(sums: pd.DataFrame) -> pd.Series[Any]:
    """Say why losses could not have been seen."""
    return sums["unseen_note"].fillna("no accounting").where(sums["is_unseen"])


def _cut(sums: pd.DataFrame) -> list[str | None]:
    """Say how much of 30 days was seen, where it was not all, and which days were left out."""
    columns = (sums[name] for name in ("period", "exposure", "blind_day_count"))
    said = [
        ("" if period == "study" else too_few(days) or part_of_month(days), days_left_out(blind))
        for period, days, blind in zip(*columns, strict=True)
    ]
    return ["; ".join(filter(None, parts)) or None for parts in said]


def _doubts(sums: pd.DataFrame) -> pd.Series[Any]:
    """Say what the evidence leaves open of losses that could have been seen."""
    is_doubtful = (sums["is_doubtful"] == True) & ~sums["is_unseen"]  # noqa: E712 -- NULL is no doubt
    return (AT_LEAST + sums["statement"]).where(is_doubtful)


def headline(losses: pd.DataFrame) -> str:
    """Return a sentence: what each cluster lost in the study."""
    of_study = losses[(losses["period"] == "study") & (losses["loss"] == "all")]
    return "; ".join(f"{row.cluster_id}: {row.expected_lost_gpu_hours:.4g} GPU-hours" for row in of_study.itertuples())


@estimate(TABLE, headline)
def est_lost_gpu_hours(con: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """Add up what failures and preemptions after them cost, weighted by probability."""
    return with_losses(of_study(con, with_sight(con, read(con, "inp_losses_summed"))))
