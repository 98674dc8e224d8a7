"""One small simulated cluster for all tests of the simulator."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assets.simulation import simulate
from tests.simulation.simulated import Simulated


@pytest.fixture(scope="session")
def make(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Simulated]:
    """Give a function that simulates into a new folder."""

    def run(**options: Any) -> Simulated:
        out: Path = options.pop("out", None) or tmp_path_factory.mktemp("simulated")
        return Simulated(simulate("demo", out, **options).clusters[0])

    return run


@pytest.fixture(scope="session")
def demo(make: Callable[..., Simulated]) -> Simulated:
    """Give two weeks of the demo cluster, the first shared incident included."""
    return make(days=14, seed=2)
