"""The cost model as a page of the docs: fitted costs, how well they fit, and what they say of other clusters."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

from tests.benchmarks.cost_model import CostModel, Fit, cost_model
from tests.benchmarks.page import table
from tests.benchmarks.results import Results

DAYS = 365
"""How long the logs of the worked examples are kept."""
NODES, JOBS_A_DAY = (100, 1_000, 4_000), (1_000, 10_000, 100_000)
CHECKS_PER_NODE_MINUTE = 2

HEAD = """# What a night costs, by nodes, jobs and checks

This page is worked out from [benchmarks.md](benchmarks.md) and its results by

<!-- needs: minutes -->
```sh
make bench
```

It holds for the machine of that page. Another one is about as much quicker or slower as its refresh of the committed
capture is (`make bench`).
"""

FITS = """## The model

A cost is a fixed part, a part for each attempt that is kept, and a part for each node and day that is kept. The parts
are fitted to what was measured, none below zero, so that relative errors are small (`tests/benchmarks/cost_model.py`).
The fixed part rests on the refresh of the committed capture, which has next to no rows. A term is "not told apart"
where the measured rows do not vary enough to fit it. A night's cost grows with what is kept because all tables are
rebuilt from all rows ([scale.md](scale.md)); the new day is in it, at one of about 350. What was measured beside other
work of the machine is left out.
"""

EXAMPLES = """## Worked examples

Logs of {days} days, {checks} check results per node and minute (ten checks every five minutes), all of them written to
the logs. Jobs are attempts: one that is restarted counts twice. Reading a million check results takes {per_million}:
those of the new day are in the CPU time of a night, those of all days in that of the first refresh. Good results are
read and not kept, so they take no disk.

A `*` marks more attempts or node-days than were measured
({largest}): there the line is only drawn on. Memory is not
drawn on: beyond `FAULTLINE_MEMORY` (2 GB by default) DuckDB writes to disk what does not fit. The most that was
measured is {peak:.2f} GB.
"""


def page(found: Results) -> str:
    """Write the model, or what is missing for it."""
    model = cost_model(found)
    if model is None:
        return f"{HEAD}\nNot measured: the model takes two workloads, without other work of the machine.\n"
    return "\n".join([HEAD, *_fits(model), *_examples(model)])


def _fits(model: CostModel) -> Iterable[str]:
    fits = {
        "night, CPU s": model.night_cpu,
        "night, wall s": model.night_wall,
        "full refresh, CPU s": model.full_cpu,
        "full refresh, wall s": model.full_wall,
        "peak memory of either, MB": model.peak_mb,
        "home on disk after a night, MB": model.night_mb,
    }
    yield FITS
    yield table(
        ("cost", "fixed", "per million attempts", "per million node-days", "rows", "largest error"),
        (
            (
                name,
                f"{fit.fixed:,.1f}",
                *(
                    f"{fit.rates[term] * 1e6:,.1f}" if term in fit.rates else "not told apart"
                    for term in ("attempts", "node_days")
                ),
                str(len(fit.errors)),
                f"{max(map(abs, fit.errors.values())):.0%}",
            )
            for name, fit in fits.items()
        ),
    )
    yield "Fitted over measured, minus 1:\n"
    yield table(
        ("row", *fits),
        (
            (row, *(f"{fit.errors[row]:+.0%}" if row in fit.errors else "-" for fit in fits.values()))
            for row in model.night_cpu.errors
        ),
    )


def _examples(model: CostModel) -> Iterable[str]:
    per_line = model.cpu_seconds_per_check_line
    largest = model.night_cpu.largest
    yield EXAMPLES.format(
        days=DAYS,
        checks=CHECKS_PER_NODE_MINUTE,
        peak=model.peak_mb.largest_value / 1000,
        per_million=f"{per_line * 1e6:.2f} CPU s" if per_line else "an unknown time, which is left out",
        largest=f"{largest['attempts']:,.0f} attempts, {largest['node_days']:,.0f} node-days",
    )
    yield table(
        (
            "nodes",
            "jobs a day",
            "check results a minute",
            "night CPU s",
            "of it check results",
            "peak memory GB",
            "disk GB",
            "first refresh CPU s",
        ),
        (_example(model, nodes, jobs) for nodes, jobs in product(NODES, JOBS_A_DAY)),
    )


def _example(model: CostModel, nodes: int, jobs: int) -> tuple[str, ...]:
    amounts = {"attempts": jobs * DAYS, "node_days": nodes * DAYS}
    a_minute = nodes * CHECKS_PER_NODE_MINUTE
    reading = a_minute * 1440 * (model.cpu_seconds_per_check_line or 0)

    def shown(fit: Fit, unit: float = 1, more: float = 0, digits: int = 0) -> str:
        if not fit.rates:
            return "-"
        return f"{(fit.at(**amounts) + more) / unit:,.{digits}f}{'' if fit.covers(**amounts) else ' *'}"

    return (
        f"{nodes:,}",
        f"{jobs:,}",
        f"{a_minute:,}",
        shown(model.night_cpu, more=reading),
        f"{reading:,.1f}",
        shown(model.peak_mb, 1000, digits=1) if model.peak_mb.covers(**amounts) else "-",
        shown(model.night_mb, 1000, digits=1),
        shown(model.full_cpu, more=reading * DAYS),
    )
