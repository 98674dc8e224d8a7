"""A cluster's logs in other files, each variant as a cluster of one home: every published row about it is equal."""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb
import pytest

from orchestration.home import Home
from tests.conftest import CAPTURE, refresh
from tests.sources.nights import simulated
from tests.sources.variants import VARIANTS

pytestmark = pytest.mark.slow

NO_FACTS = ("cluster_id", "other_cluster_id", "source_path", "source_line_number", "timezone", "is_configured")
"""Columns that name the cluster, or say where a fact was read."""
PLACES = f"c -> c not in {NO_FACTS}"
ALONE = {"estimates.est_rate_ratios": "and comparison <> 'clusters'"}
IDS = "[0-9a-f]{32}"
"""Ids are made of the cluster's name and what they stand for."""
SIMULATED = "demo-llm"


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The capture and a month of a simulated cluster, each as it came and in every variant."""
    home = Home.at(tmp_path_factory.mktemp("variants") / "home")
    simulated_logs = simulated(tmp_path_factory.mktemp("logs"))
    for name, folder in (("testbed", CAPTURE), (SIMULATED, simulated_logs / SIMULATED)):
        shutil.copytree(folder, home.sources / name)
        for variant, change in VARIANTS.items():
            if variant == "otherzone" and name == SIMULATED:
                continue
            shutil.copytree(folder, home.sources / f"{name}-{variant}")
            change(home.sources / f"{name}-{variant}")
    refresh(home)
    return home.published_file


def rows_of(con: duckdb.DuckDBPyConnection, cluster: str) -> dict[str, list[tuple]]:
    """Give all published rows about a cluster alone, as text, without its name and the places of lines."""
    tables = con.execute(
        """
        select table_schema || '.' || table_name from information_schema.columns
        where column_name = 'cluster_id' and table_schema in ('marts', 'estimates') order by all
        """
    ).fetchall()
    return {
        table: con.execute(
            f"""
            select regexp_replace(replace(cast(columns({PLACES}) as varchar), ? || ':', ':'), '{IDS}', 'id', 'g')
            from {table} where cluster_id = ? {ALONE.get(table, "")} order by all
            """,
            [cluster, cluster],
        ).fetchall()
        for (table,) in tables
    }


def clusters() -> list[tuple[str, str]]:
    """Give each cluster that came as it was, with one of its variants."""
    return [
        (name, variant)
        for name in ("testbed", SIMULATED)
        for variant in VARIANTS
        if not (variant == "otherzone" and name == SIMULATED)
    ]


@pytest.mark.parametrize(("name", "variant"), clusters())
def test_every_row_about_a_cluster_is_equal(name: str, variant: str, published: Path) -> None:
    with duckdb.connect(str(published), read_only=True) as con:
        expected, found = rows_of(con, name), rows_of(con, f"{name}-{variant}")
    assert sum(map(bool, expected.values())) > 30
    for table, rows in expected.items():
        assert len(found[table]) == len(rows), table
        for row, other in zip(found[table], rows, strict=True):
            assert row == other, table
