"""What a refresh costs by what is in the logs: non-negative sums, fitted to the rows that a benchmark measured.

A cost is `fixed + a * attempts + b * node-days`, with no coefficient below zero, and a term only where there are rows
that tell it from the others. What a line of a raw check log costs to read is measured apart and needs no fit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from tests.benchmarks import results
from tests.benchmarks.results import Results, Scale

TERMS = ("attempts", "node_days")
"""In the order in which they are added while there are rows for them."""
MAX_CONDITION = 30
"""Of the rows of terms as shares of their largest amounts: above it two terms are nearly the same."""


@dataclass(frozen=True)
class Row:
    """One measured cost beside what was in the logs."""

    name: str
    amounts: dict[str, float]
    value: float


@dataclass(frozen=True)
class Fit:
    """A fitted cost.

    Attributes
    ----------
    fixed, rates
        What is paid without any logs, and for each attempt and node-day; a term without a rate was not fitted.
    largest, largest_value
        The largest amount of each term, and the largest cost, that were measured.
    errors
        By row: fitted over measured, minus 1.
    """

    fixed: float
    rates: dict[str, float]
    largest: dict[str, float]
    largest_value: float
    errors: dict[str, float]

    def at(self, **amounts: float) -> float:
        """Give the cost of some logs."""
        return self.fixed + sum(rate * amounts.get(term, 0) for term, rate in self.rates.items())

    def covers(self, **amounts: float) -> bool:
        """Tell whether logs are within what was measured."""
        return all(amounts.get(term, 0) <= limit for term, limit in self.largest.items())


def fit(rows: Sequence[Row]) -> Fit:
    """Fit a sum to rows, so that relative errors are small: each row counts by its inverse.

    A term is left out where the rows cannot tell it from those before it, or where no row would be left to check the
    fit.

    Examples
    --------
    >>> rows = [Row(str(n), {"attempts": n}, 10 + 2 * n) for n in (0, 1, 5, 20)]
    >>> found = fit(rows)
    >>> round(found.at(attempts=100)), sorted(found.rates)
    (210, ['attempts'])
    """
    values = np.array([row.value for row in rows])
    largest = {term: max(row.amounts.get(term, 0) for row in rows) for term in TERMS}
    columns, terms = [np.ones(len(rows))], []
    for term in TERMS:
        amounts = np.array([row.amounts.get(term, 0) / (largest[term] or 1) for row in rows])
        tried = np.column_stack([*columns, amounts])
        if len(rows) > tried.shape[1] and np.linalg.cond(tried) < MAX_CONDITION:
            columns.append(amounts)
            terms.append(term)
    design = np.column_stack(columns)
    solution, _ = nnls(design / values[:, None], np.ones(len(rows)))
    fitted = design @ solution
    return Fit(
        float(solution[0]),
        {term: float(rate / largest[term]) for term, rate in zip(terms, solution[1:], strict=True)},
        largest,
        float(values.max()),
        {row.name: float(value / row.value - 1) for row, value in zip(rows, fitted, strict=True)},
    )


def rows_of(found: Results, value: Callable[[Scale], float | None], fixed: float) -> list[Row]:
    """Give what was measured of every workload; what a refresh of next to nothing costs is the row without amounts."""
    rows = [Row("capture", {}, fixed)]
    for scale in found.scales:
        measured = value(scale)
        if measured and scale.is_measured_alone:
            rows.append(Row(scale.workload, {term: getattr(scale, term) for term in TERMS}, measured))
    return rows


@dataclass(frozen=True)
class CostModel:
    """The fitted costs of a night and of a full refresh, and what a line of a raw check log costs to read.

    Attributes
    ----------
    night_cpu, night_wall, night_mb, full_cpu, full_wall, peak_mb
        Seconds of the nightly increment and of a full refresh, megabytes of a home after a night, and the highest
        memory of either.
    cpu_seconds_per_check_line
        Of a log that has every result; None where it was not measured.
    """

    night_cpu: Fit
    night_wall: Fit
    night_mb: Fit
    full_cpu: Fit
    full_wall: Fit
    peak_mb: Fit
    cpu_seconds_per_check_line: float | None


def cost_model(found: Results) -> CostModel | None:
    """Fit everything; None where fewer than two workloads were measured without other work of the machine."""
    fixed = found.fixed
    if sum(scale.is_measured_alone for scale in found.scales) < 2:
        return None

    def cpu(stage: str) -> Callable[[Scale], float | None]:
        return lambda scale: cost.cpu_seconds if (cost := scale.cost(stage)) else None

    def wall(stage: str) -> Callable[[Scale], float | None]:
        return lambda scale: cost.wall_seconds if (cost := scale.cost(stage)) else None

    def peak(scale: Scale) -> float:
        return max(
            (cost.peak_mb for stage in (results.FULL, results.NIGHTLY) if (cost := scale.cost(stage))), default=0
        )

    return CostModel(
        night_cpu=fit(rows_of(found, cpu(results.NIGHTLY), fixed.cpu_seconds)),
        night_wall=fit(rows_of(found, wall(results.NIGHTLY), fixed.wall_seconds)),
        night_mb=fit(rows_of(found, lambda scale: scale.disk_mb.get(results.NIGHTLY), found.fixed_mb)),
        full_cpu=fit(rows_of(found, cpu(results.FULL), fixed.cpu_seconds)),
        full_wall=fit(rows_of(found, wall(results.FULL), fixed.wall_seconds)),
        peak_mb=fit(rows_of(found, peak, fixed.peak_mb)),
        cpu_seconds_per_check_line=min(
            (logs.read.cpu_seconds / logs.lines for logs in found.checks if logs.form == "jsonl"), default=None
        ),
    )
