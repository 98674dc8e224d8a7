"""Write a home of independent clusters: `python -m tests.coverage.generate --out DIR --clusters 8 --days 60`."""

from __future__ import annotations

import argparse
import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np

from tests.coverage.checks import check_results, kernel_lines
from tests.coverage.happenings import live_through
from tests.coverage.logs import first_moment, write_logs
from tests.coverage.sites import FOREIGN, SITES, Site, hard
from tests.coverage.truth import planted


def chosen_sites(count: int, is_hard: bool, is_foreign: bool = False) -> list[Site]:
    """Return so many sites, taken in turn; a second round has a number in its names."""
    sites = []
    choice = FOREIGN if is_foreign else SITES
    for index in range(count):
        site = choice[index % len(choice)]
        turn = index // len(choice)
        sites.append(replace(hard(site) if is_hard else site, name=f"{site.name}-{turn + 1}" if turn else site.name))
    return sites


def write_cluster(home: Path, site: Site, days: int, seed: int, first: float) -> None:
    """Write `sources/<name>` and `truth/<name>.json` of one cluster into a home."""
    happenings = live_through(site, days, seed, first)
    rng = np.random.default_rng([seed, 4])
    results, lines = check_results(happenings, rng), kernel_lines(happenings, rng)
    folder = home / "sources" / site.name
    shutil.rmtree(folder, ignore_errors=True)
    write_logs(folder, happenings, results, lines)
    truth = home / "truth" / f"{site.name}.json"
    truth.parent.mkdir(parents=True, exist_ok=True)
    truth.write_text(json.dumps(planted(happenings, results, lines)))


def main() -> None:
    """Read the command line and write the home."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="the home: sources/ and truth/ are made in it")
    parser.add_argument("--clusters", type=int, default=8)
    parser.add_argument("--days", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--hard", action="store_true", help="three times the false alarms, fewer second signs")
    parser.add_argument("--foreign", action="store_true", help="sites that look like none of the usual eight")
    args = parser.parse_args()
    for index, site in enumerate(chosen_sites(args.clusters, args.hard, args.foreign)):
        write_cluster(args.out, site, args.days, 1000 * args.seed + index, first_moment(index))
        print(args.out / "sources" / site.name)


if __name__ == "__main__":
    main()
