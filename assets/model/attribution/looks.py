"""Likelihood of the features of an episode (persistence, companion, drain), as a cause and as a coincidence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assets.model.attribution.evidence import FAMILIES, PERSISTENCE, Episodes
from assets.model.shares import Floats, Kinds, Places

_SHAPE = (len(PERSISTENCE), 2, 2)
_LOOKS = len(PERSISTENCE) * 2 * 2


@dataclass(frozen=True)
class _Assumption:
    """Assumed shares of events: with a companion; on a drained node, by persistence; by persistence.

    The last is given for checks, and for checks without good results.
    """

    companion: float
    drained: tuple[float, float, float]
    persistence: tuple[float, float, float]
    persistence_unseen: tuple[float, float, float]


_CAUSE = _Assumption(0.3, (0.6, 0.6, 0.6), (0.15, 0.10, 0.75), (0.0, 0.3, 0.7))
_CHANCE = _Assumption(0.03, (0.02, 0.05, 0.30), (0.65, 0.10, 0.25), (0.0, 0.7, 0.3))
"""Assumed share of events with each feature, by cause and by chance, for clusters with few events. Nodes are drained
for false alarms that last, and hardly ever for short ones."""
_FEATURE_WEIGHT = 5.0
"""Weight of the assumption about a single feature, in causes."""
_LOOKS_WEIGHT = 20.0
"""Weights in events of the shrinkage of combined features: of causes towards independent features, of a check's
coincidences towards its family, and of a family towards the assumption."""


@dataclass(frozen=True)
class CauseLooks:
    """Features of suspected episodes if they are causes, estimated from the probable causes among the other episodes.

    Attributes
    ----------
    features
        Persistence, companion and drain, by family, with the assumed share of the value of each episode.
    combined
        All three together, by family.
    """

    features: tuple[tuple[Kinds, Floats], ...]
    combined: Kinds

    @classmethod
    def of(cls, episodes: Episodes) -> CauseLooks:
        """Assign the suspected episodes to classes."""
        assumed = _assumed(_CAUSE).reshape(len(FAMILIES), *_SHAPE)
        features = []
        for axis, feature in enumerate((episodes.persistence, episodes.has_companion, episodes.is_drained)):
            others = tuple({1, 2, 3} - {axis + 1})
            kinds = Kinds.of(episodes.family, feature.astype(np.int64), len(FAMILIES), _SHAPE[axis])
            features.append((kinds, assumed.sum(axis=others).ravel()[kinds.number]))
        return cls(tuple(features), Kinds.of(episodes.family, _looks(episodes), len(FAMILIES), _LOOKS))

    def likelihood(self, causes: Floats) -> Floats:
        """Return the share of causes with the features of each episode. `causes` are weights by draw and episode."""
        independent = np.ones_like(causes)
        for kinds, assumed in self.features:
            independent = independent * kinds.shares_by_others(causes, assumed, _FEATURE_WEIGHT)
        return self.combined.shares_by_others(causes, independent, _LOOKS_WEIGHT)


@dataclass(frozen=True)
class ChanceLooks:
    """Features of suspected episodes if they are coincidences, estimated from the episodes of completed attempts.

    Attributes
    ----------
    by_family, by_check
        Features of the control, by family and by check within the family.
    family_of_check
        The family of each check; a check of two families is two checks here.
    suspected
        Positions of the suspected episodes among the features by check.
    """

    by_family: Kinds
    by_check: Kinds
    family_of_check: Places
    suspected: Places

    @classmethod
    def of(cls, episodes: Episodes, control: Episodes) -> ChanceLooks:
        """Assign the control to classes."""
        own = [events.check * len(FAMILIES) + events.family for events in (episodes, control)]
        names, place = np.unique(np.concatenate(own), return_inverse=True)
        suspected, controls = place[: len(own[0])], place[len(own[0]) :]
        return cls(
            Kinds.of(control.family, _looks(control), len(FAMILIES), _LOOKS),
            Kinds.of(controls, _looks(control), len(names), _LOOKS),
            names % len(FAMILIES),
            suspected * _LOOKS + _looks(episodes),
        )

    def likelihood(self, chances: Floats) -> Floats:
        """Return the share of coincidences with each episode's features. `chances` are weights by draw and control."""
        of_family = self.by_family.shares(chances, _assumed(_CHANCE), _LOOKS_WEIGHT)
        by_family = of_family.reshape(len(chances), len(FAMILIES), _LOOKS)
        of_check = by_family[:, self.family_of_check].reshape(len(chances), -1)
        return self.by_check.shares(chances, of_check, _LOOKS_WEIGHT)[:, self.suspected]


def _looks(episodes: Episodes) -> Places:
    """Combine persistence, companion and drain into one number."""
    return (episodes.persistence * 2 + episodes.has_companion) * 2 + episodes.is_drained


def _assumed(assumption: _Assumption) -> Floats:
    """Return the assumed shares of combined features by family. Features that a family cannot show are unlikely."""
    persistences = {"check": assumption.persistence, "failures_only": assumption.persistence_unseen}
    companion = np.array([1.0 - assumption.companion, assumption.companion])
    tables = []
    for family in FAMILIES:
        persistence = np.array(persistences.get(family, (0.0, 1.0, 0.0))) + 1e-3
        # A node gets a reason when it is taken out of service, so the feature adds nothing for reasons.
        drained = np.full(len(PERSISTENCE), 0.5) if family == "reason" else np.array(assumption.drained)
        of_drain = np.stack([1.0 - drained, drained], axis=1)
        joint = persistence[:, None, None] * companion[None, :, None] * of_drain[:, None, :]
        tables.append((joint / joint.sum()).ravel())
    return np.concatenate(tables)
