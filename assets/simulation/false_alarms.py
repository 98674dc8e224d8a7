"""False alarms: evidence without a fault. Their rate gives the wanted share of completed attempts some evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assets.simulation.evidence import AFTER_SECONDS, BEFORE_SECONDS
from assets.simulation.ledger import Symptoms
from assets.simulation.profiles import DAY, FalseAlarms, Profile
from assets.simulation.states import COMPLETED
from assets.simulation.symptoms import ALARM_MESSAGES, GPU_BUSES, PLAIN, Wording
from assets.simulation.workload import Workload

LASTING_SECONDS = 900
MAX_TRANSIENT_CHECKS = 2
DRAINED_AFTER_SECONDS = (30, 1500)
"""Time from the first failed check of a false alarm until its node is drained."""
RECOVERY_SHARE = 0.7
"""Share of the short kernel alarms that end with a line of recovery."""
LINK, MOUNT = PLAIN["ib_link"], PLAIN["filesystem_mount"]
KINDS = (
    Wording(LINK.check, LINK.message),
    LINK,
    *(Wording(c, ALARM_MESSAGES[c]) for c in ("nvidia smi ecc_uncorrected", "check dcgmi nvlink status", "check pci")),
    Wording(MOUNT.check, MOUNT.message),
    MOUNT,
    PLAIN["system_services"],
    Wording(kernel=LINK.kernel, recovery=LINK.recovery),
    Wording(kernel=MOUNT.kernel, recovery=MOUNT.recovery),
)
"""The texts of real failures, all equally frequent. Each counts as critical."""


@dataclass(frozen=True)
class Alarm:
    """One false alarm: how long its check fails, and how long after the first failure its node is drained, if it is."""

    node: int
    symptoms: Symptoms
    seconds: int
    drained_after: float | None


def alarms_per_node_day(share: float, nodes: NDArray[Any], seconds: NDArray[Any], weights: NDArray[Any]) -> float:
    """Return the rate of alarms at which `share` (below 1) of the attempts have at least one in their window.

    `nodes` and `seconds` describe attempts, and `weights` says how many attempts each row stands for.
    """
    exposed = nodes * (np.minimum(seconds, BEFORE_SECONDS) + AFTER_SECONDS) / DAY

    def is_enough(rate: float) -> bool:
        return float(np.average(-np.expm1(-rate * exposed), weights=weights)) >= share

    low, high = 0.0, 1.0
    while not is_enough(high):
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


class AlarmSource:
    """Draws false alarms for the whole fleet at one rate, computed from the work that completes."""

    def __init__(self, profile: Profile, habits: FalseAlarms, workload: Workload, rng: np.random.Generator) -> None:
        self._profile, self._habits, self._rng = profile, habits, rng
        gpus, seconds, outcome = (np.asarray(workload[name]) for name in ("gpus", "seconds", "outcome"))
        weights = np.maximum(np.asarray(workload["tasks"]), 1) * np.asarray(workload["segments"])
        nodes, done = np.maximum(gpus // profile.gpus_per_node, 1), outcome == COMPLETED
        rate = alarms_per_node_day(habits.completed_share, nodes[done], seconds[done], weights[done])
        # Subtract the findings of low severity, which are evidence too.
        self.per_node_day = max(rate - profile.drain_rate - profile.alarm_rate, 0.01 * rate)

    def next_gap(self) -> float:
        """Draw the seconds until the next alarm in the fleet."""
        return float(self._rng.exponential(DAY / (self.per_node_day * self._profile.node_count)))

    def draw(self, missing: set[str]) -> Alarm:
        """Draw an alarm of a check that exists already."""
        rng, habits, period = self._rng, self._habits, self._profile.check_seconds
        kinds = [kind for kind in KINDS if kind.check not in missing]
        kind, node = kinds[int(rng.random() * len(kinds))], int(rng.integers(self._profile.node_count))
        length = float(rng.random())
        drained_after, lasts = None, length < habits.lasting_share
        if lasts:
            seconds = LASTING_SECONDS + int(rng.exponential(60 * habits.mean_extra_minutes))
            if length < habits.drained_share:
                drained_after = float(rng.uniform(*DRAINED_AFTER_SECONDS))
        else:
            seconds = period * (1 + int(rng.random() * MAX_TRANSIENT_CHECKS)) - 1
        return Alarm(node, self._symptoms(kind, None if lasts else seconds), seconds, drained_after)

    def _symptoms(self, kind: Wording, over_after: int | None) -> Symptoms:
        gpu = int(self._rng.integers(self._profile.gpus_per_node))
        names = {"gpu": gpu, "bus": GPU_BUSES[gpu]}
        kernel = [(after, line.format(**names)) for after, line in kind.kernel]
        if kernel and over_after is not None and self._rng.random() < RECOVERY_SHARE:
            kernel.append((float(over_after), kind.recovery.format(**names)))
        message = kind.message.format(**names)
        checks = [(kind.check, message)] if kind.check else []
        reason = f"HC: {kind.check}: {message.strip()}" if kind.check else kernel[0][1]
        return Symptoms(kernel=kernel, checks=checks, reason=reason)
