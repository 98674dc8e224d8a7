"""Lists of lemons of fleets whose lemons are planted: how many names are wrong, and how many lemons are named."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tests.model.planted_fleets import Setting, score

MAX_WRONG_SHARE = 0.10
"""What `assets.model.lemons.verdicts` promises: one name of ten is wrong, on average over lists."""
FLEETS = 40
"""Fleets of each setting; the seed of a fleet is its number."""

SETTINGS = (
    *(Setting(days, factor) for days in (28, 90) for factor in (5, 10, 20)),
    Setting(90, 10, known_share=1.0),
    Setting(90, 10, is_of_fleet=True),
    Setting(90, 10, known_share=1.0, is_of_fleet=True),
    Setting(90, 1, lemon_count=0),
)


@dataclass(frozen=True)
class ListsFound:
    """How the lists of many fleets fared, with standard errors between fleets; `nan` without lemons or names.

    Attributes
    ----------
    false_discovery_rate, false_discovery_error
        Mean share of wrong names in a list; an empty list has none.
    precision
        Right names among all names.
    recall, recall_error
        Mean share of the lemons that are named.
    listed
        Names of a list.
    refused
        Share of fleets for which no list is made.
    """

    false_discovery_rate: float
    false_discovery_error: float
    precision: float
    recall: float
    recall_error: float
    listed: float
    refused: float

    def is_as_asked(self) -> bool:
        """Whether wrong names stay within what is allowed, give or take three simulation errors."""
        return self.false_discovery_rate <= MAX_WRONG_SHARE + 3 * self.false_discovery_error


def try_lists(setting: Setting, fleets: int) -> ListsFound:
    """Make the list of so many fleets."""
    scores = [score(setting, range(seed, seed + 1)) for seed in range(fleets)]
    wrong, recall, listed, refused = (
        np.array([getattr(list_score, name) for list_score in scores])
        for name in ("false_discovery_rate", "recall", "listed", "refused")
    )
    named = float(listed.sum())
    return ListsFound(
        float(wrong.mean()),
        float(wrong.std(ddof=1) / np.sqrt(fleets)),
        float(((1 - wrong) * listed).sum() / named) if named else float("nan"),
        float(recall.mean()),
        float(recall.std(ddof=1) / np.sqrt(fleets)),
        float(listed.mean()),
        float(refused.mean()),
    )
