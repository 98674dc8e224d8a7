"""Titan's GPU lifetimes (Ostrouchov et al., SC 2020): where in a cabinet a GPU sits decides how long it lives."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import CensoredData, ecdf

from tests.proof.published import Figure
from tests.studies import Study, data_file

PLACES = ("cage", "node", "slot", "col", "row")
"""Where a GPU sat longest; each place is a category, and place 0 is the reference."""
SOURCE = "Ostrouchov et al., SC 2020"
HAZARD_RATIOS = {
    "cage_1": ("6.106", "5.609", "6.647"),
    "cage_2": ("22.52", "20.50", "24.74"),
    "node_1": ("1.082",),
    "node_2": ("0.349",),
    "node_3": ("0.258",),
    "slot_6": ("1.204",),
    "slot_7": ("1.223",),
}
"""As published, with the limits of 95% where they were at hand."""
YEARS = 5.0


def study() -> Study:
    """Fit the paper's model to its data."""
    gpus = pd.read_csv(data_file("titan"), dtype={"SN": str})
    gpus["dead"] = gpus["dead"].astype(bool)
    old = gpus[gpus["batch"] == "old"]
    figures = [
        _figure("GPUs", "30,207", len(gpus), "count"),
        _figure("GPU-years", "100,889.5", gpus["years"].sum(), "sum"),
        _figure("dead", "5,089", gpus["dead"].sum(), "count"),
        _figure("censored", "25,118", (~gpus["dead"]).sum(), "count"),
        _figure("old batch: GPUs", "18,837", len(old), "count"),
        _figure("old batch: dead", "5,027", old["dead"].sum(), "count"),
        *_hazard_ratios(old),
    ]
    return Study(
        "Titan: lifetimes of 30,207 GPUs",
        "One row per GPU of Oak Ridge's Titan, by `olcf/TitanGPULife` on GitHub; cite Ostrouchov, Maxwell, Ashraf, "
        "Engelmann, Shankar and Rogers, *GPU Lifetimes on Titan Supercomputer: Survival Analysis and Reliability*, SC "
        "2020. The repository has no licence, so this project does not include the data. Hazard ratios are Cox's for "
        f"the old batch, by statsmodels' `PHReg` on {', '.join(PLACES)}, ties by Efron.",
        figures,
        [(
            f"Share of GPUs alive after {YEARS:g} years (Kaplan and Meier, limits of 95% on the log-log scale):",
            ("GPUs", "count", "dead", "alive", "low", "high"),
            [_alive(f"{by} {value}", group) for by in ("batch", "cage") for value, group in _groups(gpus, by)],
        )],
    )  # fmt: skip


def _figure(quantity: str, printed: str, ours: float, function: str) -> Figure:
    return Figure(SOURCE, quantity, printed, float(ours), function)


def _groups(gpus: pd.DataFrame, by: str) -> list[tuple[object, pd.DataFrame]]:
    """Split by batch, or the old batch by a place."""
    return list((gpus if by == "batch" else gpus[gpus["batch"] == "old"]).groupby(by))


def _alive(name: str, gpus: pd.DataFrame) -> tuple[str, ...]:
    years, dead = gpus["years"].to_numpy(), gpus["dead"].to_numpy()
    survival = ecdf(CensoredData(uncensored=years[dead], right=years[~dead])).sf
    with warnings.catch_warnings():  # Where nobody has died yet there are no limits.
        warnings.simplefilter("ignore", RuntimeWarning)
        limits = survival.confidence_interval(0.95, method="log-log")
    shares = [100 * float(curve.evaluate(YEARS)) for curve in (survival, limits.low, limits.high)]
    return name, f"{len(gpus):,}", f"{dead.sum():,}", *(f"{share:.1f}%" for share in shares)


def _hazard_ratios(old: pd.DataFrame) -> list[Figure]:
    """Fit Cox's model and give its hazard ratios, their limits and its concordance."""
    from statsmodels.duration.hazard_regression import PHReg

    places = pd.get_dummies(old[list(PLACES)].astype(str), dtype=float)
    places = places[[name for name in places if not name.endswith("_0")]]
    years, dead = old["years"].to_numpy(), old["dead"].to_numpy()
    fitted = PHReg(years, places.to_numpy(), status=dead.astype(int), ties="efron").fit()
    at = {name: number for number, name in enumerate(places)}
    ratios = np.exp(np.column_stack([fitted.params, fitted.conf_int()]))
    found = [
        _figure(f"hazard ratio of {name.replace('_', ' ')}{what}", printed, ratios[at[name], column], "PHReg")
        for name, published in HAZARD_RATIOS.items()
        for column, (printed, what) in enumerate(zip(published, ("", ", low", ", high"), strict=False))
    ]
    return [*found, _figure("concordance", "0.815", concordance(places.to_numpy() @ fitted.params, years, dead), "-")]


def concordance(risk: NDArray[np.float64], years: NDArray[np.float64], dead: NDArray[np.bool_]) -> float:
    """Give Harrell's C: how often the first of two GPUs to die had the higher risk.

    Parameters
    ----------
    risk, years, dead
        Linear predictor, age at death or at the end of watching, and which it was, shape (n,) each.
    """
    right = pairs = 0.0
    for i in np.flatnonzero(dead):
        later = risk[(years > years[i]) | ((years == years[i]) & ~dead)]
        pairs += later.size
        right += np.count_nonzero(later < risk[i]) + 0.5 * np.count_nonzero(later == risk[i])
    return right / pairs
