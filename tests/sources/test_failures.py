"""Records of failures: what repeats is told from what happened twice, and a public release gives its own numbers."""

from __future__ import annotations

import lzma
from pathlib import Path
from statistics import mean, median, stdev

import pytest

from assets.sources.failures import reader as failures
from tests.sources.batches import cluster_of, load, read

HEADER = "node,from,to,cause\n"
LANL = Path("/work/shared/samples/public/lanl/LA-UR-05-7318-failure-data-1996-2005.csv.xz")


def test_equal_rows_of_a_file_count_and_those_of_two_exports_count_once() -> None:
    may = HEADER + "n1,2024-05-01,2024-05-02,CPU\n" * 2 + "n2,2024-05-01,,\n"
    june = HEADER + "n2,2024-05-01,2024-05-03,disk\n" + "n1,2024-05-01,2024-05-02,CPU\n" * 2
    for order in (({"05.csv": may}, {"06.csv": june}), ({"06.csv": june}, {"05.csv": may})):
        found = [row for row in load(failures, *order) if row["disposition"] == "loaded"]
        assert sorted((row["node_name"], row["cause"]) for row in found) == [
            ("n1", "CPU"), ("n1", "CPU"), ("n2", "disk"),
        ]  # fmt: skip


def test_two_failures_of_one_moment_stay_two_in_whatever_order_an_export_has_them() -> None:
    rows = ["n1,2024-05-01,2024-05-02,CPU\n", "n1,2024-05-01,2024-05-09,disk\n"]
    files = {"a.csv": HEADER + "".join(rows), "b.csv": HEADER + "".join(reversed(rows))}
    found = [row["cause"] for row in load(failures, files) if row["disposition"] == "loaded"]
    assert sorted(found) == ["CPU", "disk"]


PUBLISHED = {
    "Human Error": (163.1, 44, 421),
    "Network": (250.0, 70, 723),
    "Facilities": (572.3, 276, 811),
    "Hardware": (343.8, 68, 4134),
    "Software": (348.2, 43, 5462),
    "Undetermined": (441.2, 30, 6589),
    None: (352.4, 59, 4683),
}
"""Minutes of repair of the LANL release by cause, and of all: mean, median, standard deviation."""


def test_the_release_of_los_alamos_gives_its_numbers_by_cause() -> None:
    if not LANL.exists():
        pytest.skip(f"{LANL.name} may not be committed, and is not on this machine")
    columns = {"node": "nodenumz", "from": "Prob Started", "to": "Prob Fixed", "duration": "Down Time"}
    causes = [cause for cause in PUBLISHED if cause]
    cluster = cluster_of(
        "America/Denver", failures={"duration_unit": "minutes", "columns": {**columns, "cause": causes}}
    )
    with lzma.open(LANL, "rt", encoding="latin-1") as text:
        found = read(failures, text.read(), cluster=cluster)
    assert (len(found.loaded), found.quarantined) == (23_739, [])
    assert sum(row["cause"] is None for row in found.loaded) == 453
    for cause, numbers in PUBLISHED.items():
        minutes = [row["down_minutes"] for row in found.loaded if cause in {None, row["cause"]}]
        assert (round(mean(minutes), 1), round(median(minutes)), round(stdev(minutes))) == numbers
