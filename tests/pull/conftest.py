"""A fake Slurm on the PATH, and a pull of the cluster c1 from it."""

from datetime import UTC, datetime

import pytest

from assets.sources.settings import Pull
from orchestration.pull import clusters
from orchestration.pull.clusters import ClusterPull, Span
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
def pull(slurm, folder, monkeypatch):
    """Pull up to a moment, by default in the middle of the fifth day of March."""

    def pull(now="2026-03-05T12:00", *, span=Span(), **settings):  # noqa: B008
        monkeypatch.setattr(clusters, "now", lambda: datetime.fromisoformat(now).replace(tzinfo=UTC))
        given = Pull(**{"first_days": 3, "look_back_days": 1, **settings})
        return ClusterPull("c1", folder, given, str).run(span)

    return pull


@pytest.fixture
def files(folder):
    """Return the content of the cluster's visible files, or of one kind, without the manifests."""

    def files(kind=""):
        found = sorted(path for path in (folder / kind).rglob("pulled-*") if path.suffix != ".json")
        return {str(path.relative_to(folder)): path.read_bytes() for path in found}

    return files
