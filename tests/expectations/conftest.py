"""The small warehouse: built once, and copied for each test that changes it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.expectations.small_warehouse import build


@pytest.fixture(scope="session")
def good_warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file in which every expectation holds; read it, never change it."""
    path = tmp_path_factory.mktemp("good") / "faultline.duckdb"
    build(path)
    return path


@pytest.fixture
def own_warehouse(good_warehouse: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    path = tmp_path / "faultline.duckdb"
    shutil.copy(good_warehouse, path)
    return path
