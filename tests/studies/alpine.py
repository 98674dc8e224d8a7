"""Alpine's disk failures: how long between them, and does the place in the rack matter?"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.typing import SeriesGroupBy
from scipy import stats
from scipy.stats import chisquare, false_discovery_control, poisson

from assets.model.survival import fit_weibull
from tests.proof.published import Figure
from tests.studies import Study, data_file

SOURCE = "Ann-Geo/Disk-failures-in-HPC-2024"
NOTEBOOKS = f"{SOURCE}, output of its notebooks"
PLACES = {"Rack id": "rack", "Slot": "slot", "slot bin hor": "column of a drawer", "slot bin ver": "row of a drawer"}
"""Columns of the file. Columns and rows of a drawer have as many slots as the file names; racks are taken as equal."""
FALSE_DISCOVERIES = 0.05
SHIFT = 1e-6
"""Seconds that the notebooks add to every gap, so that gaps of 0 can be fitted."""
FITS = {
    "Weibull": (stats.weibull_min, "shape", "0.5193", "-41,952.4"),
    "lognormal": (stats.lognorm, "shape", "3.3717", "-43,248.7"),
    "gamma": (stats.gamma, "shape", "0.3733", "-41,893.6"),
    "exponential": (stats.expon, "mean, s", "41,585.0", "-43,807.6"),
}
"""By distribution: what is fitted to the gaps in seconds, its parameter and the logarithm of the likelihood."""
BURST_SECONDS = 900
"""A failure within so many seconds of the one before belongs to its burst."""
SECOND_HALF, TOP = {2019: "45.4", 2020: "62.3", 2021: "58.2", 2022: "53.1", 2023: "51.0"}, "10.1"
"""Shares by year of the failures in rows 5 to 8 of a drawer, and that of 2019 in its two first columns."""


def study() -> Study:
    """Count the gaps between failures, and failures by place against an even spread over the places of the file."""
    disks = pd.read_csv(data_file("alpine"))
    at = pd.to_datetime(disks["Timestamp"], utc=True).sort_values()
    gaps = at.diff().dropna().dt.total_seconds().to_numpy() / 3600
    fit = fit_weibull(gaps[gaps > 0], np.ones(np.count_nonzero(gaps > 0)))
    return Study(
        "Alpine: 3,766 disk failures",
        "Failures of disks with rack and slot, `Ann-Geo/Disk-failures-in-HPC-2024` on GitHub, without a licence, so "
        "this project does not include the data. The repository belongs to a paper of FTXS 2024, whose text was not "
        "available; published is what its notebooks print. They fit gaps of 0 as 1 µs, and a drawer is a rack and an "
        "enclosure. The file does not say how many disks there were, nor for how long: there is no rate, and each "
        "place is compared with an even spread over the places that the file names.",
        [
            Figure(SOURCE, "failures", "3,766", len(disks), "count"),
            *_fits(3600 * gaps + SHIFT),
            *_bursts(at),
            *_positions(disks),
        ],
        [
            (
                "Hours between failures of the whole system:",
                ("", "value"),
                [
                    ("median", f"{np.median(gaps):.2f}"),
                    ("squared coefficient of variation (n - 1)", f"{gaps.var(ddof=1) / gaps.mean() ** 2:.2f}"),
                    (
                        "Weibull shape without gaps of 0 (limits of 90%)",
                        f"{fit.shape:.3f} ({fit.shape_low:.3f} to {fit.shape_high:.3f})",
                    ),
                ],
            ),
            (
                f"Places against an even spread: chi-square, and places that differ with a false-discovery rate of "
                f"{FALSE_DISCOVERIES:.0%} (exact Poisson tests, Benjamini and Hochberg):",
                ("place", "places", "fewest over expected", "most over expected", "p-value", "places that differ"),
                [_place(name, disks.groupby(column)["Slot"], column) for column, name in PLACES.items()],
            ),
        ],
    )


def _figure(quantity: str, printed: str, ours: float) -> Figure:
    return Figure(NOTEBOOKS, quantity, printed, float(ours), "-")


def _fits(seconds: NDArray[np.float64]) -> Iterator[Figure]:
    """Fit the gaps, those of 0 as 1 microsecond: the tables below leave them out, and Weibull's shape is greater."""
    for name, (family, parameter, printed, likelihood) in FITS.items():
        fitted = family.fit(seconds, floc=0)
        yield _figure(f"{name}: {parameter}", printed, fitted[-1 if name == "exponential" else 0])
        yield _figure(f"{name}: logarithm of the likelihood", likelihood, np.sum(family.logpdf(seconds, *fitted)))


def _bursts(at: pd.Series[pd.Timestamp]) -> Iterator[Figure]:
    """Join failures that follow each other within 15 minutes."""
    numbers = (at.diff().dt.total_seconds() >= BURST_SECONDS).cumsum()
    bursts = at.groupby(numbers).agg(["size", lambda times: (times.max() - times.min()).total_seconds()])
    size, seconds = bursts.to_numpy(dtype=float)[bursts["size"] > 1].T
    yield _figure("failures in bursts, %", "18.88", 100 * size.sum() / at.size)
    yield _figure("bursts: median duration, s", "42", np.median(seconds))
    yield _figure("bursts: longest, s", "1,484", seconds.max())
    yield _figure("bursts: most failures", "18", size.max())
    yield _figure("bursts of two failures, %", "76.51", 100 * np.mean(size == 2))
    yield _figure("bursts below 10 minutes, %", "95.02", 100 * np.mean(seconds < 600))


def _positions(disks: pd.DataFrame) -> Iterator[Figure]:
    """Count failures by drawer, and by half of a drawer in each year."""
    drawers = disks.groupby(["Rack id", "Unique enclosure"]).size()
    yield _figure("drawers with 25 failures or more, %", "1.30", 100 * np.mean(drawers >= 25))
    yield _figure("most failures of a drawer", "43", drawers.max())
    year = pd.to_datetime(disks["Timestamp"], utc=True).dt.year
    for number, printed in SECOND_HALF.items():
        yield _figure(
            f"{number}: rows 5 to 8 of a drawer, %", printed, 100 * np.mean(disks["slot bin ver"][year == number] > 4)
        )
    yield _figure("2019: columns 1 and 2 of a drawer, %", TOP, 100 * np.mean(disks["slot bin hor"][year == 2019] <= 2))


def _place(name: str, slots: SeriesGroupBy, column: str) -> tuple[str, ...]:
    count = slots.size().to_numpy()
    share = np.ones(count.size) if column == "Rack id" else slots.nunique().to_numpy()
    expected = count.sum() * share / share.sum()
    tails = 2 * np.minimum(poisson.cdf(count, expected), poisson.sf(count - 1, expected))
    differing = np.count_nonzero(false_discovery_control(np.minimum(tails, 1)) <= FALSE_DISCOVERIES)
    p_value = chisquare(count, expected).pvalue
    ratio = count / expected
    shown = f"{p_value:.3f}" if p_value >= 0.001 else "below 0.001"
    return name, f"{count.size}", f"{ratio.min():.2f}", f"{ratio.max():.2f}", shown, f"{differing}"
