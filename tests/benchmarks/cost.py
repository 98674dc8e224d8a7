"""What a refresh costs by what is in the logs: non-negative sums, fitted to the rows that a benchmark measured.

A cost is `fixed + a * attempts + b * node-days`, with no coefficient below zero, and a term only where there are rows
that tell it from the others. What a line of a raw check log costs to read is measured apart and needs no fit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.optimize import nnls

from tests.benchmarks.suite import FULL, NIGHTLY, Results, Scale
from tests.docs.writers.pages import table

TERMS = ("attempts", "node_days")
"""In the order in which they are added while there are rows for them."""
MAX_CONDITION = 30
"""Of the rows of terms as shares of their largest amounts: above it two terms are nearly the same."""
DAYS = 365
"""How long the logs of the worked examples are kept."""
NODES, JOBS_A_DAY = (100, 1_000, 4_000), (1_000, 10_000, 100_000)
CHECKS_PER_NODE_MINUTE = 2
HEAD = """## What a night costs, by nodes, jobs and checks

It holds for the machine of this page. Another one is about as much quicker or slower as its refresh of the committed
capture is.

A cost is a fixed part, a part for each attempt that is kept, and a part for each node and day that is kept. The parts
are fitted to what was measured, none below zero, so that relative errors are small (`tests/benchmarks/cost.py`).
The fixed part rests on the refresh of the committed capture, which has next to no rows. A term is "not told apart"
where the measured rows do not vary enough to fit it. A night's cost grows with what is kept because all tables are
rebuilt from all rows ([scale.md](scale.md)); the new day is in it, at one of about 350. What was measured beside other
work of the machine is left out.
"""
EXAMPLES = """Worked examples: logs of {days} days, {checks} check results per node and minute (ten checks every five
minutes), all of them written to the logs. Jobs are attempts: one that is restarted counts twice. Reading a million
check results takes {per_million}: those of the new day are in the CPU time of a night, those of all days in that of the
first refresh. Good results are read and not kept, so they take no disk.

A `*` marks more attempts or node-days than were measured ({largest}): there the line is only drawn on. Memory is not
drawn on: beyond `FAULTLINE_MEMORY` (2 GB by default) DuckDB writes to disk what does not fit.
"""
Row = tuple[str, dict[str, float], float]
"""Name of what was measured, what was in its logs, and its cost."""


@dataclass(frozen=True)
class Fit:
    """A fitted cost: what is paid without any logs, and for each attempt and node-day that was told apart.

    `largest` is the largest amount of each term that was measured, `errors` fitted over measured, minus 1, by row.
    """

    fixed: float
    rates: dict[str, float]
    largest: dict[str, float]
    errors: dict[str, float]

    def shown(self, amounts: dict[str, float], more: float = 0, unit: float = 1, digits: int = 0) -> str:
        """Write the cost of some logs, with a star beyond what was measured."""
        if not self.rates:
            return "-"
        cost = self.fixed + more + sum(rate * amounts[term] for term, rate in self.rates.items())
        is_beyond = any(amounts[term] > limit for term, limit in self.largest.items())
        return f"{cost / unit:,.{digits}f}{' *' * is_beyond}"


def fit(rows: Sequence[Row]) -> Fit:
    """Fit a sum to rows, so that relative errors are small: each row counts by its inverse.

    A term is left out where the rows cannot tell it from those before it, or where no row would be left to check the
    fit.
    """
    names, all_amounts, costs = zip(*rows, strict=True)
    values = np.array(costs)
    largest = {term: max(amounts.get(term, 0) for amounts in all_amounts) for term in TERMS}
    columns, terms = [np.ones(len(rows))], []
    for term in TERMS:
        column = np.array([amounts.get(term, 0) / (largest[term] or 1) for amounts in all_amounts])
        tried = np.column_stack([*columns, column])
        if len(rows) > tried.shape[1] and np.linalg.cond(tried) < MAX_CONDITION:
            columns.append(column)
            terms.append(term)
    design = np.column_stack(columns)
    solution, _ = nnls(design / values[:, None], np.ones(len(rows)))
    errors = design @ solution / values - 1
    return Fit(
        float(solution[0]),
        {term: float(rate / largest[term]) for term, rate in zip(terms, solution[1:], strict=True)},
        largest,
        dict(zip(names, errors.tolist(), strict=True)),
    )


def fits_of(found: Results) -> dict[str, Fit]:
    """Fit each cost to what was measured alone; what a refresh of next to nothing costs is the row without amounts."""
    alone = [scale for scale in found.scales if scale.is_measured_alone and NIGHTLY in scale.costs]

    def fitted(value: Callable[[Scale], float], fixed: float) -> Fit:
        rows = [(at.workload, {term: getattr(at, term) for term in TERMS}, value(at)) for at in alone]
        return fit([("capture", {}, fixed), *rows])

    def of_stage(stage: str, what: str) -> Fit:
        return fitted(lambda at: getattr(at.costs[stage], what), getattr(found.fixed, what))

    return {
        "night, CPU s": of_stage(NIGHTLY, "cpu_seconds"),
        "night, wall s": of_stage(NIGHTLY, "wall_seconds"),
        "full refresh, CPU s": of_stage(FULL, "cpu_seconds"),
        "full refresh, wall s": of_stage(FULL, "wall_seconds"),
        "peak memory of a full refresh, MB": of_stage(FULL, "peak_mb"),
        "home on disk after a night, MB": fitted(lambda at: at.disk_mb[NIGHTLY], found.fixed_mb),
    }


def cost_part(found: Results) -> Iterable[str]:
    """Write the model, or what is missing for it."""
    yield HEAD
    fits = fits_of(found)
    if len(fits["night, CPU s"].errors) < 3:
        yield "Not measured: the model takes two workloads, without other work of the machine.\n"
        return
    yield table(
        ("cost", "fixed", "per million attempts", "per million node-days", "rows", "largest error"),
        (
            (
                name,
                f"{each.fixed:,.1f}",
                *(f"{each.rates[term] * 1e6:,.1f}" if term in each.rates else "not told apart" for term in TERMS),
                str(len(each.errors)),
                f"{max(map(abs, each.errors.values())):.0%}",
            )
            for name, each in fits.items()
        ),
    )
    per_line = min((logs.read.cpu_seconds / logs.lines for logs in found.checks if logs.form == "jsonl"), default=0.0)
    largest = fits["night, CPU s"].largest
    yield EXAMPLES.format(
        days=DAYS,
        checks=CHECKS_PER_NODE_MINUTE,
        per_million=f"{per_line * 1e6:.2f} CPU s" if per_line else "an unknown time, which is left out",
        largest=f"{largest['attempts']:,.0f} attempts, {largest['node_days']:,.0f} node-days",
    )
    rows = []
    for nodes, jobs in product(NODES, JOBS_A_DAY):
        amounts: dict[str, float] = {"attempts": jobs * DAYS, "node_days": nodes * DAYS}
        results = nodes * CHECKS_PER_NODE_MINUTE
        reading = results * 1440 * per_line
        night = fits["night, CPU s"].shown(amounts, reading)
        disk = fits["home on disk after a night, MB"].shown(amounts, unit=1000, digits=1)
        first = fits["full refresh, CPU s"].shown(amounts, reading * DAYS)
        rows.append((f"{nodes:,}", f"{jobs:,}", f"{results:,}", night, f"{reading:,.1f}", disk, first))
    header = ("nodes", "jobs a day", "check results a minute", "night CPU s", "of it check results", "disk GB")
    yield table((*header, "first refresh CPU s"), rows)
