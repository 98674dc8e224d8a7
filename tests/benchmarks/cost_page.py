"""The cost model as a page of the docs: fitted costs, how well they fit, what they say of other clusters, and Spark."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

from tests.benchmarks.cost_model import CostModel, Fit, cost_model
from tests.benchmarks.page import table
from tests.benchmarks.results import OnSpark, Results

DAYS = 365
"""How long the logs of the worked examples are kept."""
NODES, JOBS_A_DAY = (100, 1_000, 4_000), (1_000, 10_000, 100_000)
CHECKS_PER_NODE_MINUTE = 2
NIGHT_HOURS = 8

HEAD = """# What a night costs, by nodes, jobs and checks

This page is worked out from [benchmarks.md](benchmarks.md) and its results by

<!-- needs: minutes -->
```sh
{commands}
```

It holds for the machine of that page. Another one is about as much quicker or slower as its refresh of the committed
capture is (`make bench`).
"""

FITS = """## The model

A cost is a fixed part, a part for each attempt that is kept, and a part for each node and day that is kept. The parts
are fitted to what was measured, none below zero, so that relative errors are small (`tests/benchmarks/cost_model.py`).
The fixed part rests on the refresh of the committed capture, which has next to no rows; size on disk has no such row. A
term is "not told apart" where the measured rows do not vary enough to fit it. A night's cost grows with what is kept
because most tables are rebuilt from all rows ([scale.md](scale.md)); the new day is in it, at one of about 350. What
was measured beside other work of the machine is left out.
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

SPARK = """## Where Spark begins to pay

Spark replaces the dbt step alone: reading, estimates, checks and the report stay on DuckDB ([spark.md](spark.md)).
"""


def page(found: Results) -> str:
    """Write the model, or what is missing for it."""
    parts = [HEAD.format(commands="\n".join(found.commands))]
    model = cost_model(found)
    if model is None:
        parts.append("Not measured: the model takes the refresh of the capture and two scales.\n")
    else:
        parts += [*_fits(model), *_examples(model)]
    parts += [SPARK, *_spark(found, model)]
    return "\n".join(parts)


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


def _spark(found: Results, model: CostModel | None) -> Iterable[str]:
    if model:
        per_attempt = model.full_wall.rates.get("attempts", 0)
        if per_attempt:
            millions = (NIGHT_HOURS * 3600 - model.full_wall.fixed) / per_attempt / 1e6
            yield (
                f"On this machine a full refresh would fill a night of {NIGHT_HOURS} hours at about {millions:,.0f}"
                f" million attempts,\nbeyond the {model.full_wall.largest['attempts'] / 1e6:.1f} million that were"
                " measured: the line is only drawn on. Below that, a second machine has nothing to do.\n"
            )
    if not found.spark:
        command = "make bench BENCH='--scales= --spark 1 --keep --write docs/benchmarks.md'"
        yield f"A Spark run at scale 1: not measured (`{command}`).\n"
        return
    yield (
        "`dbt build` with all its tests on a local Spark, beside the same step of the full refresh on DuckDB with the"
        " same cores,\nwhose CPU time alone was not measured.\n"
    )
    yield table(
        (
            "workload",
            "scale",
            "attempts",
            "raw tables MB",
            "Spark wall s",
            "Spark CPU s",
            "Spark peak memory GB",
            "Spark disk MB",
            "DuckDB wall s",
            "Spark / DuckDB",
        ),
        (_on_spark(run, found.seconds_on_duckdb(run)) for run in found.spark),
    )
    done = [run for run in found.spark if run.cost.exit_code == 0]
    if done:
        largest = max(done, key=lambda run: run.attempts)
        times = largest.cost.wall_seconds / found.seconds_on_duckdb(largest)
        yield (
            f"At {largest.attempts:,} attempts Spark takes {times:.1f} times as long on the same cores. If its work"
            f" could be divided without loss,\nit would take {times:.0f} machines like this one to be as quick as"
            " DuckDB on one.\nA larger machine for DuckDB is the cheaper step for as long as there is one.\n"
        )


def _on_spark(run: OnSpark, seconds_on_duckdb: float) -> tuple[str, ...]:
    is_done = run.cost.exit_code == 0
    return (
        run.workload,
        str(run.scale),
        f"{run.attempts:,}",
        f"{run.raw_mb:,.0f}",
        f"{run.cost.wall_seconds:,.0f}{'' if is_done else ' (did not complete)'}",
        f"{run.cost.cpu_seconds:,.0f}",
        f"{run.cost.peak_mb / 1000:.2f}",
        f"{run.disk_mb:,.0f}",
        f"{seconds_on_duckdb:,.0f}",
        f"{run.cost.wall_seconds / seconds_on_duckdb:.1f}" if is_done else "-",
    )
