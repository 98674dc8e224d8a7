"""Trials of relapses after repairs. Most repairs were watched for less than the study lasts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from assets.model.repairs import Spells, relapse_share
from tests.proof.trial import Outcome, Trial, at_least

MEAN_DAYS = 40.0


def watched(repairs: int, share: float) -> Callable[[np.random.Generator, int], Outcome]:
    """A share comes back with a mean of 2 days, the others with 40; each is watched for up to 60 days."""

    def run(rng: np.random.Generator, rounds: int) -> Outcome:
        found = []
        for _ in range(rounds):
            mean = np.where(rng.random(repairs) < share, 2.0, MEAN_DAYS)
            days, ends = rng.exponential(mean), rng.uniform(0.0, 60.0, repairs)
            found.append(relapse_share(Spells.of(np.minimum(days, ends), days <= ends, np.arange(repairs)), 7.0))
        low, value, high = (np.array([getattr(each, name) for each in found]) for name in ("low", "value", "high"))
        truth = 1 - share * np.exp(-7.0 / 2.0) - (1 - share) * np.exp(-7.0 / MEAN_DAYS)
        return Outcome.of(low, value, high, float(truth))

    return run


RELAPSES = "relapses within 7 days (`relapse_share`)"
TRIALS = (
    Trial(RELAPSES, "15 repairs, watched for 0 to 60 days", 0.9, at_least(0.86), 4000, 400, 130, watched(15, 0.0)),
    Trial(RELAPSES, "60 repairs, watched for 0 to 60 days", 0.9, at_least(0.87), 4000, 400, 131, watched(60, 0.4)),
)
