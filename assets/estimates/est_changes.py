"""estimates.est_changes: whether what was changed helped, by cause, and what could have been seen.

The changes are known: versions of nodes, annotations and new checks. est_rate_changes looks for changes without knowing
of any.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import dagster as dg
import numpy as np
import pandas as pd

from assets.estimates.est_rate_changes import ANNOTATION_DAYS
from assets.estimates.evidence import CLUSTER, evidence
from assets.estimates.table import WRITTEN, Column, TableSpec, bounded, estimate, read, write
from assets.model.change_effects import (
    CANNOT_TELL,
    HELPED,
    HURT,
    POWER,
    WORTH_SEEING,
    block_dispersion,
    judge,
    ratio_of_ratios,
)
from assets.model.failure_rate import CONFIDENCE_LEVEL
from assets.model.false_discovery import FALSE_DISCOVERIES
from assets.model.incident_counts import Floats
from assets.model.rate_ratio import NO_EVENTS, NO_EXPOSURE, RatioInterval, rate_ratio
from assets.model.rollouts import compared_cells
from assets.warehouse import Warehouse

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

CHANGE_DAYS = 90
"""Longest time before and after a change that is compared: after longer times other things have changed, too."""
APART_DAYS = 7
"""Changes of a kind that lie this far apart end each other's time."""
IN_TIME = "cluster_id, changed_at, change_kind, changed_day, day"
"""The order in which a note names what else changed."""
# the day on which nodes change that never did
NEVER = 1_000_000
METHODS = {False: "before_after", True: "ratio_of_ratios"}
WITHOUT_RATIO = {NO_EVENTS: "no incident", NO_EXPOSURE: "no day of one side counts"}
SEEN_NOT_FAILED = "a new check changes what is seen, not what fails"

VERSIONS = ("changed_day", "node_count")
INCIDENTS = ("causes", "probabilities")
NODE_DAYS = ("node_days",)
RATE = (*VERSIONS, *INCIDENTS, *NODE_DAYS)
KNOWN = ("change", "changed_at")

TABLE = TableSpec(
    table="est_changes",
    description=(
        "What each known change did to the rate of incidents per node-day in use: versions of drivers, firmware, "
        "kernels and Slurm that a tenth of the nodes took on, checks that were added, and annotations. Compared are up "
        f"to {CHANGE_DAYS} days before and after, within those between the changes of one kind; days on which a node "
        "lacks a log that its cluster usually has do not count. Of all causes together and of each cause with "
        "an incident then; of a new check, its own causes. One row per cluster, change_kind, changed_at and "
        "failure_category."
    ),
    key=("cluster_id", "change_kind", "changed_at", "failure_category"),
    columns=(
        CLUSTER,
        Column(
            "change_kind",
            "varchar",
            "",
            "driver, nic_firmware, bios, kernel, slurmd, slurmctld: a version; check: its first report; annotation: a "
            "note of the site.",
            is_required=True,
        ),
        Column("changed_at", "timestamp", "UTC", "When the first node changed.", is_required=True),
        Column("failure_category", "varchar", "", "Cause; all: every incident.", ("causes",), is_required=True),
        Column("last_changed_at", "timestamp", "UTC", "When the last node changed.", is_required=True),
        Column("change", "varchar", "", "What changed, in words.", is_required=True),
        Column("changed_node_count", "bigint", "nodes", "Nodes that changed. NULL: a change of all.", VERSIONS),
        Column(
            "node_count",
            "bigint",
            "nodes",
            "Nodes whose version before is known, which changed or did not. NULL: a change of all.",
        ),
        *(
            Column(f"{what}_{side}", "double", unit, f"{said} of nodes that changed, {side} they did.", RATE)
            for side in ("before", "after")
            for what, unit, said in (
                ("incident_count", "incidents", "Incidents to expect, a sum of probabilities,"),
                ("node_days", "node-days", "Time in use"),
            )
        ),
        Column(
            "unchanged_ratio",
            "double",
            "none",
            "Rate after over rate before, over the same days, of nodes that had not changed. NULL: not staged, or no "
            "incident before.",
            RATE,
        ),
        Column(
            "ratio",
            "double",
            "none",
            "Rate after over rate before; ratio_of_ratios: over unchanged_ratio. NULL: no incident to divide by.",
            RATE,
        ),
        Column("low", "double", "none", "Lower limit of ratio. NULL: see method.", RATE),
        Column("high", "double", "none", "Upper limit of ratio. NULL: none is known.", RATE),
        Column("p_value", "double", "ratio 0 to 1", "P-value of the hypothesis that the ratio is 1.", RATE),
        Column(
            "q_value",
            "double",
            "ratio 0 to 1",
            "Share of wrong verdicts to expect among the cluster's rows with this p-value or a smaller one (Benjamini "
            "and Hochberg). NULL: too few incidents for any outcome to tell.",
            RATE,
        ),
        Column(
            "smallest_ratio",
            "double",
            "none",
            f"The effect nearest to none that {100 * POWER:.0f}% of such changes would show with as many incidents: a "
            "fall of the rate to this share. NULL: not even a fall to 0.",
            RATE,
        ),
        Column(
            "verdict",
            "varchar",
            "",
            f"helped, hurt: q_value is at most {FALSE_DISCOVERIES:g}; no change shown: a fall to {WORTH_SEEING:g} "
            "would have been; cannot tell: it might not have been, or a new check saw more.",
            RATE,
            is_required=True,
        ),
        Column(
            "rate_change_at",
            "timestamp",
            "UTC",
            "Change of the same cause's rate that est_rate_changes found without knowing of this one, the nearest at "
            f"most {ANNOTATION_DAYS} days from its limits. NULL: none.",
            ("est_rate_changes.changed_at", "est_rate_changes.changed_at_low", "est_rate_changes.changed_at_high"),
        ),
        Column("dispersion", "double", "none", "Scatter between fortnights or by doubt, 1 or more.", RATE),
        *evidence(
            "before_after: nodes that changed, after to before, with conditional binomial limits; all else that came "
            "at the same time is part of it. ratio_of_ratios: a staged roll-out, the same over that of nodes that had "
            "not changed on the same days, with limits by Fisher's noncentral hypergeometric distribution. no_events, "
            "no_exposure: nothing to compare.",
            "Incidents to expect on all sides.",
            INCIDENTS,
            "Node-days in use on all sides.",
            NODE_DAYS,
            note_inputs=KNOWN,
        ),
    ),
    inputs=("inp_changes_followed",),
    estimates=("est_rate_changes",),
)
SIDES = ("after", "before", "unchanged_after", "unchanged_before")
OF_CHANGE = ["cluster_id", "change_kind", "changed_at"]
TO_JUDGE = ("p_value", "ratio", "judged_count", "judged_share", "judged_control")


