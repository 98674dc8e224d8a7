"""How likely an episode looks as it does: persistence, companion and drain, as a cause and as a coincidence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assets.model.attribution_evidence import FAMILIES, PERSISTENCE, Episodes
from assets.model.shares import Floats, Kinds, Places

_SHAPE = (len(PERSISTENCE), 2, 2)
_LOOKS = len(PERSISTENCE) * 2 * 2


@dataclass(frozen=True)
class _Assumption:
    """Share of events with a companion; on a drained node, by persistence; by persistence.

    The latter of checks, and of checks without good results.
    """

    companion: float
    drained: tuple[float, float, float]
    persistence: tuple[float, float, float]
    persistence_unseen: tuple[float, float, float]


_CAUSE = _Assumption(0.3, (0.6, 0.6, 0.6), (0.15, 0.10, 0.75), (0.0, 0.3, 0.7))
_CHANCE = _Assumption(0.03, (0.02, 0.05, 0.30), (0.65, 0.10, 0.25), (0.0, 0.7, 0.3))
"""What is assumed where a cluster has shown little: the share of events with each feature under cause and chance. Nodes
are drained for false alarms that last, hardly for those that pass."""
_FEATURE_WEIGHT = 5.0
"""Causes that the assumption on a single feature weighs as much as."""
_LOOKS_WEIGHT = 20.0
"""Events by which shares of combined features are drawn: causes to independent features, the coincidences of a check to
those of its family, and these to what is assumed."""


@dataclass(frozen=True)
class CauseLooks:
    """Looks of suspected episodes, were they causes; told by the other episodes, as far as these are causes.

    Attributes
    ----------
    features
        Persistence, companion and drain, by family; and the assumed share of what each episode shows of it.
    combined
        All three together, by family.
    """

    features: tuple[tuple[Kinds, Floats], ...]
    combined: Kinds

    @classmethod
    def of(cls, episodes: Episodes) -> CauseLooks:
        """Sort the suspected episodes."""
        assumed = _assumed(_CAUSE).reshape(len(FAMILIES), *_SHAPE)
        features = []
        for axis, feature in enumerate((episodes.persistence, episodes.has_companion, episodes.is_drained)):
            others = tuple({1, 2, 3} - {axis + 1})
            kinds = Kinds.of(episodes.family, feature.astype(np.int64), len(FAMILIES), _SHAPE[axis])
            features.append((kinds, assumed.sum(axis=others).ravel()[kinds.number]))
        return cls(tuple(features), Kinds.of(episodes.family, _looks(episodes), len(FAMILIES), _LOOKS))

    def likelihood(self, causes: Floats) -> Floats:
        """Give the share of causes that look like each episode; `causes` are weights by draw and episode."""
        independent = np.ones_like(causes)
        for kinds, assumed in self.features:
            independent = independent * kinds.shares_by_others(causes, assumed, _FEATURE_WEIGHT)
        return self.combined.shares_by_others(causes, independent, _LOOKS_WEIGHT)


@dataclass(frozen=True)
class ChanceLooks:
    """Looks of suspected episodes, were they coincidences; told by the episodes beside completed attempts.

    Attributes
    ----------
    by_family, by_check
        Looks of the control, by family and by check within the family.
    family_of_check
        The family of each check; a check of two families is two checks here.
    suspected
        Places of the suspected episodes among the looks by check.
    """

    by_family: Kinds
    by_check: Kinds
    family_of_check: Places
    suspected: Places

    @classmethod
    def of(cls, episodes: Episodes, control: Episodes) -> ChanceLooks:
        """Sort the control."""
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
        """Give the share of coincidences that look like each episode; `chances` are weights by draw and control."""
        of_family = self.by_family.shares(chances, _assumed(_CHANCE), _LOOKS_WEIGHT)
        by_family = of_family.reshape(len(chances), len(FAMILIES), _LOOKS)
        of_check = by_family[:, self.family_of_check].reshape(len(chances), -1)
        return self.by_check.shares(chances, of_check, _LOOKS_WEIGHT)[:, self.suspected]


def _looks(episodes: Episodes) -> Places:
    """Give persistence, companion and drain one number."""
    return (episodes.persistence * 2 + episodes.has_companion) * 2 + episodes.is_drained


def _assumed(assumption: _Assumption) -> Floats:
    """Shares of looks, family by family; what a family cannot show is nearly impossible."""
    persistences = {"check": assumption.persistence, "failures_only": assumption.persistence_unseen}
    companion = np.array([1.0 - assumption.companion, assumption.companion])
    tables = []
    for family in FAMILIES:
        persistence = np.array(persistences.get(family, (0.0, 1.0, 0.0))) + 1e-3
        # A reason is given to a node when it is taken out of service: that says nothing more.
        drained = np.full(len(PERSISTENCE), 0.5) if family == "reason" else np.array(assumption.drained)
        of_drain = np.stack([1.0 - drained, drained], axis=1)
        joint = persistence[:, None, None] * companion[None, :, None] * of_drain[:, None, :]
        tables.append((joint / joint.sum()).ravel())
    return np.concatenate(tables)
