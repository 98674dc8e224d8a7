"""Writes `poisson_limits_90.csv`: exact 90% limits (Garwood) of a Poisson mean for 0 to 1,000 counted events.

SQL has no chi-square quantiles. Run it with the project's Python; a test recomputes the file.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from scipy.stats import chi2

SEED = Path(__file__).with_suffix(".csv")
LAST_COUNT = 1000
TAIL = 0.05


def limits() -> Iterator[tuple[int, str, str]]:
    """Yield event count, lower and upper limit of the mean, to twelve significant digits."""
    for count in range(LAST_COUNT + 1):
        low = chi2.ppf(TAIL, 2 * count) / 2 if count else 0.0
        high = chi2.ppf(1 - TAIL, 2 * count + 2) / 2
        yield count, f"{low:.12g}", f"{high:.12g}"


def main() -> None:
    """Write the seed."""
    with SEED.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("event_count", "count_low", "count_high"))
        writer.writerows(limits())


if __name__ == "__main__":
    main()
