"""Group the nodes of a cluster by the history of their changes, and find changes that cannot be separated.

The days and nodes to compare follow from when nodes changed, never from what failed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assets.estimates.table import numbers
from assets.model.change_effects import CHANGE_DAYS
from assets.model.incident_counts import Floats
from assets.model.rollouts import Comparison, compared_cells

if TYPE_CHECKING:
    import pandas as pd

ALL = "all"
SIDES = ("after", "before", "unchanged_after", "unchanged_before")
SEPARATING_INCIDENTS = 3.0
"""Expected incidents while exactly one of two changes has taken effect, for the two to be separable."""
APART_DAYS = 7
"""Changes of one kind at least this far apart end each other's comparison period."""


@dataclass(frozen=True, eq=False)
class Change:
    """A known change: its row of the input, the day on which each cohort changed, and the days to compare.

    `changed_on` has shape (cohorts,): `inf` for a cohort that never changed, `nan` for one that is not compared.
    """

    row: dict[str, Any]
    changed_on: Floats
    from_day: int = 0
    to_day: int = 0

    def concerns(self, cause: str) -> bool:
        """Whether it may change how often a cause is seen."""
        return cause == ALL or self.row["failure_categories"] is None or cause in self.row["failure_categories"]

    def holds(self, other: Change) -> bool:
        """Whether another change takes effect within the days compared for this one."""
        return self.from_day <= other.row["first_day"] and other.row["last_day"] < self.to_day


class ChangedCluster:
    """Node-days and incidents of a cluster by cohort and day, and its known changes in order of time."""

    def __init__(self, cohorts: pd.DataFrame) -> None:
        self.node_count, self.day_count = numbers(cohorts, "node_count"), int(cohorts["day_count"].iloc[0])
        self.node_days = np.zeros((len(cohorts), self.day_count))
        for row, days, node_days in zip(self.node_days, cohorts["days"], cohorts["node_days"], strict=True):
            row[_listed(days, int)] = _listed(node_days, float)
        lists = [cohorts[name] for name in ("failed_days", "causes", "probabilities")]
        self.day, cause, self.w = (
            np.concatenate([_listed(values, kind) for values in column])
            for column, kind in zip(lists, (int, object, float), strict=True)
        )
        self.causes = sorted(set(cause))
        self.is_of = {ALL: np.ones(len(cause), dtype=bool)} | {one: cause == one for one in self.causes}
        self.cohort = np.repeat(np.arange(len(cohorts)), [len(_listed(days, int)) for days in lists[0]])
        known: dict[tuple[Any, str], Change] = {}
        for place, changes in enumerate(cohorts["changes"]):
            for change in changes:
                key = (change["changed_at"], change["change_kind"])
                found = known.setdefault(key, Change(change, np.full(len(cohorts), np.nan)))
                found.changed_on[place] = np.inf if change["changed_day"] is None else change["changed_day"]
        self.changes = [self._bounded(known[key], list(known.values())) for key in sorted(known)]
        self.alone = {change: self.cells([change]) for change in self.changes}
        self.apart: dict[tuple[Change, Change], float] = {}

    def _bounded(self, change: Change, changes: list[Change]) -> Change:
        """Return the first day to compare, and the first day after the last one."""
        own = change.row
        alike = [one.row for one in changes if one.row["change_kind"] == own["change_kind"]]
        before = [one["last_day"] + 1 for one in alike if one["last_day"] <= own["first_day"] - APART_DAYS]
        after = [one["first_day"] for one in alike if one["first_day"] >= own["last_day"] + APART_DAYS]
        return replace(
            change,
            from_day=max(0, own["first_day"] - CHANGE_DAYS, *before),
            to_day=min(self.day_count, own["last_day"] + CHANGE_DAYS + 1, *after),
        )

    def cells(self, changes: list[Change]) -> Comparison:
        """Choose the days of one or more changes: days between the first and the last change count on no side."""
        is_compared = ~np.isnan(changes[0].changed_on)
        first, last = (pick.reduce([change.changed_on for change in changes]) for pick in (np.fmin, np.fmax))
        found = compared_cells(
            np.where(is_compared, first, np.inf),
            np.where(is_compared, self.node_count, 0.0),
            max(change.from_day for change in changes),
            min(change.to_day for change in changes),
            self.day_count,
            np.where(is_compared, last, np.inf),
        )
        return replace(found, **{side: getattr(found, side) & is_compared[:, np.newaxis] for side in SIDES})

    def probabilities(self, side: NDArray[np.bool_], cause: str) -> Floats:
        """Return the incidents of a cause in the cells of a side."""
        return self.w[side[self.cohort, self.day] & self.is_of[cause]]

    def daily(self, side: NDArray[np.bool_], cause: str) -> tuple[Floats, Floats]:
        """Return incidents and node-days of a side by day."""
        is_own = side[self.cohort, self.day] & self.is_of[cause]
        count = np.bincount(self.day[is_own], self.w[is_own], self.day_count).astype(float)
        return count, np.where(side, self.node_days, 0.0).sum(axis=0)

    def are_inseparable(self, first: Change, other: Change, cause: str) -> bool:
        """Return whether too few incidents are expected while exactly one of two changes has taken effect."""
        if not (first.holds(other) and other.holds(first)):
            return False
        if (first, other) not in self.apart:
            day = np.arange(self.day_count)
            ons = [np.nan_to_num(change.changed_on, nan=np.inf)[:, np.newaxis] for change in (first, other)]
            is_one = (day > np.minimum(*ons)) & (day <= np.maximum(*ons))
            is_one &= (day >= min(first.from_day, other.from_day)) & (day < max(first.to_day, other.to_day))
            self.apart[first, other] = self.node_days[is_one].sum()
        count, node_days = self.daily(self.alone[first].before, cause)
        expected = count.sum() * self.apart[first, other] / max(node_days.sum(), 1e-9)
        return bool(expected < SEPARATING_INCIDENTS)

    def groups(self, cause: str) -> list[list[Change]]:
        """Group the changes that may concern a cause. A change inseparable from the first of a group joins it."""
        groups: list[list[Change]] = []
        for change in self.changes:
            if change.concerns(cause):
                group = next((group for group in groups if self.are_inseparable(group[0], change, cause)), None)
                if group is None:
                    groups.append(group := [])
                group.append(change)
        return groups


def _listed(values: Any, kind: type) -> NDArray[Any]:
    """Return a list of the input as an array, empty for NULL."""
    return np.asarray(values if isinstance(values, np.ndarray) else [], dtype=kind)
