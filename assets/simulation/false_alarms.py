"""False alarms: evidence without a fault. Their rate gives the wanted share of completed attempts some evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assets.simulation.ledger import Symptoms
from assets.simulation.profiles import DAY, FalseAlarms, Profile
from assets.simulation.states import COMPLETED
from assets.simulation.symptoms import ALARM_MESSAGES
from assets.simulation.workload import Workload
from assets.simulation.xids import GPU_BUSES

BEFORE_SECONDS, AFTER_SECONDS = 600, 300
"""An event is evidence for an attempt from so long before its end until so long after it."""
LASTING_SECONDS = 900
MAX_TRANSIENT_CHECKS = 2
DRAINED_AFTER_SECONDS = (30, 1500)
"""Time from the first failed check of a false alarm until its node is drained."""
RECOVERY_SHARE = 0.7
"""Share of the short kernel alarms that end with a line which says that all is well again."""

LINK_DOWN = "mlx5_core 0000:{bus}:00.1 ibp{gpu}: Link down"
LINK_UP = "mlx5_core 0000:{bus}:00.1 ibp{gpu}: Link up"
SERVER_AWAY = "nfs: server nfs02 not responding, still trying"
SERVER_OK = "nfs: server nfs02 OK"


@dataclass(frozen=True)
class Kind:
    """The texts of a false alarm: a check and its message, or a kernel line and the line that ends it, or both."""

    check: str | None = None
    message: str = ""
    kernel: str | None = None
    recovery: str = ""


def _of_check(check: str, kernel: str | None = None, recovery: str = "") -> Kind:
    return Kind(check, ALARM_MESSAGES[check], kernel, recovery)


KINDS = (
    _of_check("check ibstat"),
    _of_check("check ibstat", LINK_DOWN, LINK_UP),
    _of_check("nvidia smi ecc_uncorrected"),
    _of_check("check dcgmi nvlink status"),
    _of_check("check pci"),
    _of_check("mounted directory"),
    _of_check("mounted directory", SERVER_AWAY, SERVER_OK),
    _of_check("service status"),
    Kind(None, "", LINK_DOWN, LINK_UP),
    Kind(None, "", SERVER_AWAY, SERVER_OK),
)
"""The texts of real failures, all equally frequent. Each counts as critical."""


@dataclass(frozen=True)
class Alarm:
    """One false alarm.

    Attributes
    ----------
    seconds
        How long the check fails.
    drained_after
        Seconds from the first failing check until the node is drained; None if it is not drained.
    """

    node: int
    symptoms: Symptoms
    seconds: int
    drained_after: float | None


def alarms_per_node_day(share: float, nodes: NDArray[Any], seconds: NDArray[Any], weights: NDArray[Any]) -> float:
    """Return the rate of alarms at which the wanted share of attempts has at least one in its window.

    Parameters
    ----------
    share
        Share of attempts, from 0 to below 1.
    nodes, seconds
        Nodes and run times of attempts.
    weights
        How many attempts are like each of them.
    """
    exposed = nodes * (np.minimum(seconds, BEFORE_SECONDS) + AFTER_SECONDS) / DAY
    low, high = 0.0, 1.0
    while _share(high, exposed, weights) < share:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _share(middle, exposed, weights) < share else (low, middle)
    return high


def _share(rate: float, exposed: NDArray[Any], weights: NDArray[Any]) -> float:
    return float(np.average(-np.expm1(-rate * exposed), weights=weights))


class AlarmSource:
    """Draws false alarms at one rate for the whole fleet.

    Parameters
    ----------
    profile
        The cluster; it must have `false_alarms`.
    workload
        Its work. The part that completes determines the rate.
    rng
        A source of random numbers for false alarms only.
    """

    def __init__(self, profile: Profile, workload: Workload, rng: np.random.Generator) -> None:
        if profile.false_alarms is None:
            raise ValueError(f"profile {profile.cluster_id} has no false alarms")
        self._profile, self._habits, self._rng = profile, profile.false_alarms, rng
        self.per_node_day = self._rate(self._habits, workload)

    def _rate(self, habits: FalseAlarms, workload: Workload) -> float:
        columns = (np.asarray(column) for column in (workload.gpus, workload.seconds, workload.outcome))
        gpus, seconds, outcome = columns
        weights = np.maximum(np.asarray(workload.tasks), 1) * np.asarray(workload.segments)
        nodes = np.maximum(gpus // self._profile.gpus_per_node, 1)
        done = outcome == COMPLETED
        rate = alarms_per_node_day(habits.completed_share, nodes[done], seconds[done], weights[done])
        # Findings of low severity are evidence too and come in addition to the alarms.
        return max(rate - self._profile.drain_rate - self._profile.alarm_rate, 0.01 * rate)

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

    def _symptoms(self, kind: Kind, over_after: int | None) -> Symptoms:
        gpu = int(self._rng.integers(self._profile.gpus_per_node))
        names = {"gpu": gpu, "bus": GPU_BUSES[gpu]}
        kernel: list[tuple[float, str]] = []
        if kind.kernel is not None:
            kernel.append((0.0, kind.kernel.format(**names)))
            if over_after is not None and self._rng.random() < RECOVERY_SHARE:
                kernel.append((float(over_after), kind.recovery.format(**names)))
        message = kind.message.format(**names)
        checks = [] if kind.check is None else [(kind.check, message)]
        reason = f"HC: {kind.check}: {message.strip()}" if kind.check else kernel[0][1]
        return Symptoms(kernel=kernel, checks=checks, reason=reason)
