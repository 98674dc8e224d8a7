"""One small simulated cluster for all tests of the simulator."""

import pytest

from assets.simulation import simulate
from tests.simulation.simulated import Simulated


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Simulated:
    """Return two weeks of the demo cluster with the first shared incident."""
    return Simulated(simulate("demo", tmp_path_factory.mktemp("demo"), days=14, seed=2).clusters[0])
