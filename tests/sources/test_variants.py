"""Files shuffled, split, merged, doubled, renamed, late, of another zone or delimiter: equal raw tables."""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb
import pytest

from assets.sources.formats import READERS
from tests.sources.folders import CAPTURE, connect, load, load_results
from tests.sources.variants import VARIANTS, files

TABLES = ("sacct", "health_checks", "kernel_messages", "slurmctld_events", "node_events", "nodes")
"""Raw tables that the capture fills."""
PLACES = ["path", "line_number"]
FOR_EACH_PUSH = ("shuffled", "otherzone")
WITH_THE_SAME_FILES = ("shuffled", "doubled", "renamed", "otherzone", "delimiter")
"""Variants in which the files still begin and end where they did, so that the spans of the logs are the same."""
OF_THE_RESULT = ["started_at", "observed_at", "unchanged_since", "job_id_raw", "check_type", "message"]
"""What differs between check results that say the same one after another.

Each file keeps the first and last of them, so that the ones kept depend on the files;
What is made of them is built whole each night.
"""


def facts(con: duckdb.DuckDBPyConnection) -> dict[str, list[tuple]]:
    """Return the loaded rows of the raw tables without their places, and the spans of the logs."""
    found = {"spans": con.execute("from ops.spans order by all").fetchall()}
    for name in TABLES:
        left_out = PLACES + (OF_THE_RESULT if name == "health_checks" else [])
        found[name] = con.execute(
            f"select distinct columns(lambda c: c not in {tuple(left_out)}) from raw.{name}"
            " where disposition = 'loaded' order by all"
        ).fetchall()
    return found


@pytest.fixture(scope="module")
def as_it_came(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[tuple]]:
    """What the capture gives, alone: once refreshed, the sources folder of the project holds demo clusters too."""
    folder = tmp_path_factory.mktemp("as_it_came")
    shutil.copytree(CAPTURE / "testbed", folder / "testbed")
    return facts(load(folder, readers=READERS))


def compare(found: dict[str, list[tuple]], expected: dict[str, list[tuple]]) -> None:
    for name in TABLES:
        assert expected[name], name
        assert found[name] == expected[name], name


@pytest.mark.parametrize(
    "name", [name if name in FOR_EACH_PUSH else pytest.param(name, marks=pytest.mark.slow) for name in VARIANTS]
)
def test_the_same_facts_in_other_files_give_the_same_rows(
    name: str, as_it_came: dict[str, list[tuple]], tmp_path: Path
) -> None:
    shutil.copytree(CAPTURE / "testbed", tmp_path / "testbed")
    VARIANTS[name](tmp_path / "testbed")
    found = facts(load(tmp_path, readers=READERS))
    compare(found, as_it_came)
    if name in WITH_THE_SAME_FILES:
        assert found["spans"] == as_it_came["spans"]


@pytest.mark.slow
def test_files_that_come_one_by_one_and_in_any_order_give_the_same_rows(
    as_it_came: dict[str, list[tuple]], tmp_path: Path
) -> None:
    complete, growing = tmp_path / "complete" / "testbed", tmp_path / "growing" / "testbed"
    shutil.copytree(CAPTURE / "testbed", complete)
    VARIANTS["split"](complete)
    con = connect()
    others = {folder.name for folder in complete.iterdir()} - {"sacct"}
    for path in [*files(complete, "sacct")[::-1], *files(complete, *others)[::-1]]:
        target = growing / path.relative_to(complete)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, target)
        load_results(growing.parent, con, READERS)
    compare(facts(con), as_it_came)
