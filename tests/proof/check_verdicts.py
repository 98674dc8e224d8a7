"""Clusters with checks that are of no use, or right after a while: how often the verdict on a check is wrong.

The draws are of what `inp_checks_counted` counts: onsets, each followed to the first fault of its component, an
interruption, the end of the data or seven days.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from assets.estimates.est_check_scores import with_scores
from assets.model.check_scores import DROP, KEEP

FOLLOWED_DAYS = 7.0
CHECKS = 5
"""Checks of each kind in a cluster."""


def drawn(rng: np.random.Generator, share: float) -> pd.DataFrame:
    """Draw a cluster's checks as the estimate reads them; a share of onsets comes true, after a random delay."""
    nodes, days = int(rng.integers(8, 300)), float(rng.uniform(30, 180))
    fault_rate, interruption_rate = 10 ** rng.uniform(-3.5, -1.5), 10 ** rng.uniform(-2.5, -1.3)
    mean_delay = 10 ** rng.uniform(-2.5, 0.0)
    return pd.DataFrame(
        [
            _check(rng, nodes, days, fault_rate, interruption_rate, share, mean_delay)
            | {"check_name": f"check {number}"}
            for number in range(CHECKS)
        ]
    )


def _check(
    rng: np.random.Generator,
    nodes: int,
    days: float,
    fault_rate: float,
    interruption_rate: float,
    share: float,
    mean_delay: float,
) -> dict[str, object]:
    bursts = rng.poisson(rng.uniform(0.2, 3.0) * nodes * days * 10 ** rng.uniform(-3.0, -1.0)) + 5
    sizes = rng.geometric(rng.choice([1.0, 0.3]), bursts)
    burst = np.repeat(np.arange(bursts), sizes)
    node = rng.integers(0, nodes, bursts)[burst]
    at = np.minimum(rng.uniform(0, days, bursts)[burst] + rng.uniform(0, 0.5, burst.size), days)
    # Faults and interruptions come by themselves, to some nodes more than to others; those that an onset announces
    # are further ones.
    frailty = rng.gamma(2.0, 0.5, nodes)
    faults, interruptions = (
        [np.sort(rng.uniform(0, days, rng.poisson(rate * days * each))) for each in frailty]
        for rate in (fault_rate, interruption_rate)
    )
    delay = np.where(rng.random(bursts) < share, rng.exponential(mean_delay, bursts), np.inf)[burst]
    first = np.minimum(at + delay, [_next(faults[each], when) for each, when in zip(node, at, strict=True)])
    cut = np.array([_next(interruptions[each], when) for each, when in zip(node, at, strict=True)])
    until = np.minimum.reduce([first, cut, at + FOLLOWED_DAYS, np.full(at.size, days)])
    is_hit, is_cut = first == until, (cut == until) & (first > until)
    judged = is_hit | ((until == at + FOLLOWED_DAYS) & ~is_cut)
    followed, covered = until - at, _covered(node, at, until)
    outside = max(nodes * days - covered, 1.0)
    inside = {(each, when) for each, when in zip(node[is_hit], until[is_hit], strict=True)}
    cuts = {(each, when) for each, when in zip(node[is_cut], until[is_cut], strict=True)}
    drawn_true = {(each, when) for each, when in zip(node, at + delay, strict=True) if when <= days}
    all_faults = {(each, when) for each in range(nodes) for when in faults[each]} | drawn_true
    rate = len(all_faults - inside) / outside
    cut_rate = len({(each, when) for each in range(nodes) for when in interruptions[each]} - cuts) / outside
    outcome = pd.Series(list(zip(node, np.where(is_hit, until, at // FOLLOWED_DAYS), is_hit, strict=True)))
    bursts_seen = np.maximum(
        outcome.groupby(outcome).transform("size"), pd.Series(at * 24 // 1).groupby(at * 24 // 1).transform("size")
    )
    return {
        "cluster_id": "drawn", "node_days": nodes * days, "hours": days * 24, "onset_count": at.size,
        "judged_count": int(judged.sum()), "true_count": float(is_hit.sum()), "doubt_variance": 0.0,
        "followed_count": float(is_hit.sum()), "chance_count": float(-np.expm1(-rate * followed).sum()),
        "rate_variance": (followed.sum() / outside) ** 2 * (rate * outside + 1),
        "interrupted_count": float(is_cut.sum()),
        "interruption_chance_count": float(-np.expm1(-cut_rate * followed).sum()),
        "squared_count": float(bursts_seen.sum()), "survived_count": 0, "drained_node_hours": 0.0,
        "lead_seconds": [], "lead_weights": [], "alone_count": 0.0, "lost_count": 0.0, "failure_count": 50.0,
    }  # fmt: skip


def _next(times: np.ndarray, after: float) -> float:
    place = np.searchsorted(times, after)
    return float(times[place]) if place < times.size else np.inf


def _covered(node: np.ndarray, at: np.ndarray, until: np.ndarray) -> float:
    order = np.lexsort((at, node))
    total, last_node, last_until = 0.0, -1, 0.0
    for place in order:
        start = at[place] if node[place] != last_node else max(at[place], last_until)
        total += max(until[place] - start, 0.0)
        last_until = until[place] if node[place] != last_node else max(last_until, until[place])
        last_node = node[place]
    return total


def _with_verdict(clusters: int, seed: int, lowest_share: float, highest_share: float, word: str) -> int:
    rng = np.random.default_rng(seed)
    scores = (with_scores(drawn(rng, rng.uniform(lowest_share, highest_share))) for _ in range(clusters))
    return sum(bool((each["verdict"] == word).any()) for each in scores)


def wrong_verdicts(clusters: int = 200, seed: int = 65) -> int:
    """Count clusters in which one of five checks that are of no use is kept."""
    return _with_verdict(clusters, seed, 0.0, 0.0, KEEP)


def wrongly_dropped(clusters: int = 200, seed: int = 66) -> int:
    """Count clusters in which one of five checks that are right 3 of 10 times or more, in the end, is dropped."""
    return _with_verdict(clusters, seed, 0.3, 1.0, DROP)


def found(clusters: int = 200, seed: int = 67) -> tuple[int, int]:
    """Count clusters in which one of five checks is dropped where none is of use, and kept where all are right."""
    return _with_verdict(clusters, seed, 0.0, 0.0, DROP), _with_verdict(clusters, seed, 1.0, 1.0, KEEP)
