"""Homes that are refreshed once for all tests that read the result: the genuine capture alone, and many clusters."""

from __future__ import annotations

import io
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest
from hypothesis import HealthCheck, settings
from rich.console import Console

from orchestration.environment import choose_home
from orchestration.home import PROJECT, Home

if TYPE_CHECKING:
    from tests.recovery.comparison import Comparison

# On a busy machine an example may take any time; what is fast enough is for the benchmarks to say.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")

CAPTURE = PROJECT / "data" / "sources" / "testbed"
FIXTURES = PROJECT / "tests" / "fixtures"
FORMS = {"epoch": "sacct_lean_epoch.psv", "lean": "sacct_lean.psv", "unconverted": "sacct_lean_noconvert_X.psv"}
"""Clusters of the capture's jobs as other exports show them, by name."""


def refresh(home: Home, full: bool = False) -> str:
    """Run the main job on a home and return what it printed."""
    from orchestration.refreshing import run_refresh

    choose_home(home.root, home.sources, full)
    text = io.StringIO()
    run_refresh(home, full=full, console=Console(file=text, width=160))
    return text.getvalue()


def add_forms(home: Home) -> None:
    """Put the capture into a home once per form of its accounting, each as a cluster."""
    for cluster, name in FORMS.items():
        shutil.copytree(CAPTURE, home.sources / cluster, ignore=shutil.ignore_patterns("sacct"))
        (home.sources / cluster / "sacct").mkdir()
        shutil.copy(FIXTURES / "slurm-22.05" / name, home.sources / cluster / "sacct")


def new_home(root: Path) -> Home:
    """Make a home whose only cluster is a copy of the genuine capture."""
    home = Home.at(root)
    shutil.copytree(CAPTURE, home.sources / "testbed")
    return home


LONGEST_FIRST = ("testbed_home", "comparisons")
"""Fixtures that refresh a home for the whole session: the tests of each stay in one process, and start first."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Say what may run side by side: the tests of a long fixture form a group, and so do those of a room."""
    groups = {}
    for item in items:
        long = [name for name in LONGEST_FIRST if name in getattr(item, "fixturenames", ())]
        room = item.path.relative_to(PROJECT).parts[:2]
        groups[item] = (LONGEST_FIRST.index(long[0]), long[0]) if long else (len(LONGEST_FIRST), "/".join(room))
        item.add_marker(pytest.mark.xdist_group(groups[item][1]))
    items.sort(key=lambda item: groups[item][0])


@pytest.fixture(scope="session")
def testbed_home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A home refreshed from the genuine capture; read it, never change it."""
    home = new_home(tmp_path_factory.mktemp("testbed"))
    refresh(home)
    return home


@pytest.fixture(scope="session")
def built_warehouse(testbed_home: Home) -> Path:
    """The published file of the genuine capture."""
    return testbed_home.published_file


@pytest.fixture
def con(built_warehouse: Path):
    """A read-only connection to the published file of the genuine capture."""
    connection = duckdb.connect(str(built_warehouse), read_only=True)
    yield connection
    connection.close()


@pytest.fixture(scope="session")
def month_home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A home for the simulated month, with the capture and its other forms, which a comparison must leave aside."""
    home = new_home(tmp_path_factory.mktemp("month"))
    add_forms(home)
    return home


@pytest.fixture(scope="session")
def comparisons(month_home: Home) -> dict[str, Comparison]:
    """The simulated month refreshed, and one comparison with the truth per simulated cluster."""
    from tests.recovery.month import Month, recover

    return {comparison.planted["cluster_id"]: comparison for comparison in recover(Month(), month_home)}


@pytest.fixture(scope="session")
def many_clusters(month_home: Home, comparisons: dict[str, Comparison]) -> Path:
    """The published file of the month's home."""
    return month_home.published_file
