"""The benchmark as a page of the docs: numbers in, Markdown out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median

from tests.benchmarks import results
from tests.benchmarks.measuring import Cost
from tests.benchmarks.results import CheckLogs, Results, Scale
from tests.benchmarks.steps import parts_of
from tests.benchmarks.targets import Verdict, verdicts
from tests.benchmarks.workloads import WORKLOADS
from tests.docs.writers import pages

HEAD = """# What a refresh costs

This page is made by

<!-- needs: minutes -->
```sh
make bench
```

at scale {scale}, and each number was measured once. What it costs elsewhere is worked out from these numbers in
[cost-model.md](cost-model.md).

| workload | logs |
| --- | --- |
{workloads}

Every row is a process of its own; the time is that of all processes it starts, the memory the highest sum over them.

Numbers in seconds mean little on another machine. What carries over is the ratio to the **floor**
(`tests/benchmarks/floor`): one script that a careful analyst would write for the logs of one site in plain DuckDB.
It loads and types every kind of log, leaves out lines that are no records, drops steps and repeats, converts to UTC,
expands node lists, finds the onsets of failed checks, attributes failures, and fills every aggregate, from the same
files in the same run. It accounts for no line, keeps no provenance, knows one dialect per kind, fits no model, checks
nothing and writes no report.
"""

NOTES = """## How to read it

* **Full refresh** reads all days but the last into an empty home, and so does the floor; the **nightly increment** then
  adds the last day: new files of every kind, or what is appended to each file. What follows works on what that night
  published.
* **No-op** is a refresh without anything new.
* **Disk** is all that a home holds besides the logs: working file, published file, report, Dagster's own storage. For
  the floor it is the file it writes, for the report the page.
* **Pace** is how long the same small piece of arithmetic took just before and after a stage, 1 where it was quickest.
  At 1.3 something else had a part of the processor: the seconds of that row are too high, and its ratio as well
  unless the floor ran at the same pace.
* **Load** is how many processes of the machine wanted one of its processors in the minute before a stage. Above the
  number of processors, wall time says nothing, and CPU time is some tenths too high for floor and refresh alike: only
  their ratio holds.
* **Seconds and memory by estimate and by model** are those of the full refresh, which runs one after the other: every
  estimate, and each model above 2 s. Memory is that of the whole refresh meanwhile, with what DuckDB still holds of
  what ran before.
* **Memory** is resident memory, sampled five times a second over the whole tree of processes, shared files counted
  once; the peak that the kernel kept of the largest process is its lower limit.
* **Refresh of the capture** is that of four minutes of a real cluster, read in full: the price of starting Dagster, dbt
  and Great Expectations, which every refresh pays.
* **Raw check logs** are made for this table: 1,000 nodes, ten checks each every five minutes, one hour in 2,000 of a
  check on a node critical. *Scan* is DuckDB's `read_json` with a filter for results that are not OK; *reader* is what a
  refresh does with `health/`, the account of every line included. Both rates include the start of Python.
* Targets in seconds and gigabytes are those of scale 1: at a smaller scale they can be missed, but not met. Seconds are
  judged only where the machine had no other work. Shares of CPU time are judged at scale 1 alone, because at a smaller
  one the fixed cost is much of them.
"""

STAGES = (
    results.FLOOR,
    results.FULL,
    results.LIMITED,
    results.NIGHTLY,
    results.NO_OP,
    results.REPORT,
)
MIN_SHOWN_SHARE = 0.03
MIN_MODEL_SECONDS = 2


def page(found: Results) -> str:
    """Write everything that was found."""
    scales = found.scales
    parts = [
        HEAD.format(
            scale=scales[0].scale,
            workloads="\n".join(f"| `{name}` | {workload.logs} |" for name, workload in WORKLOADS.items()),
        ),
        "## Machine\n",
        table(("", ""), found.machine.items()),
        "## Targets\n",
        table(("target", "measured", "met"), map(_verdict, verdicts(found))),
        "## Refresh\n",
        table(
            (
                "workload",
                "what",
                "wall s",
                "CPU s",
                "CPU / floor",
                "wall / floor",
                "peak memory GB",
                "disk MB",
                "pace",
                "load",
            ),
            (row for scale in scales for row in _stages(scale, found.quickest_reference)),
        ),
        *_fixed(found.fixed, found.fixed_steps),
        *(part for scale in scales for part in _steps(scale)),
        *(part for scale in scales for part in _longest(scale)),
        "## Size\n",
        table(
            (
                "workload",
                "attempts",
                "log lines",
                "logs MB",
                "published MB",
                "MB per million attempts",
                "working MB",
            ),
            (_size(scale) for scale in scales if scale.attempts),
        ),
        "## Interactive\n\nWall seconds; the ten questions are in `tests/benchmarks/queries.py`.\n",
        table(
            (
                "workload",
                "`query 'select 1'`",
                "`status`",
                "`tables`",
                "ten questions, median",
                "slowest",
                "by DuckDB alone, median",
                "slowest",
            ),
            (_interactive(scale) for scale in scales if scale.asked_seconds),
        ),
        "## Raw check logs\n",
        table(
            ("form", "lines", "MB", "who", "wall s", "CPU s", "lines per CPU s", "rate / scan", "peak memory GB"),
            (row for logs in found.checks for row in _checks(logs)),
        ),
    ]
    return "\n".join([*parts, NOTES])


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table; columns of words are on the left."""
    return pages.table(header, rows, {header[0], "", "what", "who", "measured", "met"})


