"""The standing month, simulated and refreshed once beside the genuine capture."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestration.home import Home
from tests.conftest import new_home
from tests.recovery.comparison import Comparison
from tests.recovery.month import Month, recover


@pytest.fixture(scope="session")
def month_home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A home for the month; the capture in it is what the comparison must leave aside."""
    return new_home(tmp_path_factory.mktemp("month"))


@pytest.fixture(scope="session")
def comparisons(month_home: Home) -> dict[str, Comparison]:
    """One comparison per simulated cluster."""
    return {comparison.planted["cluster_id"]: comparison for comparison in recover(Month(), month_home)}


@pytest.fixture(scope="session")
def published(month_home: Home, comparisons: dict[str, Comparison]) -> Path:
    """The file they were made from."""
    return month_home.published_file
