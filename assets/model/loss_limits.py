"""Limits of an expected loss: a sum over uncertain events, as a random sample of the events of any such period.

The macros `expected_loss_low` and `expected_loss_high` of dbt put the same limits on the credit statement.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from assets.model.failure_rate import CONFIDENCE_LEVEL

WEIGHTED_POISSON = "weighted_poisson"
NO_LOSS = "no_loss"


@dataclass(frozen=True)
class LossInterval:
    """Expected losses with their limits; all arrays have one shape.

    Attributes
    ----------
    value, low, high
        In the unit of the losses; without a loss 0, 0 and `nan`, as the cost of one is unknown.
    confidence_level
        Nominal probability that [low, high] covers the expected loss in such a period.
    method
        `weighted_poisson` or `no_loss`, element by element.
    """

    value: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    confidence_level: float
    method: NDArray[np.str_]


def loss_interval(
    expected_loss: ArrayLike, variance: ArrayLike, largest: ArrayLike, confidence_level: float = CONFIDENCE_LEVEL
) -> LossInterval:
    """Put limits on sums of losses.

    Parameters
    ----------
    expected_loss
        Sum of w m over events, where w is the probability that an event is real and m its cost; 0 or more, `nan` for
        unknown.
    variance
        Sum of w m^2 (2 - w): the number of events is a Poisson count, and each may be none. In the unit squared.
    largest
        The largest m: the next event may cost as much.
    confidence_level
        1 - a, between 0 and 1.

    Returns
    -------
    LossInterval
        In the shape of the arguments.

    Raises
    ------
    ValueError
        A negative loss or variance.

    Notes
    -----
    Gamma limits of Fay and Feuer, Statistics in Medicine 16 (1997) 791, for a weighted sum of Poisson counts: the
    scaled chi-squared quantiles of L and V, and of L + g and V + g^2 with the largest g for the upper one. The
    quantiles are those of Wilson and Hilferty, a closed form that SQL has too. Assumptions: the cost of an event is
    known except for its checkpoints, and events are independent. Costs of jobs of 1 to 512 GPUs, each size as likely:
    coverage of 90% limits is 92% at 100 events, 93% at 30, 85% at 10 and 77% at 5, because the largest cost was often
    not seen yet.

    Examples
    --------
    >>> loss = loss_interval([100.0, 0.0], [100.0 * 20.0, 0.0], [20.0, 0.0])
    >>> loss.low.round(1).tolist(), loss.high.round(1).tolist()
    ([39.3, 0.0], [210.1, nan])
    """
    loss, spread, most = np.broadcast_arrays(
        *(np.asarray(part, dtype=float) for part in (expected_loss, variance, largest))
    )
    if np.any(loss < 0) or np.any(spread < 0) or np.any(most < 0):
        raise ValueError("a loss, its variance and its largest part are 0 or more")
    z = float(stats.norm.ppf(0.5 + confidence_level / 2))
    low = np.where(loss > 0, _scaled_quantile(loss, spread, -z), loss)
    high = np.where(loss > 0, _scaled_quantile(loss + most, spread + most**2, z), np.nan)
    return LossInterval(loss, low, high, confidence_level, np.where(loss > 0, WEIGHTED_POISSON, NO_LOSS))


def _scaled_quantile(mean: NDArray[np.float64], variance: NDArray[np.float64], z: float) -> NDArray[np.float64]:
    """Return the quantile of a scaled chi-squared distribution by the cube root of Wilson and Hilferty (1931)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        root = 1 - variance / (9 * mean**2) + z * np.sqrt(variance) / (3 * mean)
        return np.asarray(mean * np.maximum(root, 0.0) ** 3)