class _Cells:
    """The days of one change, by cohort of nodes: node-days, and incidents by cause as sums of w and of w (2 - w)."""

    def __init__(self, days: pd.DataFrame, from_day: int, to_day: int) -> None:
        cohorts = days.drop_duplicates("changed_day")
        on = np.where(cohorts["changed_day"] < NEVER, cohorts["changed_day"], np.inf)
        shape = (len(cohorts), int(cohorts["day_count"].iloc[0]))
        found = compared_cells(on, cohorts["node_count"], from_day, to_day, shape[1])
        self.is_staged, self.sides = found.is_staged, [getattr(found, side) for side in SIDES]
        self.node_days = np.zeros(shape)
        self.incidents = {"all": np.zeros((2, *shape))}
        places = np.searchsorted(cohorts["changed_day"], days["changed_day"])
        self.node_days[places, days["day"]] = days["node_days"]
        for place, day, causes, ws in zip(places, days["day"], days["causes"], days["probabilities"], strict=True):
            for cause, w in zip(causes, ws, strict=True) if isinstance(causes, np.ndarray) else ():
                for name in ("all", cause):
                    self.incidents.setdefault(name, np.zeros((2, *shape)))[:, place, day] += (w, w * (2.0 - w))

    def sums(self, cells: Floats) -> Floats:
        """Add up the cells of each side, shape (4,)."""
        return np.array([cells[side].sum() for side in self.sides])


def with_verdicts(days: pd.DataFrame, rate_changes: pd.DataFrame) -> pd.DataFrame:
    """Compare what was before and after each change, and judge all changes of a cluster together."""
    rows: list[dict[str, Any]] = []
    found = rate_changes[rate_changes["changed_at"].notna()]
    for cluster_id, own in days.groupby("cluster_id", sort=False):
        others = found[found["cluster_id"] == cluster_id].to_dict("records")
        changes = own.drop_duplicates(OF_CHANGE)
        of_cluster = [row for _, of_change in own.groupby(OF_CHANGE, sort=False) for row in _rows(of_change, changes)]
        judged = judge(*([row[name] for row in of_cluster] for name in TO_JUDGE))
        for row, q, smallest, verdict in zip(
            of_cluster, judged.q_value, judged.smallest_ratio, judged.verdict, strict=True
        ):
            is_seen_better = row["change_kind"] == "check" and verdict == HURT
            row |= {"q_value": q, "smallest_ratio": smallest, "rate_change_at": _nearest(row, others)}
            rows.append(row | {"verdict": CANNOT_TELL if is_seen_better else str(verdict)})
    return pd.DataFrame(rows, columns=[name for name in TABLE.column_names if name not in WRITTEN])


