"""Shares of kinds in groups, from items that count by a probability, shrunk towards assumed shares."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats = NDArray[np.float64]
Places = NDArray[np.int64]


def ones(place: Places, width: int) -> sparse.csr_matrix:
    """Return the matrix that sums values by index, with a one in each row."""
    rows = np.arange(len(place))
    return sparse.csr_matrix((np.ones(len(place)), (rows, place)), shape=(len(place), width))


@dataclass(frozen=True)
class Kinds:
    """Things by group and kind.

    Attributes
    ----------
    number
        Shape (things,): group times the number of kinds, plus the kind.
    kinds
        Number of kinds in a group.
    sums
        Shape (things, groups * kinds): sums things by `number`.
    """

    number: Places
    kinds: int
    sums: sparse.csr_matrix

    @classmethod
    def of(cls, group: Places, kind: Places, groups: int, kinds: int) -> Kinds:
        """Assign a number to each pair of group and kind."""
        number = group * kinds + kind
        return cls(number, kinds, ones(number, groups * kinds))

    def shares(self, weights: Floats, assumed: Floats, assumed_weight: float) -> Floats:
        """Return the share of each kind in its group.

        Parameters
        ----------
        weights
            Shape (draws, things).
        assumed
            Shape (groups * kinds,), or with a row per draw: shares towards which the observed ones are shrunk.
        assumed_weight
            Weight of the assumption, in things.

        Returns
        -------
        ndarray
            Shape (draws, groups * kinds).

        Examples
        --------
        >>> coins = Kinds.of(np.zeros(4, dtype=np.int64), np.array([0, 0, 0, 1]), 1, 2)
        >>> coins.shares(np.ones((1, 4)), np.array([0.5, 0.5]), 4.0).tolist()
        [[0.625, 0.375]]
        """
        counts = weights @ self.sums
        return (counts + assumed_weight * assumed) / (self._totals(counts) + assumed_weight)

    def shares_by_others(self, weights: Floats, assumed: Floats, assumed_weight: float) -> Floats:
        """Return the share of the kind of each thing, from the other things of its group.

        Parameters
        ----------
        weights
            Shape (draws, things).
        assumed
            Shape (things,), or with a row per draw: share of the thing's kind towards which the observed one is shrunk.
        assumed_weight
            Weight of the assumption, in things.

        Returns
        -------
        ndarray
            Shape (draws, things).

        Examples
        --------
        >>> coins = Kinds.of(np.zeros(4, dtype=np.int64), np.array([0, 0, 0, 1]), 1, 2)
        >>> coins.shares_by_others(np.ones((1, 4)), np.full(4, 0.5), 1.0).tolist()
        [[0.625, 0.625, 0.625, 0.125]]
        """
        counts = weights @ self.sums
        others = counts[:, self.number] - weights
        of_group = self._totals(counts)[:, self.number] - weights
        return (others + assumed_weight * assumed) / (of_group + assumed_weight)

    def _totals(self, counts: Floats) -> Floats:
        """Return for each kind the count of its group."""
        return np.repeat(counts.reshape(len(counts), -1, self.kinds).sum(axis=2), self.kinds, axis=1)
