"""Run with `make bench`: measures every workload and writes `docs/benchmarks.md`.

Other options print the page of what they measure: `--scale 1/16 --workloads varied` takes some minutes. At scale 1 a
workload takes a quarter of an hour, and once as long to make its logs.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

from tests.benchmarks import suite
from tests.benchmarks.page import page
from tests.benchmarks.workloads import WORKLOADS, Workload
from tests.docs.writers.pages import page_options


def workloads(text: str) -> list[Workload]:
    """Read `daily,growing`."""
    return [WORKLOADS[name] for name in text.split(",")]


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the logs that are missing, measure, and write what is found after each workload."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "faultline" / "benchmarks"
    parser = page_options("tests.benchmarks", __doc__)
    parser.add_argument("--scale", type=Fraction, default=Fraction(1), help="for instance 1/16 [%(default)s]")
    names = ",".join(WORKLOADS)
    parser.add_argument("--workloads", type=workloads, default=names, metavar="LIST", help="[%(default)s]")
    parser.add_argument("--logs", type=Path, default=cache, help="folder of the logs, and of homes [%(default)s]")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("interrupted"))
    started = time.monotonic()

    def say(what: str) -> None:
        print(f"{time.monotonic() - started:7.0f} s  {what}", file=sys.stderr, flush=True)

    logs = options.logs.expanduser().resolve()
    work = logs / "work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    found = suite.run_fixed(work, say)
    for workload in options.workloads:
        say(f"{workload.name}: logs")
        sources = workload.sources_of(options.scale, logs)
        found.scales.append(
            suite.run_scale(
                workload, options.scale, sources, work, lambda what, name=workload.name: say(f"{name}: {what}")
            )
        )
        if options.write:
            options.write.write_text(page(found), encoding="utf-8")
    shutil.rmtree(work)
    if not options.write:
        print(page(found), end="")


if __name__ == "__main__":
    main()
