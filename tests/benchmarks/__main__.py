"""Run with `make bench`: prints the page, with progress on stderr; `--write FILE` keeps it as a page of the docs.

Per workload, scale 1/16 takes about two minutes, scale 1 seven, scale 4 a quarter of an hour; the first time each makes
its logs. Beside FILE stand its results as FILE.json, and `cost-model.md`, which is worked out from them. `--keep`
begins with these results and replaces what is measured again: `--scales= --keep --write FILE` writes both pages anew
without measuring. `--spark 1` builds the dbt project on Spark as well, in twenty minutes (`make spark` sets Spark up).
"""

from __future__ import annotations

import argparse
import itertools
import os
import shlex
import shutil
import signal
import sys
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path

from orchestration.pages import page_options
from tests.benchmarks import cost_page, machine, suite
from tests.benchmarks.page import page
from tests.benchmarks.results import Results
from tests.benchmarks.workloads import DAILY, WORKLOADS, Workload

MANY_CHECK_LINES, FEW_CHECK_LINES = 20_000_000, 1_000_000
COST_PAGE = "cost-model.md"


def scales(text: str) -> list[Fraction]:
    """Read `1/16,1/4,1`, the smallest first."""
    return sorted({Fraction(part) for part in text.split(",") if part})


def workloads(text: str) -> list[Workload]:
    """Read `daily,growing`."""
    return [WORKLOADS[name] for name in text.split(",") if name]


def parser() -> argparse.ArgumentParser:
    """Describe the options."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "faultline" / "benchmarks"
    options = page_options("tests.benchmarks", __doc__)
    options.add_argument(
        "--scales", type=scales, default="1/16", metavar="LIST", help="for instance 1/16,1/4,1,4 [1/16]"
    )
    options.add_argument(
        "--workloads", type=workloads, default=",".join(WORKLOADS), metavar="LIST", help="[%(default)s]"
    )
    options.add_argument(
        "--logs", type=Path, default=cache, help="folder that keeps the logs that were made, and where homes are made"
    )
    options.add_argument("--runs", type=int, default=1, help="how often floor and full refresh are measured [1]")
    options.add_argument(
        "--check-lines", type=int, help="size of the raw check logs, 0 for none [20 million from scale 1 on, else 1]"
    )
    options.add_argument("--without-capture", action="store_true", help="leave the refresh of the capture out")
    options.add_argument(
        "--spark", type=scales, default="", metavar="LIST", help=f"scales of `{DAILY.name}` to build on Spark [none]"
    )
    options.add_argument("--keep", action="store_true", help="begin with the results beside FILE, if there are any")
    options.add_argument("--json", action="store_true", help="print the results as JSON instead of the page")
    return options


def _as_typed(options: argparse.Namespace) -> str:
    """Give the options that make this page again, without folders of this machine."""
    typed = [f"--scales {','.join(map(str, options.scales))}" if options.scales else "--scales="]
    if options.workloads != list(WORKLOADS.values()):
        typed.append(f"--workloads {','.join(workload.name for workload in options.workloads)}")
    if options.runs > 1:
        typed.append(f"--runs {options.runs}")
    if options.check_lines is not None:
        typed.append(f"--check-lines {options.check_lines}")
    if options.without_capture:
        typed.append("--without-capture")
    if options.spark:
        typed.append(f"--spark {','.join(map(str, options.spark))}")
    if options.keep:
        typed.append("--keep")
    if options.write and not options.write.is_absolute():
        typed.append(f"--write {options.write}")
    return " ".join(typed)


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the logs that are missing, measure, print."""
    options = parser().parse_args(arguments)
    if options.keep and not options.write:
        parser().error("--keep needs --write FILE, beside which the results are")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("interrupted"))
    command = f"make bench BENCH={shlex.quote(_as_typed(options))}"
    started = time.monotonic()

    def say(what: str) -> None:
        print(f"{time.monotonic() - started:7.0f} s  {what}", file=sys.stderr, flush=True)

    def keep() -> None:
        if options.write:
            options.write.write_text(page(found), encoding="utf-8")
            options.write.with_suffix(".json").write_text(found.as_json(), encoding="utf-8")
            options.write.with_name(COST_PAGE).write_text(cost_page.page(found), encoding="utf-8")

    logs = options.logs.expanduser().resolve()
    work = logs / "work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    found = Results(machine.describe(work), options.runs)
    if options.keep and (kept := options.write.with_suffix(".json")).exists():
        here, found = found.machine, Results.from_json(kept.read_text(encoding="utf-8"))
        if (options.scales or options.spark) and here["processor"] != found.machine["processor"]:
            sys.exit(f"The results beside {options.write} are of another machine: {found.machine['processor']}.")
    if (options.scales or options.spark) and command not in found.commands:
        found.commands.append(command)
    _measure(options, found, work, say, keep)
    shutil.rmtree(work)
    keep()
    print(found.as_json() if options.json else page(found), end="")


def _measure(options: argparse.Namespace, found: Results, work: Path, say: suite.Say, keep: Callable[[], None]) -> None:
    """Run what was asked for, and keep what is found after every scale."""
    logs = work.parent
    lines = options.check_lines
    if lines is None:
        lines = 0 if not options.scales else MANY_CHECK_LINES if max(options.scales) >= 1 else FEW_CHECK_LINES
    if options.scales and not options.without_capture:
        found.fixed, found.fixed_steps = suite.run_fixed(work, say)
    if lines:
        found.checks = suite.run_checks(work, lines, options.runs, say)
    limited = min(options.scales, key=lambda scale: (abs(scale - 1), scale), default=None)
    for workload, scale in itertools.product(options.workloads, options.scales):
        at = f"{workload.name}, scale {scale}"
        say(f"{at}: logs")
        sources = workload.sources_of(scale, logs)
        found.replace(
            suite.run_scale(
                workload, scale, sources, work, options.runs, scale == limited, lambda what, at=at: say(f"{at}: {what}")
            )
        )
        keep()
    for scale in options.spark:
        found.replace(suite.run_spark(DAILY, scale, DAILY.sources_of(scale, logs), work, say))
        keep()


if __name__ == "__main__":
    main()
