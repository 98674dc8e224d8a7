"""Run with `make bench`: prints the page, with progress on stderr; `--write FILE` keeps it as a page of the docs.

Scale 1/16 takes about five minutes, scale 1 half an hour, scale 4 hours, and the first time each simulates its logs.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import signal
import sys
import time
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

from tests.benchmarks import machine, suite
from tests.benchmarks.logs import sources_of
from tests.benchmarks.page import page
from tests.benchmarks.results import Results

MANY_CHECK_LINES, FEW_CHECK_LINES = 20_000_000, 1_000_000


def scales(text: str) -> list[Fraction]:
    """Read `1/16,1/4,1`, the smallest first."""
    return sorted({Fraction(part) for part in text.split(",") if part})


def parser() -> argparse.ArgumentParser:
    """Describe the options."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "faultline" / "benchmarks"
    options = argparse.ArgumentParser(
        prog="python -m tests.benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument(
        "--scales", type=scales, default="1/16", metavar="LIST", help="for instance 1/16,1/4,1,4 [1/16]"
    )
    options.add_argument(
        "--logs", type=Path, default=cache, help="folder that keeps the simulated logs, and where homes are made"
    )
    options.add_argument("--runs", type=int, default=1, help="how often floor and full refresh are measured [1]")
    options.add_argument(
        "--check-lines", type=int, help="size of the raw check logs, 0 for none [20 million from scale 1 on, else 1]"
    )
    options.add_argument("--write", type=Path, metavar="FILE", help="also write the page here, after every scale")
    options.add_argument("--json", action="store_true", help="print the results as JSON instead of the page")
    return options


def _as_typed(options: argparse.Namespace) -> str:
    """Give the options that make this page again, without folders of this machine."""
    typed = [f"--scales {','.join(map(str, options.scales))}"]
    if options.runs > 1:
        typed.append(f"--runs {options.runs}")
    if options.check_lines is not None:
        typed.append(f"--check-lines {options.check_lines}")
    if options.write and not options.write.is_absolute():
        typed.append(f"--write {options.write}")
    return " ".join(typed)


def main(arguments: Sequence[str] | None = None) -> None:
    """Simulate what is missing, measure, print."""
    options = parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("interrupted"))
    logs = options.logs.expanduser().resolve()
    work = logs / "work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    found = Results(machine.describe(work), options.runs)
    command = f"make bench BENCH={shlex.quote(_as_typed(options))}"
    started = time.monotonic()

    def say(what: str) -> None:
        print(f"{time.monotonic() - started:7.0f} s  {what}", file=sys.stderr, flush=True)

    def keep() -> None:
        if options.write:
            options.write.write_text(page(found, command), encoding="utf-8")

    lines = options.check_lines
    if lines is None:
        lines = MANY_CHECK_LINES if max(options.scales) >= 1 else FEW_CHECK_LINES
    limited = min(options.scales, key=lambda scale: (abs(scale - 1), scale))
    found.fixed = suite.run_fixed(work, say)
    if lines:
        found.checks = suite.run_checks(work, lines, options.runs, say)
    for scale in options.scales:
        say(f"scale {scale}: simulated logs")
        sources = sources_of(scale, logs)
        measured = suite.run_scale(
            scale, sources, work, options.runs, scale == limited, lambda what, at=scale: say(f"scale {at}: {what}")
        )
        found.scales.append(measured)
        keep()
    shutil.rmtree(work)
    print(json.dumps(found.as_dict(), default=str, indent=2) if options.json else page(found, command))


if __name__ == "__main__":
    main()
