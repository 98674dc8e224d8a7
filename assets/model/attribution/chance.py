"""The rate of coincidences per second, on one node and by one check."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from assets.model.attribution.evidence import Controls, Episodes
from assets.model.shares import Floats, Kinds, Places, ones

_CHANCE_HITS, _CHANCE_RATE = 0.5, 0.001 / 900
"""Assumed coincidences before any attempt COMPLETED: weight in events, and rate per node-second, one in a thousand
windows of a node. The paper has a failed check on any node near the end of less than 1% of completed jobs."""
CHECK_WEIGHT = 10.0
"""Weight, in events, with which the share of a check is shrunk towards its share of all events."""


@dataclass(frozen=True)
class ChanceRate:
    """Rates of coincidences on the nodes and by the checks of suspected episodes.

    Attributes
    ----------
    check, node_class
        Of each suspected episode.
    proneness
        False alarms of the episode's node and check, relative to the node's class and to other checks on the node.
    usual_check
        Share of each check in all events.
    by_check
        The control by check.
    of_classes, class_seconds
        Matrix that sums the control by class of node, and the seconds in which each class was observed, weighted by
        the proneness of the nodes.
    """

    check: Places
    node_class: Places
    proneness: Floats
    usual_check: Floats
    by_check: Kinds
    of_classes: sparse.csr_matrix
    class_seconds: Floats

    @classmethod
    def of(cls, episodes: Episodes, controls: Controls, control_episodes: Episodes) -> ChanceRate:
        """Measure proneness, and assign the control to classes.

        Examples
        --------
        Of four events, three are of the first check; two of the four are of the control:

        >>> from dataclasses import replace
        >>> none, at = np.zeros(2, int), np.zeros(2)
        >>> events = Episodes(none, none, none, none, at, none > 0, none > 0, none, at, none > 0)
        >>> controls = Controls(np.ones(1), none[:1], np.ones(7), none[:0], none[:0], at[:0])
        >>> ChanceRate.of(events, controls, replace(events, check=np.arange(2))).usual_check.tolist()
        [0.7, 0.3]
        """
        seen = (episodes.check, control_episodes.check, controls.rest_check)
        checks = max(int(check.max(initial=0)) for check in seen) + 1
        counted = np.bincount(episodes.check, minlength=checks) + np.bincount(control_episodes.check, minlength=checks)
        of_node = np.zeros((len(controls.node_seconds), checks))
        np.add.at(of_node, (controls.rest_node, controls.rest_check), controls.rest_count)
        # The expected events of the node if they were distributed over checks like those of all nodes.
        of_check = np.outer(of_node.sum(axis=1), of_node.sum(axis=0) / max(of_node.sum(), 1.0))
        of_own_check = (of_node + CHECK_WEIGHT) / (of_check + CHECK_WEIGHT)
        of_nodes = _proneness(controls, of_node.sum(axis=1))
        classes = int(controls.node_class.max(initial=0)) + 1
        return cls(
            episodes.check,
            controls.node_class[episodes.node],
            of_nodes[episodes.node] * of_own_check[episodes.node, episodes.check],
            (counted + 1.0 / checks) / (counted.sum() + 1.0),
            Kinds.of(np.zeros_like(control_episodes.check), control_episodes.check, 1, checks),
            ones(controls.node_class[control_episodes.node], classes),
            np.bincount(controls.node_class, controls.node_seconds * of_nodes, minlength=classes).astype(float),
        )

    def per_second(self, chances: Floats) -> Floats:
        """Return the coincidences per second on the node and by the check of each episode.

        Parameters
        ----------
        chances
            Shape (draws, control): probability that each event of the control did not fail another attempt.

        Returns
        -------
        ndarray
            Shape (draws, episodes).
        """
        of_check = self.by_check.shares(chances, self.usual_check, CHECK_WEIGHT)
        rate = (chances @ self.of_classes + _CHANCE_HITS) / (self.class_seconds + _CHANCE_HITS / _CHANCE_RATE)
        return rate[:, self.node_class] * self.proneness * of_check[:, self.check]


def _proneness(controls: Controls, hits: Floats) -> Floats:
    """Return the rate of false alarms of each node relative to its class (Gamma-Poisson)."""
    members = np.bincount(controls.node_class)
    expected = (np.bincount(controls.node_class, hits) / np.maximum(members, 1))[controls.node_class]
    spread = ((hits * (hits - 1.0)).sum() + 1.0) / ((expected**2).sum() + 1.0) - 1.0
    shape = 1.0 / np.clip(spread, 0.02, 10.0)
    return (shape + hits) / (shape + expected)
