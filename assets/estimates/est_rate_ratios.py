"""estimates.est_rate_ratios: the ratio of two failure rates, between clusters and between periods.

Pairs of clusters come from estimates.est_failure_rates; periods are counted in the same way, before and after a day.
The row months answers "worse than last month?".
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assets.estimates.common_columns import CLUSTER, common_columns
from assets.estimates.reference_rate import joined
from assets.estimates.table import ENOUGH_DATA, Column, TableSpec, bounded, estimate, numbers, read, with_limits
from assets.model.rate_ratio import common_dispersion, rate_ratio
from assets.seen_days import MIN_SEEN_DAYS, days_left_out, too_few

if TYPE_CHECKING:
    import duckdb
    import pandas as pd


def _of(name: str) -> tuple[str, ...]:
    """Name a column of both sides of the halves, the months and the paired rates."""
    periods = (name, f"other_{name}", f"inp_last_months_counted.{name}", f"inp_last_months_counted.other_{name}")
    return (*periods, f"est_failure_rates.{name}")


STUDY = ("boundary_date", "inp_last_months_counted.boundary_date")
EVENTS = _of("failure_count")
VARIANCES = _of("failure_variance")
NODE_DAYS = _of("node_days")
RATE = (*EVENTS, *NODE_DAYS)
RATIO = (*RATE, *VARIANCES)
DAYS = ("inp_last_months_counted.seen_days", "inp_last_months_counted.other_seen_days")
UNIT = "failures per 1,000 node-days"
MIN_FAILURES = 3
"""Two periods with fewer failures each show nothing about a change."""
WORSE, BETTER, NO_CHANGE, CANNOT_TELL = "worse", "better", "no change shown", "cannot tell"

TABLE = TableSpec(
    table="est_rate_ratios",
    description=(
        "Failures per node-day of one side over those of another, with conditional binomial limits, wider if failures "
        "share incidents or may be none. Compared are every pair of clusters; within a cluster's study period, the "
        "later half of the days with the earlier; and in incidents, the last 30 days with the 30 days before, both cut "
        "to what was seen. One row per comparison, cluster, other cluster, boundary_date, population and way of "
        "counting."
    ),
    key=("comparison", "cluster_id", "other_cluster_id", "boundary_date", "population", "counted_as"),
    inputs=("inp_halves_counted", "inp_last_months_counted", ENOUGH_DATA),
    estimates=("est_failure_rates",),
    columns=(
        Column(
            "comparison",
            "varchar",
            "",
            "clusters: cluster_id over other_cluster_id; halves: from boundary_date on over before it; months: the 30 "
            "days that end with the study period over the 30 days before; the later ones begin on boundary_date, at "
            "the hour at which the study period ends.",
            (),
            is_required=True,
        ),
        CLUSTER,
        Column(
            "other_cluster_id",
            "varchar",
            "",
            "Cluster to divide by; the same one if periods are compared.",
            ("cluster_id",),
            is_required=True,
        ),
        Column(
            "boundary_date",
            "date",
            "UTC day",
            "First day of the later period. NULL: clusters, or no study period.",
            STUDY,
        ),
        Column(
            "population",
            "varchar",
            "",
            "As in est_failure_rates. clusters: gpus_gt_128 or all; halves: all; months: each population, and in all "
            "every incident counts once, over the days that nodes were in use.",
            ("est_failure_rates.population", "inp_last_months_counted.population"),
            is_required=True,
        ),
        Column(
            "counted_as",
            "varchar",
            "",
            "attempts or incidents, as in est_failure_rates; months: incidents. Between periods, an incident with all "
            "its attempts counts at its first failure.",
            ("counted_as", "est_failure_rates.counted_as"),
            is_required=True,
        ),
        Column(
            "is_reference",
            "boolean",
            "",
            "Whether it is the ratio to quote: counted as attempts, for gpus_gt_128 if that is the reference of both "
            "clusters; for months, of all incidents.",
            ("est_failure_rates.is_reference",),
            is_required=True,
        ),
        Column("is_simulated", "boolean", "", "The first side is simulated.", (f"{ENOUGH_DATA}.is_simulated",)),
        Column(
            "other_is_simulated",
            "boolean",
            "",
            "The second side is simulated.",
            (f"{ENOUGH_DATA}.is_simulated",),
        ),
        Column("failure_count", "double", "failures", "Sum of probabilities of the first side. NULL: unknown.", EVENTS),
        Column("node_days", "double", "node-days", "Node-days of the first side. NULL: unknown.", NODE_DAYS),
        Column("rate", "double", UNIT, "Rate of the first side.", RATE),
        Column(
            "other_failure_count",
            "double",
            "failures",
            "Sum of probabilities of the second side. NULL: unknown.",
            EVENTS,
        ),
        Column("other_node_days", "double", "node-days", "Node-days of the second side. NULL: unknown.", NODE_DAYS),
        Column("other_rate", "double", UNIT, "Rate of the second side.", RATE),
        *with_limits(
            "ratio",
            "none",
            f"rate over other_rate. NULL: see note; fewer than {MIN_SEEN_DAYS} days were seen of one of two months.",
            (*RATIO, *DAYS),
            "Upper limit. NULL: there is none.",
        ),
        Column("p_value", "double", "ratio 0 to 1", "P-value of equal rates, two-sided.", (*RATIO, *DAYS)),
        Column(
            "verdict",
            "varchar",
            "",
            f"{WORSE}: the limits of the ratio are above 1; {BETTER}: below 1; {NO_CHANGE}: they include 1; "
            f"{CANNOT_TELL}: both sides have fewer than {MIN_FAILURES} failures, a side is unknown, or too little was "
            "seen.",
            (*RATIO, *DAYS),
            is_required=True,
        ),
        *common_columns(
            "conditional_binomial: Clopper and Pearson's limits of the split; conditional_beta: the same limits, at a "
            "common dispersion, for counts that are not whole or scatter more than Poisson counts; no_events: neither "
            "side has one; no_exposure: a side has no node-days, is unknown or too short.",
            "Failures of both sides.",
            EVENTS,
            "Node-days of both sides.",
            NODE_DAYS,
        ),
    ),
)


SIDE = ("failure_count", "failure_variance", "node_days")
CELL = ["population", "counted_as"]


def compared(con: duckdb.DuckDBPyConnection, *, with_left_out: bool = False) -> pd.DataFrame:
    """Compare all pairs of clusters, and the periods of each cluster.

    With `with_left_out`, include clusters that the run leaves out, once their last good rows are in place.
    """
    import pandas as pd

    shown = partial(read, con, with_left_out=with_left_out)
    rates = shown("est_failure_rates")
    halves = shown("inp_halves_counted").assign(comparison="halves", population="all")
    halves["is_reference"] = halves["counted_as"] == "attempts"
    months = shown("inp_last_months_counted").assign(comparison="months", counted_as="incidents")
    months["is_reference"] = months["population"] == "all"
    periods = [part.assign(other_cluster_id=part["cluster_id"]) for part in (halves, months)]
    sides = pd.concat([pairs_of(rates), *periods], ignore_index=True)
    clusters = shown(ENOUGH_DATA).set_index("cluster_id")
    one, other = (clusters.loc[sides[name]].reset_index() for name in ("cluster_id", "other_cluster_id"))
    sides = sides.assign(
        is_simulated=one["is_simulated"],
        other_is_simulated=other["is_simulated"],
        has_enough_data=one["has_enough_data"] & other["has_enough_data"],
    )
    return with_ratios(sides.assign(note=_notes(sides)))


def pairs_of(rates: pd.DataFrame) -> pd.DataFrame:
    """Pair the rates of clusters. The population to quote is one that both have."""
    import pandas as pd

    is_above_128 = rates["is_reference"] & (rates["population"] == "gpus_gt_128")
    large = set(rates.loc[is_above_128, "cluster_id"])
    is_paired = rates["population"].isin(["all", "gpus_gt_128"]) & rates["counted_as"].isin(["attempts", "incidents"])
    own = rates.loc[is_paired, ["cluster_id", *CELL, *SIDE]]
    other = own.rename(columns={name: f"other_{name}" for name in ("cluster_id", *SIDE)})
    pairs = own.merge(other, on=CELL).query("cluster_id < other_cluster_id")
    quoted = np.where(pairs["cluster_id"].isin(large) & pairs["other_cluster_id"].isin(large), "gpus_gt_128", "all")
    return pairs.assign(
        comparison="clusters",
        boundary_date=pd.Series(pd.NaT, index=pairs.index, dtype="datetime64[us]"),
        is_reference=(pairs["counted_as"] == "attempts") & (pairs["population"] == quoted),
    )


def _notes(sides: pd.DataFrame) -> NDArray[np.object_]:
    """Return the note of a comparison: its limitations, or why there is no ratio."""
    (k1, t1), (k2, t2) = ([numbers(sides, f"{side}{name}") for name in (SIDE[0], SIDE[2])] for side in ("", "other_"))
    said = np.select(
        [np.isnan(k1) | np.isnan(k2), (t1 == 0) | (t2 == 0), k1 + k2 == 0, k2 == 0],
        [
            "unknown for one of them, see est_failure_rates",
            "no node-days on one side",
            "no failure on either side",
            "no failure on the second side: the ratio has a lower limit only",
        ],
        "",
    )
    is_mixed = sides["is_simulated"] != sides["other_is_simulated"]
    left_out = (days_left_out(count) for count in sides["left_out_day_count"])
    return joined(
        ["a simulated cluster against a real one" if mixed else None for mixed in is_mixed],
        [text or None for text in said],
        [text or None for text in too_short(sides)],
        [text or None for text in left_out],
    )


def too_short(sides: pd.DataFrame) -> list[str]:
    """Return for each comparison of two months whether too little was seen of one; empty for other comparisons."""
    return [too_few(*days) for days in zip(sides["seen_days"], sides["other_seen_days"], strict=True)]


def with_ratios(sides: pd.DataFrame) -> pd.DataFrame:
    """Add the ratio with its limits to failures, their variance and node-days of both sides."""
    (k1, v1, t1), (k2, v2, t2) = (
        [numbers(sides, f"{side}{name}") for name in ("failure_count", "failure_variance", "node_days")]
        for side in ("", "other_")
    )
    is_short = np.array([bool(text) for text in too_short(sides)], dtype=bool)
    ratio = rate_ratio(k1, np.where(is_short, np.nan, t1), k2, t2, dispersion=common_dispersion(k1, v1, k2, v2))
    with np.errstate(divide="ignore", invalid="ignore"):
        rates = [bounded(1000 * k / t) for k, t in ((k1, t1), (k2, t2))]
    is_known = np.isfinite(ratio.p_value) & (ratio.method != "no_events")
    return sides.assign(
        rate=rates[0],
        other_rate=rates[1],
        ratio=ratio.value,
        ratio_low=np.where(is_known, ratio.low, np.nan),
        ratio_high=np.where(is_known, bounded(ratio.high), np.nan),
        p_value=np.where(is_known, ratio.p_value, np.nan),
        verdict=np.select(
            [
                ~is_known | (np.maximum(k1, k2) < MIN_FAILURES) | ~sides["has_enough_data"].to_numpy(dtype=bool),
                ratio.low > 1,
                ratio.high < 1,
            ],
            [CANNOT_TELL, WORSE, BETTER],
            NO_CHANGE,
        ),
        confidence_level=ratio.confidence_level,
        method=ratio.method,
        event_count=sides["failure_count"] + sides["other_failure_count"],
        exposure=sides["node_days"] + sides["other_node_days"],
        exposure_unit="node-days",
    )


def headline(ratios: pd.DataFrame) -> str:
    """Return a sentence: the number of quoted ratios with limits that exclude 1."""
    quoted = ratios[ratios["is_reference"]]
    differ = (quoted["ratio_low"] > 1) | (quoted["ratio_high"] < 1)
    return f"{differ.sum()} of {len(quoted)} comparisons show different rates"


@estimate(TABLE, headline)
def est_rate_ratios(con: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """Compute the ratios of the rates of clusters and of periods."""
    return compared(con)
