"""Alpine's disk failures: how long between them, and does the place in the rack matter?"""

from __future__ import annotations

import numpy as np
import pandas as pd
from pandas.api.typing import SeriesGroupBy
from scipy.stats import chisquare, false_discovery_control, poisson

from assets.model.survival import fit_weibull
from tests.proof.published import Figure
from tests.studies import Study, data_file

SOURCE = "Ann-Geo/Disk-failures-in-HPC-2024"
PLACES = {"Rack id": "rack", "Slot": "slot", "slot bin hor": "column of a drawer", "slot bin ver": "row of a drawer"}
"""Columns of the file. Columns and rows of a drawer have as many slots as the file names; racks are taken as equal."""
FALSE_DISCOVERIES = 0.05


def study() -> Study:
    """Count the gaps between failures, and failures by place against an even spread over the places of the file."""
    disks = pd.read_csv(data_file("alpine", "alpine_formatted_data.csv.xz"))
    at = pd.to_datetime(disks["Timestamp"], utc=True).sort_values()
    gaps = at.diff().dropna().dt.total_seconds().to_numpy() / 3600
    fit = fit_weibull(gaps[gaps > 0], np.ones(np.count_nonzero(gaps > 0)))
    return Study(
        "Alpine: 3,766 disk failures",
        "Failures of disks with rack and slot, `Ann-Geo/Disk-failures-in-HPC-2024` on GitHub, without a licence, so "
        "the data are not part of this project. How many disks there were, and for how long, is not in the file: there "
        "is no rate, and a place is held against an even spread over the places that the file names.",
        [Figure(SOURCE, "failures", "3,766", len(disks), "count")],
        [
            (
                "Hours between failures of the whole system:",
                ("", "value"),
                [
                    ("gaps", f"{gaps.size:,}"),
                    ("gaps of 0 seconds", f"{np.count_nonzero(gaps == 0):,}"),
                    ("mean", f"{gaps.mean():.2f}"),
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
