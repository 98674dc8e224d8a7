"""Prints what a refresh of a simulated month gives back; `--write FILE` writes it as a page of the docs."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from orchestration.home import Home
from tests.recovery.month import Month, recover
from tests.recovery.page import page


def main() -> None:
    """Simulate, refresh, compare, print."""
    month = Month()
    parser = argparse.ArgumentParser(prog="python -m tests.recovery", description=__doc__)
    parser.add_argument("--profile", default=month.profile)
    parser.add_argument("--days", type=int, default=month.days)
    parser.add_argument("--scale", type=float, default=month.scale)
    parser.add_argument("--seed", type=int, default=month.seed)
    parser.add_argument("--write", type=Path, metavar="FILE", help="also write the page here")
    options = parser.parse_args()
    month = Month(options.profile, options.days, options.scale, options.seed)
    with tempfile.TemporaryDirectory(prefix="faultline-recovery-") as folder:
        text = page(month, recover(month, Home.at(Path(folder))))
    print(text, end="")
    if options.write:
        options.write.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
