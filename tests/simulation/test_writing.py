"""Writers that run side by side write the same bytes as one after another, and a failure of one is raised."""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assets.simulation import simulate, writing
from tests.simulation.simulated import Simulated, content

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="writers work side by side on Linux only")


@pytest.fixture
def side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "MANY_ATTEMPTS", 0)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)


def test_the_bytes_do_not_depend_on_who_writes_when(
    make: Callable[..., Simulated], request: pytest.FixtureRequest
) -> None:
    alone = make(days=2, seed=3)
    request.getfixturevalue("side_by_side")
    shares: list[float] = []
    together = make(days=2, seed=3, progress=shares.append)
    assert content(alone.summary.sources) == content(together.summary.sources)
    assert content(alone.summary.truth) == content(together.summary.truth)
    assert shares == sorted(shares)


@pytest.mark.usefixtures("side_by_side")
def test_a_writer_that_fails_ends_the_simulation(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fail(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "no space left")

    monkeypatch.setitem(writing.WRITERS, "events", fail)
    with pytest.raises(OSError, match="no space left"):
        simulate("demo", tmp_path, days=1, scale=0.25)
    assert not (tmp_path / "sources").exists()


@pytest.mark.usefixtures("side_by_side")
def test_a_writer_that_is_killed_ends_the_simulation(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(writing.WRITERS, "events", lambda *_: os.kill(os.getpid(), signal.SIGKILL))
    with pytest.raises(RuntimeError, match="events ended with exit status -9"):
        simulate("demo", tmp_path, days=1, scale=0.25)
    assert not (tmp_path / "sources").exists()
