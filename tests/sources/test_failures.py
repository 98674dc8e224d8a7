"""Records of failures: what repeats is told from what happened twice, and a public release gives its own numbers."""

from __future__ import annotations

import lzma
from statistics import mean, median, stdev

import pytest

from assets.sources.failures import reader as failures
from tests.sources.batches import cluster_of, load, read
from tests.studies import DataMissingError, data_file
from tests.studies.lanl import REPAIRS
from tests.studies.records import LANL_CAUSES

HEADER = "node,from,to,cause\n"


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


def test_the_release_of_los_alamos_gives_its_numbers_by_cause() -> None:
    try:
        release = data_file("lanl")
    except DataMissingError as error:
        pytest.skip(str(error))
    columns = {"node": "nodenumz", "from": "Prob Started", "to": "Prob Fixed", "duration": "Down Time"}
    cluster = cluster_of(
        "America/Denver", failures={"duration_unit": "minutes", "columns": {**columns, "cause": list(LANL_CAUSES)}}
    )
    with lzma.open(release, "rt", encoding="latin-1") as text:
        found = read(failures, text.read(), cluster=cluster)
    assert (len(found.loaded), found.quarantined) == (23_739, [])
    assert sum(row["cause"] is None for row in found.loaded) == 453
    for cause, printed in REPAIRS.items():
        minutes = [row["down_minutes"] for row in found.loaded if cause in {"all", row["cause"]}]
        assert (f"{mean(minutes):.1f}", f"{median(minutes):.0f}", f"{stdev(minutes):.0f}") == printed
