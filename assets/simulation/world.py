"""What the parts of the simulation share: profile, clock, nodes, ledger, and the random generator."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assets.simulation.clock import Clock
from assets.simulation.ledger import Ledger
from assets.simulation.nodes import NodePool
from assets.simulation.profiles import Profile


@dataclass(frozen=True)
class World:
    """One cluster during its simulation."""

    profile: Profile
    clock: Clock
    pool: NodePool
    ledger: Ledger
    rng: np.random.Generator
