"""Fleets with planted lemons, drawn without any code of the simulator: the failures, and the nodes of each.

Sizes of jobs are those of the paper's figure 6 by GPU time. A failure with an unknown culprit suspects all its nodes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assets.model.lemons.culprits import Blame, infer_culprits
from assets.model.lemons.verdicts import LEMON, decide

FLEET_RATE = 0.0065
JOB_NODES = 2 ** np.arange(1, 10)
JOB_SHARES = np.array([14, 20, 35, 64, 123, 140, 172, 208, 168])


@dataclass(frozen=True)
class Setting:
    """The planted values.

    `factor` is the rate of lemons, as a multiple of the fleet's mean rate if `is_of_fleet` and of the normal nodes'
    otherwise; `spread` is the standard deviation of the normal nodes' rates over their mean.
    """

    days: int
    factor: float
    known_share: float = 0.85
    is_of_fleet: bool = False
    spread: float = 0.0
    node_count: int = 2000
    lemon_count: int = 24
    in_use: float = 0.83


@dataclass(frozen=True)
class Fleet:
    """Suspects as index pairs, node-days in use, and the truth."""

    failure: np.ndarray
    node: np.ndarray
    exposure: np.ndarray
    is_lemon: np.ndarray


def plant(setting: Setting, rng: np.random.Generator) -> Fleet:
    """Draw a fleet and its failures."""
    count, lemons = setting.node_count, setting.lemon_count
    lemon_rate = setting.factor * FLEET_RATE
    normal_rate = FLEET_RATE
    if setting.is_of_fleet:
        normal_rate = FLEET_RATE * (count - setting.factor * lemons) / (count - lemons)
    is_lemon = np.zeros(count, dtype=bool)
    is_lemon[rng.choice(count, lemons, replace=False)] = True
    rate = np.full(count, normal_rate)
    if setting.spread:
        rate *= rng.gamma(1 / setting.spread**2, setting.spread**2, count)
    exposure = setting.days * setting.in_use * rng.uniform(0.9, 1.1, count)
    culprit = np.repeat(np.arange(count), rng.poisson(np.where(is_lemon, lemon_rate, rate) * exposure))
    is_known = rng.random(len(culprit)) < setting.known_share
    size = np.where(is_known, 1, rng.choice(JOB_NODES, len(culprit), p=JOB_SHARES / JOB_SHARES.sum()))
    suspects = [
        np.unique(np.append(rng.choice(count, nodes - 1, replace=False), own)) if nodes > 1 else np.array([own])
        for own, nodes in zip(culprit, size, strict=True)
    ]
    failure = np.repeat(np.arange(len(suspects)), [len(nodes) for nodes in suspects])
    return Fleet(failure, np.concatenate(suspects) if suspects else np.array([], dtype=int), exposure, is_lemon)


def blame(fleet: Fleet) -> Blame:
    """Infer the culprits of a fleet."""
    return infer_culprits(fleet.failure, fleet.node, fleet.exposure, np.random.default_rng(20241029))


@dataclass(frozen=True)
class Score:
    """The quality of the lists of many fleets; `false_discovery_rate` counts an empty list as without error."""

    precision: float
    recall: float
    false_discovery_rate: float
    listed: float
    refused: float


def score(setting: Setting, seeds: range) -> Score:
    """Make the list of one fleet per seed."""
    rows = []
    for seed in seeds:
        fleet = plant(setting, np.random.default_rng(seed))
        verdicts = decide(blame(fleet), fleet.exposure, np.zeros(setting.node_count, dtype=bool))
        listed = verdicts.verdict == LEMON
        rows.append((listed.sum(), (listed & fleet.is_lemon).sum(), verdicts.refusal is not None))
    listed, hits, refused = np.array(rows, dtype=float).T
    return Score(
        precision=float(hits.sum() / listed.sum()) if listed.any() else float("nan"),
        recall=float(hits.mean() / setting.lemon_count) if setting.lemon_count else float("nan"),
        false_discovery_rate=float(np.mean(1 - hits[listed > 0] / listed[listed > 0]) * np.mean(listed > 0))
        if listed.any()
        else 0.0,
        listed=float(listed.mean()),
        refused=float(refused.mean()),
    )
