"""Limits of an expected loss: a sum over events that may be none, and of which the next period has others.

The macro `expected_loss_limit` of dbt puts the same limits on the credit statement.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from assets.model.failure_rate import CONFIDENCE_LEVEL

LOG_NORMAL = "log_normal"
NO_LOSS = "no_loss"


@dataclass(frozen=True)
class LossInterval:
    """Expected losses with their limits; all arrays have one shape.

    Attributes
    ----------
    value, low, high
        In the unit of the losses; without a loss 0, 0 and `nan`, as nothing says how much one would cost.
    confidence_level
        Nominal probability that [low, high] covers the loss to expect of such a period.
    method
        `log_normal` or `no_loss`, element by element.
    """

    value: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    confidence_level: float
    method: NDArray[np.str_]


def loss_interval(
    expected_loss: ArrayLike, variance: ArrayLike, confidence_level: float = CONFIDENCE_LEVEL
) -> LossInterval:
    """Put limits on sums of losses.

    Parameters
    ----------
    expected_loss
        Sum of w m over events, where w is the probability that an event is real and m what it cost; 0 or more, `nan`
        for unknown.
    variance
        Sum of w m^2 (2 - w): how many events there are is a Poisson count, and each may be none. In the unit squared.
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
    ``L exp(-z s)`` and ``L exp(z s)`` with ``s^2 = log(1 + variance / L^2)``: limits of a log-normal distribution with
    this coefficient of variation around its median. Assumptions: what an event costs is known but for its checkpoints,
    and events are independent. One certain event has limits of a quarter and of four times its cost.

    Examples
    --------
    >>> loss = loss_interval([100.0, 0.0], [100.0 * 20.0, 0.0])
    >>> loss.low.round(1).tolist(), loss.high.round(1).tolist()
    ([49.5, 0.0], [201.8, nan])
    """
    loss, spread = np.broadcast_arrays(np.asarray(expected_loss, dtype=float), np.asarray(variance, dtype=float))
    if np.any(loss < 0) or np.any(spread < 0):
        raise ValueError("a loss and its variance are 0 or more")
    z = float(stats.norm.ppf(0.5 + confidence_level / 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.exp(z * np.sqrt(np.log1p(spread / loss**2)))
        low, high = np.where(loss > 0, loss / factor, loss), np.where(loss > 0, loss * factor, np.nan)
    return LossInterval(loss, low, high, confidence_level, np.where(loss > 0, LOG_NORMAL, NO_LOSS))
