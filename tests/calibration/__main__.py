"""Simulates both clusters and writes the page. Exits with 1 if whole clusters are outside a tolerance."""

from __future__ import annotations

import math
import shlex
import sys
import textwrap
from collections.abc import Sequence

from tests.calibration.figures import calibrate_clusters
from tests.calibration.rows import CHANCE, Row, shown
from tests.docs.writers.pages import page_options, put_page, table

INTRODUCTION = """# The simulated clusters and the paper

Kokolis et al., *Revisiting Reliability in Large-Scale Machine Learning Research Clusters* (HPCA 2025), describe two
clusters, RSC-1 and RSC-2. The profiles `rsc1` and `rsc2` simulate clusters like them. This page compares what their
logs show with the paper's values. It is made by

<!-- needs: minutes -->
```sh
{command}
```

A failure on this page is one that the logs show: NODE_FAIL, or FAILED or REQUEUED with a critical event on one of the
attempt's nodes from ten minutes before its end to five minutes after. Shares are of attempts that have ended. If the
paper has words instead of a number, the tolerance is a condition that represents them.
"""
COLUMNS = ("figure", "quantity", "paper", "simulated", "tolerance")
PARTS = {"`rsc1`": ("rsc1",), "`rsc2`": ("rsc2",), "Both clusters": ("both", "rsc2 to rsc1")}


def render(rows: Sequence[Row], command: str) -> str:
    """Return the page: an introduction, how many rows are inside, and a table for each cluster and for both."""
    judged = [row for row in rows if row.is_judged]
    inside = sum(row.is_inside for row in judged)
    summary = f"**{inside} of {len(judged)} values are inside their tolerance**; a value outside is bold."
    if left := len(rows) - len(judged):
        summary += (
            f" This is a part of the clusters: {left} values that only the whole can show are not judged, and the"
            f" tolerances of the others are widened by {CHANCE:.0f} standard errors."
        )
    equal = [row for row in judged if row.band.tolerance == "exact" and row.is_inside]
    names = ", ".join(dict.fromkeys(row.quantity for row in equal))
    parts = [INTRODUCTION.format(command=command), summary, ""]
    parts += [textwrap.fill(f"{len(equal)} of them equal the paper's and are not listed: {names}.", 120), ""]
    for heading, clusters in PARTS.items():
        listed = (_cells(row) for row in rows if row.cluster in clusters and row not in equal)
        parts += [f"## {heading}\n", table(COLUMNS, listed, COLUMNS)]
    return "\n".join(parts)


def _cells(row: Row) -> list[str]:
    unit = row.unit if row.unit in {"", "%"} else f" {row.unit}"
    has_number = row.band.paper.lstrip("<> ")[:1].isdigit()
    paper = row.band.paper + (unit if has_number else "")
    value = shown(row.seen.value) + ("" if math.isnan(row.seen.value) else unit)
    seen = {"yes": value, "no": f"**{value}**", "not judged": f"{value} (not judged)"}[row.verdict]
    return [row.figure, row.quantity, paper, seen, row.band.tolerance]


def main() -> int:
    """Run the command."""
    parser = page_options("tests.calibration", __doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="factor on the number of nodes (1)")
    parser.add_argument("--days", type=int, help="days to simulate (all)")
    parser.add_argument("--seed", type=int, default=1, help="same seed, same clusters (1)")
    options = parser.parse_args()
    rows = calibrate_clusters(options.scale, options.days, options.seed)
    put_page(render(rows, f"python -m tests.calibration {shlex.join(sys.argv[1:])}"), options.write)
    return int(all(row.is_judged for row in rows) and not all(row.is_inside for row in rows))


if __name__ == "__main__":
    sys.exit(main())
