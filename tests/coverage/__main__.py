"""Measures clusters of the independent generator.

`python -m tests.coverage promises --sets 2000` measures all limits. `python -m tests.coverage sites --seed 71` measures
the attribution on sixteen different sites (`--hard`: with more false alarms).
"""

from __future__ import annotations

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

from orchestration.settings.home import Home
from tests.coverage.claims import ATTRIBUTED
from tests.coverage.end_to_end import DAYS, PROMISED, lines, promises_measured, sites_measured


def main() -> None:
    """Read the command line and print the measures."""
    parser = argparse.ArgumentParser(prog="python -m tests.coverage", description=__doc__)
    parser.add_argument("what", choices=("promises", "sites"))
    parser.add_argument("--sets", type=int, default=2000)
    parser.add_argument("--days", type=int, default=DAYS, help="of sites")
    parser.add_argument("--seed", type=int, default=0, help="of the first data set, or of all sites")
    parser.add_argument("--hard", action="store_true", help="three times the false alarms, fewer second signs")
    args = parser.parse_args()
    if args.what == "promises":
        print("\n".join(lines(PROMISED, promises_measured(args.sets, args.seed))))
        return
    with TemporaryDirectory() as folder:
        measures = sites_measured(Home.at(Path(folder)), args.days, args.seed, args.hard)
    print("\n".join(lines(ATTRIBUTED, measures)))


if __name__ == "__main__":
    main()
