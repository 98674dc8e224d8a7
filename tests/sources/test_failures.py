"""Records of failures: a public release gives its published numbers. Their forms are rows of `failures.toml`."""

from __future__ import annotations

import lzma
from statistics import mean, median, stdev

import pytest

from assets.sources.failures import reader as failures
from tests.sources.batches import cluster_of, read
from tests.studies import DataMissingError, data_file
from tests.studies.lanl import REPAIRS
from tests.studies.records import LANL_CAUSES


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
