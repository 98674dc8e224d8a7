"""The share of wrong names among the results of many tests: Benjamini and Hochberg's q-values."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import false_discovery_control

FALSE_DISCOVERIES = 0.05
"""Expected share of wrong names or verdicts that is allowed in a cluster."""


def false_discovery(p_value: ArrayLike) -> NDArray[np.float64]:
    """Return for each p-value the smallest share of wrong names in a list that has it.

    Parameters
    ----------
    p_value
        Of all tests of the family; `nan` if nothing was tested, which is no part of it.

    Returns
    -------
    numpy.ndarray
        q-values of the same shape, `nan` where the p-value is.

    Notes
    -----
    Of m tests the q-value of the i-th smallest p-value is the least ``p_j m / j`` of all j from i on, at most 1.

    Assumption: the tests are independent or positively dependent.

    References
    ----------
    Y. Benjamini and Y. Hochberg, J. Royal Statistical Society B 57 (1995) 289-300.

    Examples
    --------
    >>> false_discovery([0.01, np.nan, 0.5, 0.02]).tolist()
    [0.03, nan, 0.5, 0.03]
    """
    p = np.asarray(p_value, dtype=float)
    known, q = np.isfinite(p), np.full(p.shape, np.nan)
    if known.any():
        q[known] = false_discovery_control(p[known])
    return q
