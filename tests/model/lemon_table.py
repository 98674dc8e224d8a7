"""The table of how well planted lemons are found: `python -m tests.model.lemon_table [SEEDS]`."""

from __future__ import annotations

import sys
from itertools import product

from tests.model.planted_fleets import Setting, score

HEAD = "days  factor  of what       culprits known  precision  recall  false discovery  listed  refused"


def main(seed_count: int) -> None:
    """Print the table, one line per setting."""
    print(f"2,000 nodes, 24 lemons, 6.5 failures per 1,000 node-days, in use 83% of the time; {seed_count} fleets each")
    print(HEAD)
    for days, factor, (known, of_fleet) in product((28, 90), (5, 10, 20), ((1.0, False), (0.85, False), (0.85, True))):
        found = score(Setting(days, factor, known, is_of_fleet=of_fleet), range(seed_count))
        what = f"{days:>4}  {factor:>6}  {'the fleet' if of_fleet else 'normal nodes':<12}  {known:>14.0%}"
        shares = f"{found.precision:>9.3f}  {found.recall:>6.3f}  {found.false_discovery_rate:>15.3f}"
        print(f"{what}  {shares}  {found.listed:>6.1f}  {found.refused:>7.0%}", flush=True)
    for days, spread in product((28, 90), (0.0, 0.5)):
        found = score(Setting(days, 1, 0.85, lemon_count=0, spread=spread), range(seed_count))
        print(
            f"{days:>4}  no lemons, rates of normal nodes spread by {spread:.0%} of their mean: "
            f"{found.listed:.2f} named, {found.refused:.0%} of the fleets not ranked"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 40)
