"""The small warehouse: built once; each test changes it in a transaction that is rolled back."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from tests.expectations.judging import Undone
from tests.expectations.small_warehouse import build


@pytest.fixture(scope="session")
def good_warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file in which every expectation holds; read it, never change it."""
    path = tmp_path_factory.mktemp("good") / "faultline.duckdb"
    build(path)
    return path


@pytest.fixture(scope="session")
def open_copy(good_warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Undone]:
    """A copy of the good warehouse that stays open: opening it takes longer than a test's queries."""
    path = tmp_path_factory.mktemp("copy") / "faultline.duckdb"
    shutil.copy(good_warehouse, path)
    with duckdb.connect(str(path)) as con:
        yield Undone(path=str(path), con=con)


@pytest.fixture
def own_warehouse(open_copy: Undone) -> Iterator[Undone]:
    """A warehouse that a test may change: its changes are rolled back."""
    open_copy.con.begin()
    yield open_copy
    open_copy.con.rollback()
