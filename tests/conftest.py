"""Homes that are refreshed once for all tests that read the result: the genuine capture alone, and many clusters.

The second one is the first one's next night. It holds what four rooms read: the capture, whose accounting cannot be
built any more, the same in other forms, a simulated month, and all minimal clusters. A refresh costs half a minute of
CPU before it has read a line, so they share one.
"""

from __future__ import annotations

import gc
import io
import os
import shutil
import signal
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest
from hypothesis import HealthCheck, settings

from orchestration.settings.environment import read_settings
from orchestration.settings.home import PROJECT, Home
from orchestration.terminal.output import console

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from assets.report.blocks import Chapter
    from assets.report.queries import ClusterData
    from tests.recovery.month import Comparison

# Each process of pytest has a core. Threads of BLAS that wait spin, and take the core of the other process; nothing has
# imported numpy, which starts them, yet.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# A shell starts what runs in the background with Ctrl-C ignored, and so would be each program that a test stops by it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# On a busy machine an example may take any time; what is fast enough is for the benchmarks to say.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")

CAPTURE = PROJECT / "data" / "sources" / "testbed"
FIXTURES = PROJECT / "tests" / "fixtures"
FORMS = {"epoch": "sacct_lean_epoch.psv", "lean": "sacct_lean.psv", "unconverted": "sacct_lean_noconvert_X.psv"}
"""Clusters of the capture's jobs as other exports show them, by name."""


def refresh(home: Home, full: bool = False, is_from_marts: bool = False) -> str:
    """Refresh a home from the logs that are there, and return what it printed."""
    from orchestration.refresh.run import run_refresh

    text = io.StringIO()
    settings = replace(read_settings(home.root, home.sources, full), is_pulling=False, is_from_marts=is_from_marts)
    run_refresh(settings, console(text))
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


FIRST = (
    "testbed_home",
    "tests/orchestration",
)
"""Groups that start first, so that no process is left with one of them at the end."""


MEMORY, BYTES_NEEDED = Path("/dev/shm"), 6 * 2**30
"""A file system in memory, and what the tests of a push leave there at most, with room to spare."""


def pytest_configure(config: pytest.Config) -> None:
    """Keep what tests of a push write in memory: each of their thousands of commits waits for the disk elsewhere."""
    if "not slow" in config.option.markexpr and MEMORY.is_dir():
        found = os.statvfs(MEMORY)
        if found.f_bavail * found.f_frsize > BYTES_NEEDED and not found.f_flag & os.ST_NOEXEC:
            os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Say what may run side by side.

    The tests that read a home refreshed for the whole session form a group, so that one process refreshes it, and so
    do those of a room with fixtures of its own; any other file is a group by itself. pytest-xdist 3.8 groups by a name
    that pytest 9.2 no longer lets it change, and says nothing: pytest stays at 9.1 until it does
    (pytest-dev/pytest-xdist#1386).
    """
    groups = {item: _group(item) for item in items}
    for item, group in groups.items():
        item.add_marker(pytest.mark.xdist_group(group))
    places = {group: place for place, group in enumerate(FIRST)}
    items.sort(key=lambda item: places.get(groups[item], len(places)))


def pytest_collection() -> None:
    """Import the modules and collect the tests without looking for cycles: all of them stay to the end."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Look for cycles from now on, and only among what the tests make."""
    gc.collect()
    gc.freeze()
    gc.enable()


def _group(item: pytest.Item) -> str:
    for fixture in FIRST:
        if fixture in getattr(item, "fixturenames", ()):
            return fixture
    has_fixtures = (item.path.parent / "conftest.py").exists()
    return (item.path.parent if has_fixtures else item.path).relative_to(PROJECT).as_posix()


@pytest.fixture(scope="session", autouse=True)
def little_patience() -> Iterator[None]:
    """Wait only a moment for a lock or a file that another process holds throughout a test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("orchestration.upkeep.lock.PATIENCE_SECONDS", 0.3)
        patch.setattr("assets.warehouse.PATIENCE_SECONDS", 0.3)
        yield


@pytest.fixture(scope="session")
def testbed_home(tmp_path_factory: pytest.TempPathFactory, lineage_file: Path) -> Home:
    """A home refreshed from the genuine capture; read it, never change it."""
    home = new_home(tmp_path_factory.mktemp("testbed"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAULTLINE_OPENLINEAGE", str(lineage_file))
        refresh(home)
    return home


@pytest.fixture(scope="session")
def lineage_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file that the refresh of the genuine capture wrote its lineage to."""
    return tmp_path_factory.mktemp("lineage") / "events.ndjson"


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
def many_clusters_home(
    request: pytest.FixtureRequest, testbed_home: Home, tmp_path_factory: pytest.TempPathFactory
) -> Home:
    """A home with the clusters that the collected tests read, refreshed; read it, never change it.

    The capture is stale: it was published, and then a tenth of its accounting became unreadable. `b` is a new cluster
    next to it. The other forms of the capture come with a simulated month, as a comparison with the truth must leave
    them aside. The report draws one of the minimal clusters: a chapter for each would take a quarter of the time. No
    test reads how likely planned runs reach their target: of each the first 50 failures are lived through, not 1,000.
    """
    from assets.report import page
    from tests.minimal.cluster import all_clusters, write_all
    from tests.pipeline.stale import break_lines, cluster
    from tests.recovery.month import Month, simulate_month

    home = Home.at(shutil.copytree(testbed_home.root, tmp_path_factory.mktemp("many") / "home", symlinks=True))
    break_lines(home, "testbed", "sacct_all.psv")
    cluster().write(home.sources / "b")
    asked = {name for item in request.session.items for name in getattr(item, "fixturenames", ())}
    if asked & {"comparisons", "many_clusters"}:
        add_forms(home)
        simulate_month(Month(), home)
    not_drawn: set[str] = set()
    if "minimal_home" in asked:
        write_all(home.sources)
        not_drawn = all_clusters().keys() - {DRAWN}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("assets.report.page.chapter", partial(_chapter, page.chapter, not_drawn))
        patch.setattr("assets.model.run_outlook.MAX_SIMULATED_FAILURES", 50)
        refresh(home)
    return home


DRAWN = "secrets"
"""The minimal cluster whose chapter of the report a test reads."""


def _chapter(draw: Callable[..., Chapter], not_drawn: set[str], data: ClusterData, *others: object) -> Chapter:
    """Build a cluster's chapter, and one without pages for those that are not drawn."""
    from assets.report.blocks import Chapter

    name = data.cluster["cluster_id"]
    if name not in not_drawn:
        return draw(data, *others)
    return Chapter(name, name, is_simulated=False)


@pytest.fixture(scope="session")
def comparisons(many_clusters_home: Home) -> dict[str, Comparison]:
    """One comparison with the truth per simulated cluster of the month."""
    from tests.recovery.month import compare_month

    return {comparison.planted["cluster_id"]: comparison for comparison in compare_month(many_clusters_home)}


@pytest.fixture(scope="session")
def many_clusters(many_clusters_home: Home) -> Path:
    """The published file of the home of many clusters."""
    return many_clusters_home.published_file
