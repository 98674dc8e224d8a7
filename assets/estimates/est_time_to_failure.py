"""estimates.est_time_to_failure: whether jobs become more or less likely to fail as they run, by size.

Every MTTF assumes that they do not: a Weibull shape of 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from assets.estimates.common_columns import CLUSTER, common_columns
from assets.estimates.table import Column, TableSpec, bounded, estimate, numbers, read, with_limits
from assets.model.survival import MINIMUM_INCIDENTS, TOO_FEW_EVENTS, WeibullFit, fit_weibull
from assets.rounding import rounded

if TYPE_CHECKING:
    import duckdb

FAILURES = ("failure_probability",)
AGE = ("age_hours", "entry_hours")
ALL = (*FAILURES, "incident_id", "attempt_count", *AGE)

BAD_FIT = 0.01
"""A fit with a smaller p-value gets a note."""

UPPER_LIMIT = "Upper limit. NULL: there is none, or see note."

TABLE = TableSpec(
    table="est_time_to_failure",
    description=(
        "Weibull distribution of the time from an attempt's start to its infrastructure failure, from "
        "marts.fct_attempt_exposures. A failure of probability p counts as p failures and 1 - p other ends. Other ends "
        "and running attempts are censored. An attempt that ran before the study period, or in a gap of accounting, "
        "enters at its age then. Shape below 1: attempts fail less the longer they run; a mixture of good and bad "
        "nodes looks the same. One row per cluster and gpu_size_bin."
    ),
    key=("cluster_id", "gpu_size_bin"),
    columns=(
        CLUSTER,
        Column("gpu_size_bin", "bigint", "GPUs", "GPUs rounded up to a power of two; 0: none; NULL: unknown."),
        Column(
            "attempt_count",
            "bigint",
            "attempts",
            "Attempts that ran in the study period.",
            ("size_attempt_count",),
            is_required=True,
        ),
        Column(
            "late_entry_count",
            "bigint",
            "attempts",
            "Attempts that ran before the study period or in a gap of accounting, and were seen after.",
        ),
        *with_limits("weibull_shape", "none", "Shape. NULL: see note.", ALL, UPPER_LIMIT),
        *with_limits(
            "scale_hours", "hours", "Time by which 63.2% would have failed, without other ends.", ALL, UPPER_LIMIT
        ),
        Column(
            "p_value",
            "double",
            "ratio 0 to 1",
            "P-value of the hypothesis that the shape is 1: Wald's test with errors clustered by incident.",
            ALL,
        ),
        Column(
            "verdict",
            "varchar",
            "",
            "The hazard with age: constant (limits of the shape within 1/1.1 and 1.1), rises, falls, cannot tell.",
            ALL,
            is_required=True,
        ),
        Column(
            "kolmogorov_distance",
            "double",
            "ratio 0 to 1",
            "Goodness of fit: largest distance between Kaplan-Meier and fitted survival. NULL: no fit.",
            ALL,
        ),
        Column(
            "goodness_of_fit_p_value",
            "double",
            "ratio 0 to 1",
            "Goodness of fit: observed against expected failures, in up to 10 spans of age. Small: not Weibull. NULL: "
            "fewer than 15 failures, or no fit.",
            ALL,
        ),
        *common_columns(
            "weibull_profile: profile likelihood, wider if failures share incidents or are uncertain; too_few_events: "
            f"failures of fewer than {MINIMUM_INCIDENTS} incidents, whatever the number of attempts each ended; "
            "no_exposure: no time was watched.",
            "Infrastructure failures, a sum of probabilities.",
            FAILURES,
            "Watched hours of attempts.",
            AGE,
        ),
    ),
    inputs=("inp_ages_classed",),
)


def fitted(classes: pd.DataFrame) -> pd.DataFrame:
    """Fit each cluster and size."""
    groups = classes.groupby(["cluster_id", "gpu_size_bin"], dropna=False, sort=False)
    return pd.DataFrame([_row(of_size) for _, of_size in groups], columns=TABLE.column_names)


def _row(classes: pd.DataFrame) -> dict[str, Any]:
    size = classes.iloc[0]
    used = classes[classes["age_hours"].notna()]
    fit = fit_weibull(
        numbers(used, "age_hours"),
        numbers(used, "failure_probability"),
        numbers(used, "entry_hours"),
        numbers(used, "attempt_count"),
        incident=pd.factorize(used["incident_id"])[0],
    )
    shape_high, scale_low, scale_high = bounded(np.array([fit.shape_high, fit.scale_low, fit.scale_high]))
    return {
        "cluster_id": size["cluster_id"],
        "gpu_size_bin": size["gpu_size_bin"],
        "attempt_count": size["size_attempt_count"],
        "late_entry_count": size["late_entry_count"],
        "weibull_shape": fit.shape,
        "weibull_shape_low": fit.shape_low,
        "weibull_shape_high": shape_high,
        "scale_hours": fit.scale,
        "scale_hours_low": scale_low,
        "scale_hours_high": scale_high,
        "p_value": fit.p_value,
        "verdict": fit.verdict,
        "kolmogorov_distance": fit.kolmogorov_distance,
        "goodness_of_fit_p_value": fit.fit_p_value,
        "confidence_level": fit.confidence_level,
        "method": fit.method,
        "event_count": fit.event_count,
        "exposure": fit.exposure,
        "exposure_unit": "hours",
        "note": _note(fit, size),
    }


def _note(fit: WeibullFit, size: pd.Series[Any]) -> str | None:
    """Return the note: why there is no fit, or what it leaves out."""
    parts = []
    if not size["size_attempt_count"]:
        parts.append("no attempt in the study period")
    else:
        if pd.isna(size["gpu_size_bin"]):
            parts.append("attempts whose GPU count is unknown")
        if fit.exposure == 0:
            parts.append("the attempts ran for no time")
        elif fit.method == TOO_FEW_EVENTS:
            parts.append(
                f"failures: {rounded(fit.event_count)}, incidents: {rounded(fit.incident_count)}; a shape takes at "
                f"least {MINIMUM_INCIDENTS} incidents"
            )
        elif fit.shape != fit.shape:
            parts.append("the likelihood has no maximum: the shape has a bound only")
        elif fit.fit_p_value < BAD_FIT:
            parts.append(
                f"times to failure are not Weibull distributed (p = {fit.fit_p_value:.1g}): where nodes or jobs fail "
                "at unlike rates the hazard falls with age though nothing ages"
            )
        if fit.scale == fit.scale and not fit.scale_low <= fit.scale <= fit.scale_high:
            parts.append("a limit of the scale is unknown: it takes a shape that no machine has")
    if size["unknown_runtime_count"]:
        parts.append(f"attempts left out, runtime unknown: {size['unknown_runtime_count']}")
    return "; ".join(parts) or None


def headline(fits: pd.DataFrame) -> str:
    """Return a sentence: the number of sizes by verdict."""
    verdicts = fits["verdict"].value_counts()
    return ", ".join(f"{verdict}: {count} sizes" for verdict, count in verdicts.items())


@estimate(TABLE, headline)
def est_time_to_failure(con: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """Fit a Weibull distribution to the times to failure of each size."""
    return fitted(read(con, "inp_ages_classed"))
