"""Choose the days and nodes that show the effect of a change, by when nodes changed and never by what failed.

In a staged roll-out, nodes that had changed are compared with nodes that had not, over the same days.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

MIN_DAYS = 7
"""Fewest days of each side of a staged roll-out."""
MIN_SHARE = 0.2
"""Smallest share of changed and of unchanged nodes in a staged comparison; fewer show next to nothing."""

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Comparison:
    """Cells, of cohorts of nodes by days, on each side; all of shape (cohorts, days).

    Attributes
    ----------
    before, after
        Of nodes that changed, before and after the change.
    unchanged_before, unchanged_after
        Of nodes that had not changed yet, over the same days; empty if the roll-out was not staged.
    is_staged
        Whether there are unchanged nodes to compare with.
    """

    before: Mask
    after: Mask
    unchanged_before: Mask
    unchanged_after: Mask
    is_staged: bool


def compared_cells(  # noqa: PLR0917
    changed_on: ArrayLike,
    node_count: ArrayLike,
    from_day: int,
    to_day: int,
    days: int,
    settled_on: ArrayLike | None = None,
) -> Comparison:
    """Choose the cells to compare.

    Parameters
    ----------
    changed_on
        Day on which each cohort of nodes changed, counted from 0, shape (c,); `inf` for one that never did. At least
        one did.
    node_count
        Nodes of each cohort, shape (c,).
    from_day, to_day
        First day that may count, and the first day after the last one.
    days
        Number of days of the cells.
    settled_on
        Day of the last of several changes of each cohort, shape (c,); by default there is one.

    Returns
    -------
    Comparison
        The days from the first change of a cohort to its last count on neither side.

    Notes
    -----
    Between two days of a roll-out, ``n`` nodes have changed and ``m`` have not. The most informative span has the most
    days times ``n m``. If it has `MIN_DAYS`, as the days before the roll-out do, and each group `MIN_SHARE` of the
    nodes, the roll-out was staged: both groups are compared with themselves before the first change. Otherwise each
    changed node is compared with itself.

    Assumption: which nodes change first does not depend on how they fail.

    Examples
    --------
    A tenth of the days after half of the nodes changed, the others follow:

    >>> found = compared_cells([20, 30], [50, 50], 0, 60, 60)
    >>> found.is_staged, found.after[0].nonzero()[0][[0, -1]].tolist(), found.unchanged_after.any(axis=1).tolist()
    (True, [21, 29], [False, True])
    """
    on, nodes = np.asarray(changed_on, dtype=float)[:, np.newaxis], np.asarray(node_count, dtype=float)
    settled = on if settled_on is None else np.asarray(settled_on, dtype=float)[:, np.newaxis]
    day = np.arange(days)[np.newaxis, :]
    counts = (day >= from_day) & (day < to_day)
    events = np.append(on, settled)
    ends = np.unique(np.append(events[events < to_day], to_day))
    first = ends[0]
    best, span = 0.0, None
    for start, end in pairwise(ends):
        changed, others = nodes[settled[:, 0] <= start].sum(), nodes[on[:, 0] >= end].sum()
        weight = (end - start - 1) * changed * others
        is_told = min(changed, others) >= MIN_SHARE * nodes.sum() and min(end - start - 1, first - from_day) >= MIN_DAYS
        if is_told and weight > best:
            best, span = weight, (start, end)
    if span is None:
        none = np.zeros((nodes.size, days), dtype=bool)
        return Comparison(counts & (day < on) & np.isfinite(on), counts & (day > settled), none, none, is_staged=False)
    is_changed, is_unchanged = settled <= span[0], on >= span[1]
    before, after = counts & (day < first), counts & (day > span[0]) & (day < span[1])
    return Comparison(
        before & is_changed, after & is_changed, before & is_unchanged, after & is_unchanged, is_staged=True
    )