def _rows(days: pd.DataFrame, changes: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Make the rows of a change: of all causes, and of each that had an incident on a side and that it may concern."""
    change = days.iloc[0]
    others = changes[(changes[OF_CHANGE] != change[OF_CHANGE]).any(axis=1)]
    cells = _Cells(days, *_bounds(change, others))
    cohorts = days.drop_duplicates("changed_day")
    nodes = cohorts["node_count"]
    common = {name: change[name] for name in (*OF_CHANGE, "last_changed_at", "change")} | {
        "changed_node_count": None if change["is_of_all"] else nodes[cohorts["changed_day"] < NEVER].sum(),
        "node_count": None if change["is_of_all"] else nodes.sum(),
        "confidence_level": CONFIDENCE_LEVEL,
        "exposure_unit": "node-days",
        "note": _notes(change, others),
    }
    wanted = change["failure_categories"] if isinstance(change["failure_categories"], np.ndarray) else cells.incidents
    for cause in sorted(cells.incidents, key=lambda cause: (cause != "all", cause)):
        if cause == "all" or (cause in wanted and cells.sums(cells.incidents[cause][0]).any()):
            found = _compared(cells, *cells.incidents[cause])
            note = "; ".join(filter(None, (found["note"], common["note"]))) or None
            yield common | found | {"failure_category": cause, "note": note}


def _compared(cells: _Cells, counts: Floats, variances: Floats) -> dict[str, Any]:
    """Compare the sides of a change for one cause."""
    count, time = cells.sums(counts), cells.sums(cells.node_days)
    daily = [((counts * side).sum(axis=0), (cells.node_days * side).sum(axis=0)) for side in cells.sides]
    total = count.sum()
    dispersion = max(block_dispersion(daily), cells.sums(variances).sum() / total if total > 0 else 1.0)
    control, unchanged = np.inf, np.nan
    found: RatioInterval = (
        ratio_of_ratios(count, time, dispersion=dispersion)
        if cells.is_staged
        else rate_ratio(count[0], time[0], count[1], time[1], dispersion=dispersion)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        odds = time[0] / time[1]
        if cells.is_staged:
            control, unchanged = count[2:].sum() / dispersion, count[2] / time[2] / (count[3] / time[3])
            # half an incident more on each side, so that the share to expect after is neither 0 nor 1
            odds *= (count[2] + 0.5) / time[2] / ((count[3] + 0.5) / time[3])
        share = 1.0 - 1.0 / (1.0 + odds)
    method = str(found.method)
    value, low, high, unchanged = bounded(np.array([found.value, found.low, found.high, unchanged], dtype=float))
    return {
        "incident_count_before": count[1],
        "node_days_before": time[1],
        "incident_count_after": count[0],
        "node_days_after": time[0],
        "unchanged_ratio": unchanged,
        "ratio": value,
        "low": low,
        "high": high,
        "p_value": float(found.p_value),
        "dispersion": dispersion,
        "method": method if method in {NO_EVENTS, NO_EXPOSURE} else METHODS[cells.is_staged],
        "event_count": total,
        "exposure": time.sum(),
        "note": WITHOUT_RATIO.get(method, "" if np.isfinite(value) else "no incident before to divide by"),
        "judged_count": count[:2].sum() / dispersion,
        "judged_share": share,
        "judged_control": control,
    }


def _bounds(change: pd.Series[Any], others: pd.DataFrame) -> tuple[int, int]:
    """Return the first day that is compared, and the first one after those that are."""
    alike = others[others["change_kind"] == change["change_kind"]]
    before = alike["last_day"][alike["last_day"] <= change["first_day"] - APART_DAYS] + 1
    after = alike["first_day"][alike["first_day"] >= change["last_day"] + APART_DAYS]
    return (
        int(max(0, change["first_day"] - CHANGE_DAYS, *before)),
        int(min(change["day_count"], change["last_day"] + CHANGE_DAYS + 1, *after)),
    )


def _notes(change: pd.Series[Any], others: pd.DataFrame) -> str:
    """Say what else changed then, and what a check cannot tell."""
    near = (others["last_day"] > change["first_day"] - APART_DAYS) & (
        others["first_day"] < change["last_day"] + APART_DAYS
    )
    said = [SEEN_NOT_FAILED] if change["change_kind"] == "check" else []
    said += [f"within {APART_DAYS} days of it: {', '.join(others['change'][near])}"] if near.any() else []
    return "; ".join(said)


def _nearest(row: dict[str, Any], found: list[dict[Hashable, Any]]) -> Any:
    """Find the change that est_rate_changes found nearest to this one."""
    reach = timedelta(ANNOTATION_DAYS)
    near = [
        other["changed_at"]
        for other in found
        if other["failure_category"] == row["failure_category"]
        and pd.Timestamp(other["changed_at_low"]) - reach <= row["last_changed_at"]
        and pd.Timestamp(other["changed_at_high"]) + reach >= row["changed_at"]
    ]
    return min(near, key=lambda at: abs(at - row["changed_at"]), default=None)


def headline(changes: pd.DataFrame) -> str:
    """Return a sentence: how many changes there were, and of how many something is shown."""
    counts = changes["verdict"].value_counts()
    return (
        f"{len(changes.drop_duplicates(OF_CHANGE))} known changes; rates of incidents, all or of one cause, that one "
        f"helped: {counts.get(HELPED, 0)}, hurt: {counts.get(HURT, 0)}"
    )


@estimate(TABLE)
def est_changes(warehouse: Warehouse) -> dg.MaterializeResult[None]:
    """Compare incidents before and after each known change."""
    with warehouse.writing() as con:
        days = read(con, "inp_changes_followed", IN_TIME)
        changes = with_verdicts(days, read(con, "est_rate_changes"))
        return write(con, TABLE, changes, headline(changes))
