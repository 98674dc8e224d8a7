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
from assets.rounding import rounded
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
        "Expected cost of infrastructure: the work that failures lost, and the work that restarts after them took from "
        "preempted jobs, each times the probability that infrastructure was the cause. For the study, its last 30 days "
        "and the 30 days before, both cut to what was seen; in total and by cause. Losses for lack of a cloud's "
        "machines have their own row and are not in the total. At least these, if est_evidence_reach is in doubt; see "
        "note. One row per cluster, period and loss; causes only where there is a loss."
    ),
    key=("cluster_id", "period", "loss"),
    columns=(
        CLUSTER,
        Column(
            "period",
            "varchar",
            "",
            "study: all that accounting covers; last_30_days: the 30 days that end with the study period; "
            "30_days_before: those before them. Both are cut to the study period; a loss in a gap of accounting, or "
            "on a day when most nodes in use had no log that was understood, counts in study alone.",
            is_required=True,
        ),
        Column("from_at", "timestamp", "UTC", "Start of the period. NULL: no study period."),
        Column("to_at", "timestamp", "UTC", "End of the period. NULL: no study period."),
        Column(
            "loss",
            "varchar",
            "",
            "all; a cause, as failure_category: what its failures lost; preemption: what restarts after failures took "
            "from other jobs; capacity: what was lost because a cloud could not give a machine or took it back, by "
            "the same rule and with certainty. Capacity is no failure, and not in all.",
            is_required=True,
        ),
        Column(
            "failure_count",
            "bigint",
            "failures",
            "Failures by the paper's rule, each as certain. NULL: unknown.",
            ("failure_count", *SEEN),
        ),
        Column(
            "expected_failure_count",
            "double",
            "failures",
            "Expected failures, a sum of probabilities. NULL: unknown.",
            ("expected_failure_count", *SEEN),
        ),
        Column(
            "lost_gpu_hours",
            "double",
            "GPU-hours",
            "By the paper's rule. NULL: unknown, or no loss has a known GPU count.",
            ("lost_gpu_hours", *SEEN),
        ),
        *with_limits(
            "expected_lost_gpu_hours",
            "GPU-hours",
            "Each loss times its probability. NULL: unknown, or no loss has a known GPU count.",
            (*EXPECTED, *SEEN),
            "Upper limit of the expected loss in such a period. NULL: no loss, or unknown.",
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
            "Expected loss in the seen time over the GPU-hours allocated in it, to compare periods. NULL: fewer than "
            f"{MIN_SEEN_DAYS} days were seen, nothing was allocated, or unknown.",
            ("seen_lost_gpu_hours", "allocated_gpu_hours", "exposure", *SEEN),
        ),
        *common_columns(
            "weighted_poisson: limits of a weighted sum of Poisson counts of incidents (Fay and Feuer 1997); "
            "no_loss: nothing was lost, so there is no upper limit; not_observable: no log could have shown losses.",
            "Expected failures, as expected_failure_count.",
            ("expected_failure_count", *SEEN),
            "Seen days of the period: without gaps of accounting and without days when most nodes in use had no log "
            "that was understood.",
            STUDY,
            note_inputs=("estimates.est_evidence_reach.statement", "estimates.est_evidence_reach.is_doubtful"),
        ),
    ),
    inputs=("inp_losses_summed",),
    estimates=("est_evidence_reach", "est_failure_rates"),
)


def with_sight(con: duckdb.DuckDBPyConnection, sums: pd.DataFrame) -> pd.DataFrame:
    """Add whether no log could have shown a cluster's failures, and why."""
    rates = read(con, "est_failure_rates")
    whole = rates[(rates["population"] == "all") & (rates["counted_as"] == "attempts")]
    unseen = whole.assign(is_unseen=whole["failure_count"].isna(), unseen_note=whole["note"])
    found = sums.merge(unseen[["cluster_id", "is_unseen", "unseen_note"]], "left", "cluster_id")
    return found.assign(is_unseen=found["is_unseen"].isna() | (found["is_unseen"] == True))  # noqa: E712 -- NULL is unseen


def with_losses(sums: pd.DataFrame) -> pd.DataFrame:
    """Add limits and cost to the sums of losses. Losses that no log could have shown are unknown."""
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
    """Return the reason why no log could have shown losses."""
    return sums["unseen_note"].fillna("no accounting").where(sums["is_unseen"])


def _cut(sums: pd.DataFrame) -> list[str | None]:
    """Return notes on the seen part of 30 days, if it is not all, and on days left out."""
    columns = (sums[name] for name in ("period", "exposure", "blind_day_count"))
    said = [
        ("" if period == "study" else too_few(days) or part_of_month(days), days_left_out(blind))
        for period, days, blind in zip(*columns, strict=True)
    ]
    return ["; ".join(filter(None, parts)) or None for parts in said]


def _doubts(sums: pd.DataFrame) -> pd.Series[Any]:
    """Return the note on how far the evidence reaches, if a log could have shown losses."""
    is_doubtful = (sums["is_doubtful"] == True) & ~sums["is_unseen"]  # noqa: E712 -- NULL is no doubt
    return (AT_LEAST + sums["statement"]).where(is_doubtful)


def headline(losses: pd.DataFrame) -> str:
    """Return a sentence: what each cluster lost in the study."""
    of_study = losses[(losses["period"] == "study") & (losses["loss"] == "all")]
    return "; ".join(
        f"{row['cluster_id']}: {rounded(row['expected_lost_gpu_hours'], 4)} GPU-hours"
        for row in of_study.to_dict("records")
    )


@estimate(TABLE, headline)
def est_lost_gpu_hours(con: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """Sum the cost of failures and of preemptions after them, weighted by probability."""
    return with_losses(of_study(con, with_sight(con, read(con, "inp_losses_summed"))))
