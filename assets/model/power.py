"""The effect size that a test would have found, which a negative answer has to state."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from assets.model.false_discovery import FALSE_DISCOVERIES

POWER = 0.8
"""Share of such effects that a test finds."""
LARGEST_ODDS, LARGEST_RATIO = 4.0, 2.0
"""No difference is claimed if a larger odds ratio or ratio of rates might have been missed."""


def detectable_effect(information: ArrayLike, test_count: int) -> NDArray[np.float64]:
    """Return the smallest ratio above 1 that `POWER` of the tests would find.

    Parameters
    ----------
    information
        Null variance V of the score of each test: hypergeometric, of a log-rank test, or binomial; over the dispersion
        if counts scatter. 0 or more, any shape.
    test_count
        Tests that are judged together.

    Returns
    -------
    ndarray
        Odds ratios or ratios of rates; `inf` if nothing would be found.

    Notes
    -----
    ``exp((z(1 - a / 2) + z(POWER)) / sqrt(V))`` with ``a = FALSE_DISCOVERIES / test_count``. It follows from the null
    hypothesis alone, never from the observed effect.

    References
    ----------
    D. A. Schoenfeld, "The asymptotic properties of nonparametric tests for comparing survival distributions",
    Biometrika 68 (1981) 316-319.

    Examples
    --------
    >>> detectable_effect([4.0, 16.0, 0.0], 1).round(2).tolist()
    [4.06, 2.01, inf]
    """
    needed = -special.ndtri(FALSE_DISCOVERIES / max(test_count, 1) / 2.0) + special.ndtri(POWER)
    with np.errstate(divide="ignore", over="ignore"):
        effect: NDArray[np.float64] = np.exp(needed / np.sqrt(np.asarray(information, dtype=float)))
    return effect