def _seconds(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _megabytes(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


def _verdict(verdict: Verdict) -> tuple[str, str, str]:
    return verdict.target, verdict.measured, {True: "yes", False: "**no**", None: "-"}[verdict.is_met]


def _stages(scale: Scale, quickest: float) -> Iterable[tuple[str, ...]]:
    floor = scale.cost(results.FLOOR)
    for name in STAGES:
        cost = scale.cost(name)
        if cost is None or floor is None:
            continue
        disk = scale.disk_mb.get(name)
        yield (
            scale.workload,
            name if cost.exit_code == 0 else f"{name} (did not complete)",
            _seconds(cost.wall_seconds),
            _seconds(cost.cpu_seconds),
            f"{cost.cpu_seconds / floor.cpu_seconds:.2f}",
            f"{cost.wall_seconds / floor.wall_seconds:.2f}",
            f"{cost.peak_mb / 1000:.2f}",
            "-" if disk is None else _megabytes(disk),
            f"{cost.reference_seconds / quickest:.2f}",
            f"{cost.load:.1f}",
        )


def _fixed(cost: Cost, steps: dict[str, float]) -> Iterable[str]:
    yield (
        f"Refresh of the committed capture: {_seconds(cost.wall_seconds)} s wall, {_seconds(cost.cpu_seconds)} s CPU,"
        f" {cost.peak_mb / 1000:.2f} GB, load {cost.load:.1f}.\n"
    )
    yield table(
        ("part of it", "wall s", "share"),
        (
            (part, _seconds(seconds), f"{seconds / cost.wall_seconds:.0%}")
            for part, seconds in parts_of(steps, cost.wall_seconds).items()
        ),
    )


def _steps(scale: Scale) -> Iterable[str]:
    """Show the longest steps of a full refresh, with their time in a night beside it."""
    full, steps = scale.cost(results.FULL), scale.steps.get(results.FULL, {})
    if full is None or not steps:
        return
    yield f"## Where the time goes: {scale.workload}\n"
    yield (
        f"Steps that take at least {MIN_SHOWN_SHARE:.0%} of the wall time of the full refresh or of the night."
        " The models, seeds and tests of dbt are parts of the stage `dbt`.\n"
    )
    nightly, of_night = scale.cost(results.NIGHTLY), scale.steps.get(results.NIGHTLY, {})
    rows = []
    for step, seconds in steps.items():
        share = seconds / full.wall_seconds
        in_night = of_night.get(step, 0)
        night_share = in_night / nightly.wall_seconds if nightly else 0
        if max(share, night_share) >= MIN_SHOWN_SHARE:
            rows.append((step, _seconds(seconds), f"{share:.0%}", _seconds(in_night), f"{night_share:.0%}"))
    yield table(("step", "full refresh s", "share", "night s", "share"), rows)


def _longest(scale: Scale) -> Iterable[str]:
    """Show every estimate, and the longest models."""
    models = {name: cost for name, cost in scale.models.items() if cost.seconds > MIN_MODEL_SECONDS}
    for what, costs in (("estimate", scale.estimates), ("model", models)):
        if costs:
            yield f"## Seconds and memory by {what}: {scale.workload}\n"
            yield table(
                (what, "wall s", "memory meanwhile GB"),
                ((name, _seconds(cost.seconds), f"{cost.peak_mb / 1000:.2f}") for name, cost in costs.items()),
            )


def _size(scale: Scale) -> tuple[str, ...]:
    return (
        scale.workload,
        f"{scale.attempts:,}",
        f"{scale.lines:,}",
        _megabytes(scale.logs_mb),
        _megabytes(scale.published_mb),
        f"{scale.published_mb / scale.attempts * 1e6:,.0f}",
        _megabytes(scale.working_mb),
    )


def _interactive(scale: Scale) -> tuple[str, ...]:
    starts = (scale.cost(name) for name in results.STARTS)
    asked, direct = scale.asked_seconds.values(), scale.direct_seconds.values()
    return (
        scale.workload,
        *(f"{cost.wall_seconds:.2f}" if cost else "-" for cost in starts),
        *(f"{seconds:.2f}" for seconds in (median(asked), max(asked))),
        *(f"{seconds:.3f}" for seconds in (median(direct), max(direct))),
    )


def _checks(logs: CheckLogs) -> Iterable[tuple[str, ...]]:
    for who, cost in (("scan", logs.scan), ("reader", logs.read)):
        yield (
            logs.form,
            f"{logs.lines:,}",
            _megabytes(logs.logs_mb),
            who,
            _seconds(cost.wall_seconds),
            _seconds(cost.cpu_seconds),
            f"{logs.lines / cost.cpu_seconds:,.0f}",
            f"{logs.scan.cpu_seconds / cost.cpu_seconds:.2f}",
            f"{cost.peak_mb / 1000:.2f}",
        )
