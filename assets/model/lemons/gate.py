"""Test whether the failures of a fleet are more uneven over its nodes than those of a fleet without lemons.

The test is a parametric bootstrap. Fleets without lemons are drawn from the one group that fits the counts best, and
the same statistic is computed for them and for the counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assets.model.gamma_poisson import Floats, Group, Units, checked
from assets.model.lemons.two_groups import MAX_LEMON_SHARE, MIN_FACTOR, MIN_SHAPE

DRAWS = 1000
CHUNK = 100
"""Fleets to draw at once; more need more memory."""
ROUNDING = 1e-9
LEVEL = 0.05
"""An excess of lemons can be seen if its gain is above that of all but this share of fleets without lemons."""
CLASS_RATIO = 1.1
"""Nodes with exposures that differ by less than this factor count as in use for the same time."""
MEANS = np.linspace(-4.0, 4.0, 13)
"""Means of a fleet to try, in standard deviations of its count from the observed one."""
NORMAL_SHAPES = (MIN_SHAPE, 6.0, 10.0, 20.0)
LEMON_SHARES = (0.002, 0.005, 0.01, 0.02, 0.035, 0.06, MAX_LEMON_SHARE)
LEMON_FACTORS = (MIN_FACTOR, 4.0, 5.5, 7.5, 10.0, 16.0, 30.0, 100.0)
LEMON_SHAPES = (1.0, 5.0, 20.0)
POISSON = 1e6
"""Shape of a group with equal rates, as far as any count can show."""


@dataclass(frozen=True)
class LemonGate:
    """Whether a fleet can be searched for lemons.

    Attributes
    ----------
    p_value
        Probability of counts as uneven in a fleet without lemons, 0 to 1.
    smallest_count
        Fewest failures of one node of usual exposure that would have made `p_value` fall below 0.05; infinite if no
        number up to a hundred times the usual would have.
    usual_count
        Failures of such a node in the fleet without lemons.
    """

    p_value: float
    smallest_count: float
    usual_count: float


def compare_with_even_fleets(
    event_count: ArrayLike, exposure: ArrayLike, single: Group, generator: np.random.Generator
) -> LemonGate:
    """Compare the unevenness of the counts with that of fleets without lemons.

    Parameters
    ----------
    event_count
        Failures of each node, shape (nodes,), 0 or more; shares of failures are rounded to whole numbers.
    exposure
        Node-days in use of each node, shape (nodes,); nodes without any are left out.
    single
        The single group that fits the counts best (`TwoGroups.single`).
    generator
        Source of randomness for the draws.

    Returns
    -------
    LemonGate

    Raises
    ------
    ValueError
        Negative or infinite counts or exposures, shapes that differ, no node in use.

    Notes
    -----
    The statistic is the gain in log-likelihood of two groups over one. Both are maximised over a fixed grid, so that
    the gains of all fleets are one product of two matrices: the number of nodes with each count and exposure, and the
    log-likelihood of each such pair at each point of the grid. Exposures are rounded to classes of 10%. The grid is
    the same for the counts and for the drawn fleets, so its steps only cost power, and the p-value stays valid:
    ``(1 + draws with at least this gain) / (1 + draws)``. Culprits of failures are not inferred again in the drawn
    fleets.

    Assumption: without lemons the nodes' rates are of one Gamma distribution, and failures come one by one.

    References
    ----------
    A. C. Davison and D. V. Hinkley, "Bootstrap Methods and their Application", Cambridge 1997, section 4.2.

    Examples
    --------
    >>> counts = [6] + [1] * 29 + [0] * 10
    >>> gate = compare_with_even_fleets(counts, [90.0] * 40, Group(35 / 3600, 40.0), np.random.default_rng(1))
    >>> bool(gate.p_value < 0.05)
    True
    """
    count, time = checked(event_count, exposure)
    count, time = np.round(count[time > 0]), time[time > 0]
    if not len(time):
        raise ValueError("no node was in use")
    if not count.any():
        return LemonGate(1.0, np.inf, single.rate * float(np.median(time)))
    place, classes = _classes(time)
    grid = _Grid(classes, float(count.sum() / time.sum()), float(count.sum()), len(time))
    drawn = np.concatenate([_even_fleets(single, time, generator) for _ in range(DRAWS // CHUNK)])
    node = int(np.argsort(time)[len(time) // 2])
    usual = single.rate * float(time[node])
    tried = np.unique(np.ceil(np.geomspace(max(usual, 1.0), 100.0 * max(usual, 1.0), 60)))
    probes = np.repeat(count[np.newaxis], len(tried), axis=0)
    probes[:, node] = tried
    gains = grid.gains(place, np.concatenate([count[np.newaxis], probes, drawn]).astype(np.int32))
    observed, of_probes, even = gains[0], gains[1 : 1 + len(tried)], gains[1 + len(tried) :]
    p_value = (1 + int(np.sum(even >= observed - ROUNDING))) / (1 + DRAWS)
    is_seen = of_probes > np.quantile(even, 1 - LEVEL)
    return LemonGate(p_value, float(tried[is_seen.argmax()]) if is_seen.any() else np.inf, usual)


def _even_fleets(single: Group, time: Floats, generator: np.random.Generator) -> NDArray[np.int32]:
    rates = generator.gamma(single.shape, single.rate / single.shape, (CHUNK, len(time)))
    return generator.poisson(rates * time).astype(np.int32)


class _Grid:
    """The two families of fleets, each at the points of a grid, and the gain of one over the other."""

    def __init__(self, classes: Floats, mean: float, total: float, node_count: int) -> None:
        self._classes = classes
        steps = mean * np.maximum(1.0 + MEANS / np.sqrt(max(total, 1.0)), 0.05)
        # As in `fit_two_groups`: the spread of normal nodes is not known better than their mean is.
        widest = max(2 * MIN_SHAPE, total)
        shapes = [*(shape for shape in NORMAL_SHAPES if shape < widest), min(widest, POISSON)]
        self._single = [Group(rate, shape) for rate, shape in product(steps, shapes)]
        self._pairs = [
            (Group(rate / scale, shape), Group(rate / scale * factor, lemon_shape), share)
            for share, factor in product(LEMON_SHARES, LEMON_FACTORS)
            if share * node_count >= 0.05
            for scale in [1.0 + share * (factor - 1.0)]
            for rate, shape, lemon_shape in product(steps, shapes, LEMON_SHAPES)
        ]

    def gains(self, place: NDArray[np.int64], counts: NDArray[np.int32]) -> Floats:
        """Return the gain of each fleet; counts of shape (fleets, nodes), `place` the class of each node."""
        width = int(counts.max()) + 1
        occupied = np.zeros(width * len(self._classes), dtype=bool)
        for fleet in counts:
            occupied[place * width + fleet] = True
        cells = np.flatnonzero(occupied)
        number = np.cumsum(occupied) - 1
        nodes = np.array([np.bincount(number[place * width + fleet], minlength=len(cells)) for fleet in counts], float)
        units = Units((cells % width).astype(float), self._classes[cells // width])
        one = np.array([units.log_density(group) for group in self._single])
        density = {group: units.log_density(group) for pair in self._pairs for group in pair[:2]}
        two = np.array(
            [
                np.logaddexp(np.log1p(-share) + density[normal], np.log(share) + density[lemon])
                for normal, lemon, share in self._pairs
            ]
        )
        gain: Floats = (nodes @ two.T).max(axis=1) - (nodes @ one.T).max(axis=1)
        return np.maximum(gain, 0.0)


def _classes(time: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Return the class of each node, and the mean exposure of each class."""
    number = np.round(np.log(time / time.max()) / np.log(CLASS_RATIO)).astype(np.int64)
    _, place = np.unique(number, return_inverse=True)
    return place, np.bincount(place, time) / np.bincount(place)
