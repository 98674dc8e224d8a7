"""Rows of the calibration table: what the paper says, what a simulated cluster shows, inside which tolerance.

On a part of a cluster the tolerance is widened by what chance does to the smaller counts, and what only the whole can
show is not judged.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tests.calibration.estimates import Estimate

CHANCE = 3.0
"""Standard errors by which the tolerance is widened on a part."""
SCALE, PERIOD = "all nodes", "all days"
WHOLE = (SCALE, PERIOD)


@dataclass(frozen=True)
class Band:
    """Where a value must lie, ends included: for which value or words of the paper, and the same in words."""

    paper: str
    low: float
    high: float
    tolerance: str


def near(paper: float, points: float) -> Band:
    """Ask for the paper's value within so many points."""
    return Band(shown(paper), paper - points, paper + points, f"± {points:g} points")


def about(paper: float, percent: float) -> Band:
    """Ask for the paper's value within so many percent of it."""
    margin = paper * percent / 100
    return Band(shown(paper), paper - margin, paper + margin, f"± {percent:g}%")


def exactly(paper: float) -> Band:
    """Ask for the paper's value."""
    return Band(shown(paper), paper, paper, "exact")


def within_twice(paper: float) -> Band:
    """Ask for the paper's order of magnitude: of what hangs on who happened to run where."""
    return Band(shown(paper), paper / 2, paper * 2, "half to twice")


def above(least: float, words: str = "") -> Band:
    """Ask for a bound of the paper's, or for one that stands for its words."""
    return Band(words or f"> {shown(least)}", least, math.inf, f"at least {shown(least)}")


def below(most: float, words: str = "") -> Band:
    """Ask for a bound of the paper's, or for one that stands for its words."""
    return Band(words or f"< {shown(most)}", -math.inf, most, f"at most {shown(most)}")


def negative(words: str) -> Band:
    """Ask for less than nothing, where the paper's words say so of a difference."""
    return Band(words, -math.inf, math.nextafter(0, -1), "below 0")


def positive(words: str) -> Band:
    """Ask for more than nothing, where the paper's words say so of a difference."""
    return Band(words, math.nextafter(0, 1), math.inf, "above 0")


def between(least: float, most: float, words: str) -> Band:
    """Ask for a value between bounds that stand for words of the paper."""
    return Band(words, least, most, f"{shown(least)} to {shown(most)}" if least < most else f"must be {shown(most)}")


@dataclass(frozen=True)
class Row:
    """One value of the paper and its simulated counterpart.

    Attributes
    ----------
    figure
        Figure or table of the paper; empty for its text.
    is_judged
        False where this part of a cluster cannot show the value.
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
        """Tell whether the value is within its band; what is not a number never is."""
        return self.band.low <= self.value <= self.band.high

    @property
    def verdict(self) -> str:
        """Say yes or no, or that this part cannot tell."""
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
        """Tell whether a value that needs all nodes or all days can be judged; on a part there may be none at all."""
        has = {SCALE: self.has_all_nodes, PERIOD: self.has_all_days}
        return all(has[need] for need in needs) and (self.is_whole or not math.isnan(value))

    def widened(self, band: Band, error: float) -> Band:
        """Give the band itself for the whole, a wider one for a part."""
        wider = 0.0 if self.is_whole or math.isnan(error) else CHANCE * error
        if not wider:
            return band
        words = f"{band.tolerance}, wider by {CHANCE:.0f} standard errors ({shown(wider)})"
        return Band(band.paper, band.low - wider, band.high + wider, words)


class Sheet:
    """The rows of one cluster, or of several together, as they are written."""

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
        """Write a row.

        Parameters
        ----------
        figure, quantity
            What is compared.
        seen
            What the simulated cluster shows; a plain number is known without error.
        band
            Where it must lie.
        unit
            Unit of the value and of the band.
        needs
            What must have been simulated for the value to say something.
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
    """Write a number with three digits or more, as many as it takes for whole numbers."""
    if math.isnan(value):
        return "none"
    if value == round(value, 0) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"
