"""Every published table is the same to the last row, however files came, whatever threads and memory there were."""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from assets.sources.formats import READERS
from assets.warehouse import Warehouse
from orchestration.refresh.forgetting import CannotForget, forget
from orchestration.settings.home import Home
from tests.conftest import refresh
from tests.published import compare, content_of
from tests.sources.folders import load_results
from tests.sources.nights import nights, shorten, simulated

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Logs of two small clusters over thirty days."""
    return simulated(tmp_path_factory.mktemp("logs"))


@pytest.fixture(scope="module")
def at_once(logs: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[tuple]]:
    """What one load publishes."""
    return refreshed(logs, tmp_path_factory.mktemp("once"))


def refreshed(logs: Path, root: Path) -> dict[str, list[tuple]]:
    """Publish a folder of logs in a new home and give its content."""
    home = Home.at(root)
    shutil.copytree(logs, home.sources)
    refresh(home)
    return content_of(home.published_file)


def test_the_sample_fills_the_tables(at_once: dict[str, list[tuple]]) -> None:
    empty = {name for name, rows in at_once.items() if not rows}
    assert len(at_once) > 45
    assert len(empty) <= 9, empty


REFRESHED = (0, 10, 20, 24, 26, 28, 29, 30)
"""The nights that publish."""


def test_thirty_nights_publish_what_one_load_does(logs: Path, at_once: dict[str, list[tuple]], tmp_path: Path) -> None:
    home = Home.at(tmp_path / "home")
    warehouse = Warehouse(path=str(home.working_file))
    for night in nights(logs, home.sources):
        if night == 29:
            seen = Home.at(tmp_path / "as_on_night_29")
            see(home.sources, seen)
            undo = _damage(home.sources, tmp_path / "saved")
            see(home.sources, seen)
            forget_what_is_gone(seen)
            forget_what_is_gone(home)
        elif night == 30:
            undo()
            forget_what_is_gone(home)
        if night in REFRESHED:
            refresh(home)
        else:
            with warehouse.writing() as con:
                load_results(home.sources, con, READERS, run_id=f"night {night}")
        if night == 29:
            refresh(seen)
            compare(content_of(home.published_file), content_of(seen.published_file))
    compare(content_of(home.published_file), at_once)
    refresh(home, full=True)
    compare(content_of(home.published_file), at_once)


def see(sources: Path, home: Home) -> None:
    """Let a home read a folder as it is, and publish nothing."""
    shutil.rmtree(home.sources, ignore_errors=True)
    shutil.copytree(sources, home.sources)
    with Warehouse(path=str(home.working_file)).writing() as con:
        load_results(home.sources, con, READERS)


def forget_what_is_gone(home: Home) -> None:
    """Have the warehouse forget every file that is gone from the sources folder, and keep older versions."""
    for cluster in home.sources.iterdir():
        with suppress(CannotForget):
            files, _ = forget(home, [cluster.name], is_confirmed=False)
            removed = [file.path for file in files if "@" not in file.path]
            if removed:
                forget(home, removed, is_confirmed=True)


def _damage(sources: Path, saved: Path) -> Callable[[], None]:
    """Take records and check results of some days away, leave a job running, have a day twice; give the way back."""
    days, results = sorted(sources.glob("*/sacct/*")), sorted(sources.glob("*/health/*"))
    shortened, doubled, halved, removed = days[-12], days[-8], results[-9], results[-5]
    again = shutil.copy2(doubled, doubled.with_name(f"again-{doubled.name}"))
    saved.mkdir()
    for path in (shortened, halved, removed):
        shutil.copy2(path, saved)
    shorten(shortened)
    lines = gzip.decompress(halved.read_bytes()).splitlines(keepends=True)
    halved.write_bytes(gzip.compress(b"".join(lines[: len(lines) // 2])))
    removed.unlink()

    def undo() -> None:
        for path in (shortened, halved, removed):
            shutil.copy2(saved / path.name, path)
        again.unlink()

    return undo


@pytest.mark.parametrize(
    ("name", "value"),
    [("FAULTLINE_THREADS", "1"), ("FAULTLINE_THREADS", "4"), ("FAULTLINE_MEMORY", "1GB"), ("FAULTLINE_MEMORY", "8GB")],
)
def test_threads_and_memory_change_no_row(
    name: str, value: str, logs: Path, at_once: dict[str, list[tuple]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    compare(refreshed(logs, tmp_path), at_once)
