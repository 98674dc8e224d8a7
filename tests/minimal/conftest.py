"""The minimal clusters in the home of many clusters."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

from orchestration.settings.home import Home


@pytest.fixture(scope="session")
def minimal_home(many_clusters_home: Home) -> Home:
    """A refreshed home with every minimal cluster of this folder, among others. Tests must not change it."""
    return many_clusters_home


@pytest.fixture(scope="module")
def minimal(minimal_home: Home) -> Iterator[duckdb.DuckDBPyConnection]:
    """A read-only connection to the published file of all minimal clusters."""
    with duckdb.connect(str(minimal_home.published_file), read_only=True) as connection:
        yield connection
