"""Rows of the calibration table: the paper's value, the simulated value, and the tolerance.

If only a part of a cluster is simulated, the tolerance is widened because the counts are smaller, and rows that need
the whole cluster are not judged.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tests.calibration.estimates import Estimate

CHANCE = 3.0
"""Number of standard errors by which the tolerance of a part is widened."""
SCALE, PERIOD = "all nodes", "all days"
WHOLE = (SCALE, PERIOD)


@dataclass(frozen=True)
class Band:
    """The range of a value, ends included, with the paper's value or words and the tolerance as text."""

    paper: str
    low: float
    high: float
    tolerance: str


def near(paper: float, points: float) -> Band:
    """Accept the paper's value within so many points."""
    return Band(shown(paper), paper - points, paper + points, f"± {points:g} points")


def about(paper: float, percent: float) -> Band:
    """Accept the paper's value within so many percent of it."""
    margin = paper * percent / 100
    return Band(shown(paper), paper - margin, paper + margin, f"± {percent:g}%")


def exactly(paper: float) -> Band:
    """Accept the paper's value only."""
    return Band(shown(paper), paper, paper, "exact")


def within_twice(paper: float) -> Band:
    """Accept half to twice the paper's value, for values that depend on which jobs happened to run where."""
    return Band(shown(paper), paper / 2, paper * 2, "half to twice")


def above(low: float, words: str = "") -> Band:
    """Ask for a bound of the paper's, or for one that stands for its words."""
    return Band(words or f"> {shown(low)}", low, math.inf, f"at least {shown(low)}")


def below(high: float, words: str = "") -> Band:
    """Ask for a bound of the paper's, or for one that stands for its words."""
    return Band(words or f"< {shown(high)}", -math.inf, high, f"at most {shown(high)}")


def negative(words: str) -> Band:
    """Accept a negative difference, if the paper says so in words."""
    return Band(words, -math.inf, math.nextafter(0, -1), "below 0")


def positive(words: str) -> Band:
    """Accept a positive difference, if the paper says so in words."""
    return Band(words, math.nextafter(0, 1), math.inf, "above 0")


def between(low: float, high: float, words: str) -> Band:
    """Accept a value between bounds that represent words of the paper."""
    return Band(words, low, high, f"{shown(low)} to {shown(high)}" if low < high else f"must be {shown(high)}")


@dataclass(frozen=True)
class Row:
    """One value of the paper and its simulated counterpart.

    Attributes
    ----------
    figure
        Figure or table of the paper; empty for its text.
    is_judged
        False if the simulated part of a cluster cannot show the value.
    counted
        The counts behind the value.
    """

    figure: str
    quantity: str
    cluster: str
    value: float
    unit: str
    band: Band
    is_judged: bool
    counted: str = ""

    @property
    def is_inside(self) -> bool:
        """Tell whether the value is within its band. `nan` never is."""
        return self.band.low <= self.value <= self.band.high

    @property
    def verdict(self) -> str:
        """Return yes, no or not judged."""
        return ("yes" if self.is_inside else "no") if self.is_judged else "not judged"


@dataclass(frozen=True)
class Part:
    """Which part of a cluster was simulated."""

    has_all_nodes: bool
    has_all_days: bool

    @property
    def is_whole(self) -> bool:
        """Tell whether nothing is missing."""
        return self.has_all_nodes and self.has_all_days

    def shows(self, needs: tuple[str, ...], value: float) -> bool:
        """Tell whether a value that needs all nodes or all days can be judged. On a part it may be `nan`."""
        has = {SCALE: self.has_all_nodes, PERIOD: self.has_all_days}
        return all(has[need] for need in needs) and (self.is_whole or not math.isnan(value))

    def widened(self, band: Band, error: float) -> Band:
        """Return the band itself for the whole, and a wider one for a part."""
        wider = 0.0 if self.is_whole or math.isnan(error) else CHANCE * error
        if not wider:
            return band
        words = f"{band.tolerance}, wider by {CHANCE:.0f} standard errors ({shown(wider)})"
        return Band(band.paper, band.low - wider, band.high + wider, words)


class Sheet:
    """Collects the rows of one cluster, or of several together."""

    def __init__(self, cluster: str, part: Part) -> None:
        self.cluster, self.part = cluster, part
        self.rows: list[Row] = []

    def write(
        self,
        figure: str,
        quantity: str,
        seen: Estimate | float,
        band: Band,
        *,
        unit: str = "%",
        needs: tuple[str, ...] = (),
    ) -> None:
        """Add a row.

        Parameters
        ----------
        figure, quantity
            What is compared.
        seen
            The simulated value. A plain number has no error.
        band
            The accepted range.
        unit
            Unit of the value and of the band.
        needs
            What must have been simulated for the value to be judged.
        """
        found = seen if isinstance(seen, Estimate) else Estimate(seen)
        self.rows.append(
            Row(
                figure=figure,
                quantity=quantity,
                cluster=self.cluster,
                value=found.value,
                unit=unit,
                band=self.part.widened(band, found.error),
                is_judged=self.part.shows(needs, found.value),
                counted=found.counted,
            )
        )


def shown(value: float) -> str:
    """Format a number with three digits, or more for whole numbers."""
    if math.isnan(value):
        return "none"
    if value == round(value, 0) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"
