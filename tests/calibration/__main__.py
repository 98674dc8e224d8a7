"""Simulates both clusters and prints the table. Exits with 1 if whole clusters are outside a tolerance."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from tests.calibration.rows import Row, shown
from tests.calibration.simulated import calibrate_clusters
from tests.calibration.table import render, summary
from tests.docs.writers.pages import page_options, put_page


def show_progress(shares: dict[str, float]) -> None:
    """Show the progress on one line of stderr."""
    text = ", ".join(f"{cluster} {share:.0%}" for cluster, share in shares.items())
    print(f"\rsimulating: {text}", end="", file=sys.stderr, flush=True)


def is_outside(rows: Sequence[Row]) -> bool:
    """Tell whether a row is outside and whole clusters were simulated. A part proves nothing."""
    return all(row.is_judged for row in rows) and not all(row.is_inside for row in rows)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = page_options("tests.calibration", __doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="factor on the number of nodes (1)")
    parser.add_argument("--days", type=int, help="days to simulate (all)")
    parser.add_argument("--seed", type=int, default=1, help="same seed, same clusters (1)")
    options = parser.parse_args(arguments)
    rows = calibrate_clusters(options.scale, options.days, options.seed, show_progress)
    print(file=sys.stderr)
    days = f" --days {options.days}" if options.days else ""
    scale = f" --scale {options.scale:g}" if options.scale != 1 else ""
    put_page(render(rows, f"python -m tests.calibration{scale}{days} --seed {options.seed}"), options.write)
    print(summary(rows).replace("**", ""), file=sys.stderr)
    for row in rows:
        if row.verdict == "no":
            print(f"outside: {row.quantity} ({row.cluster}): {shown(row.value)}, {row.band.tolerance}", file=sys.stderr)
    return int(is_outside(rows))


if __name__ == "__main__":
    sys.exit(main())
