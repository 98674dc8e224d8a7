"""The home of all minimal clusters, refreshed once."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

from orchestration.home import Home
from tests.conftest import refresh
from tests.minimal.cluster import write_all


@pytest.fixture(scope="session")
def minimal_home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A home with every minimal cluster of this folder, refreshed; read it, never change it."""
    home = Home.at(tmp_path_factory.mktemp("minimal"))
    write_all(home.sources)
    refresh(home)
    return home


@pytest.fixture(scope="session")
def minimal(minimal_home: Home) -> Iterator[duckdb.DuckDBPyConnection]:
    """A read-only connection to the published file of all minimal clusters."""
    with duckdb.connect(str(minimal_home.published_file), read_only=True) as connection:
        yield connection
