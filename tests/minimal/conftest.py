"""The home of all minimal clusters, refreshed once."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

from assets.report.blocks import Chapter
from assets.report.page import chapter
from assets.report.queries import Frames, Row
from orchestration.home import Home
from tests.conftest import refresh
from tests.minimal.cluster import write_all

DRAWN = "secrets"
"""The cluster whose chapter a test reads."""


def one_chapter(frames: Frames, cluster: Row) -> Chapter:
    """Build the chapter of the cluster that is drawn, and one without sections for any other."""
    if cluster["cluster_id"] == DRAWN:
        return chapter(frames, cluster)
    name = cluster["cluster_id"]
    return Chapter(cluster_id=name, anchor=name, subtitle="", is_simulated=False, sections=(), stale="")


@pytest.fixture(scope="session")
def minimal_home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A home with every minimal cluster of this folder, refreshed; read it, never change it.

    Its report has the chapter of one cluster: drawing those of all fifty takes a quarter of the time.
    """
    home = Home.at(tmp_path_factory.mktemp("minimal"))
    write_all(home.sources)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("assets.report.page.chapter", one_chapter)
        refresh(home)
    return home


@pytest.fixture(scope="session")
def minimal(minimal_home: Home) -> Iterator[duckdb.DuckDBPyConnection]:
    """A read-only connection to the published file of all minimal clusters."""
    with duckdb.connect(str(minimal_home.published_file), read_only=True) as connection:
        yield connection
