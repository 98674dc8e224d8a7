"""A fake Slurm on the PATH, and a pull of the cluster c1 from it."""

from datetime import UTC, datetime

import pytest

from assets.sources.settings import Pull
from orchestration.pull.host import Host
from orchestration.pull.pulling import ClusterPull, Span
from tests.pull.fake_slurm import FakeSlurm


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    return FakeSlurm(tmp_path / "slurm", monkeypatch)


@pytest.fixture
def folder(tmp_path):
    """The folder of the cluster c1."""
    folder = tmp_path / "home" / "sources" / "c1"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def rests(monkeypatch):
    """How long the pulls of a test rest before each query; they do not really rest."""
    found = []
    monkeypatch.setattr("orchestration.pull.pulling.time.sleep", found.append)
    return found


@pytest.fixture
def pull(slurm, folder, rests):
    """Pull up to a moment, by default in the middle of the fifth day of March."""

    def pull(now="2026-03-05T12:00", *, span=Span(), **settings):  # noqa: B008
        given = Pull(**{"first_days": 3, "look_back_days": 1, **settings})
        moment = datetime.fromisoformat(now).replace(tzinfo=UTC)
        return ClusterPull("c1", folder, given, Host(given), now=moment).run(span)

    return pull


@pytest.fixture
def files(folder):
    """Give what a reader would see of the cluster's folder."""

    def files(kind=""):
        found = sorted(path for path in (folder / kind).rglob("*") if path.is_file())
        visible = [path.relative_to(folder) for path in found]
        return [str(path) for path in visible if not any(part.startswith(".") for part in path.parts)]

    return files
