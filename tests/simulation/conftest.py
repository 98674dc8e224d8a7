"""One small simulated cluster for all tests of the simulator."""

import pytest

from assets.simulation import simulate
from tests.simulation.simulated import Simulated


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Simulated:
    """Give two weeks of the demo cluster, the first shared incident included."""
    return Simulated(simulate("demo", tmp_path_factory.mktemp("demo"), days=14, seed=2).clusters[0])
