"""estimates.est_changes: whether each known change helped, by cause, and which effect could have been seen.

Known changes are versions of nodes, annotations and new checks. est_rate_changes searches for changes without knowing
of any.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from assets.estimates.changed_nodes import (
    ALL,
    SEPARATING_INCIDENTS,
    SIDES,
    Change,
    ChangedCluster,
)
from assets.estimates.common_columns import CLUSTER, common_columns
from assets.estimates.est_rate_changes import ANNOTATION_DAYS
from assets.estimates.table import WRITTEN, Column, TableSpec, bounded, estimate, read
from assets.model.change_effects import (
    CANNOT_TELL,
    CHANGE_DAYS,
    HELPED,
    HURT,
    VERDICT_DAYS,
    WORTH_SEEING,
    judge,
    months_of,
    p_over_months,
    ratio_of_ratios,
    with_months,
)
from assets.model.failure_rate import CONFIDENCE_LEVEL
from assets.model.false_discovery import FALSE_DISCOVERIES
from assets.model.incident_counts import Floats
from assets.model.month_variation import MonthVariation, month_variation, variation_of_ratio
from assets.model.power import POWER
from assets.model.rate_ratio import NO_EVENTS, NO_EXPOSURE, RatioInterval, rate_ratio

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    import duckdb

METHODS = {False: "before_after", True: "ratio_of_ratios"}
WITHOUT_RATIO = {NO_EVENTS: "no incident", NO_EXPOSURE: "no day of one side counts"}
SEEN_NOT_FAILED = "a new check changes what is seen, not what fails"

VERSIONS = ("changes", "node_count")
INCIDENTS = ("failed_days", "causes", "probabilities")
NODE_DAYS = ("days", "node_days")
RATE = (*VERSIONS, *INCIDENTS, *NODE_DAYS)
CHANGES = ("changes",)

TABLE = TableSpec(
    table="est_changes",
    description=(
        "Effect of each known change on the rate of incidents per node-day in use. Changes are versions of drivers, "
        "firmware, kernels and Slurm that a tenth of the nodes installed, new checks, and annotations. The test "
        f"compares up to {CHANGE_DAYS} days before and after, no further than the neighbouring changes of the same "
        "kind. Days on which a node lacks a log that its cluster usually has do not count. A change has a row for all "
        "causes together and one for each cause with an incident then; a new check only for its own causes. Changes "
        "that cannot be separated form one group with one test, from before the first to after the last. One row per "
        "cluster, change_kind, changed_at and failure_category."
    ),
    key=("cluster_id", "change_kind", "changed_at", "failure_category"),
    columns=(
        CLUSTER,
        Column(
            "change_kind",
            "varchar",
            "",
            "driver, nic_firmware, bios, kernel, slurmd, slurmctld: a version; check: its first report; annotation: "
            "the site's own note.",
            CHANGES,
            is_required=True,
        ),
        Column("changed_at", "timestamp", "UTC", "When the first node changed.", CHANGES, is_required=True),
        Column("failure_category", "varchar", "", "Cause; all: every incident.", ("causes",), is_required=True),
        Column("last_changed_at", "timestamp", "UTC", "When the last node changed.", CHANGES, is_required=True),
        Column("change", "varchar", "", "What changed, in words.", CHANGES, is_required=True),
        Column(
            "change_group",
            "bigint",
            "none",
            "Number of the test of the cause. Changes that cannot be separated share one number and one result.",
            RATE,
            is_required=True,
        ),
        Column(
            "inseparable_from",
            "varchar",
            "",
            f"The other changes of the group. Fewer than {SEPARATING_INCIDENTS:g} incidents are expected, at the rate "
            "before, while exactly one of the group's first change and another has taken effect. NULL: none.",
            RATE,
        ),
        Column("changed_node_count", "bigint", "nodes", "Nodes that changed. NULL: the whole cluster.", VERSIONS),
        Column(
            "node_count",
            "bigint",
            "nodes",
            "Nodes with a known version before, whether they changed or not. NULL: the whole cluster changed.",
            VERSIONS,
        ),
        *(
            Column(f"{what}_{side}", "double", unit, f"{said} of nodes that changed, {side} they did.", RATE)
            for side in ("before", "after")
            for what, unit, said in (
                ("incident_count", "incidents", "Expected incidents, a sum of probabilities,"),
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
            "Expected share of wrong verdicts among the cluster's tests with this p-value or a smaller one (Benjamini "
            "and Hochberg). NULL: too few incidents for any outcome to be significant, or too few days.",
            RATE,
        ),
        Column(
            "smallest_ratio",
            "double",
            "none",
            f"The weakest fall that {100 * POWER:.0f}% of such changes would show with as many incidents and the same "
            "variation between months, as the share of the rate that remains. NULL: not even a fall to 0.",
            RATE,
        ),
        Column(
            "verdict",
            "varchar",
            "",
            f"helped, hurt: fewer, more incidents after it, and q_value is at most {FALSE_DISCOVERIES:g}; no change "
            f"shown: the test would have shown a fall to {WORTH_SEEING:g}; cannot tell: it might not have, a new "
            f"check saw more, or without unchanged nodes fewer than {VERDICT_DAYS} days were seen on a side.",
            RATE,
            is_required=True,
        ),
        Column(
            "rate_change_at",
            "timestamp",
            "UTC",
            "Change of the same cause's rate that est_rate_changes found without knowing of this one: the nearest "
            f"whose limits are at most {ANNOTATION_DAYS} days away. NULL: none.",
            ("est_rate_changes.changed_at", "est_rate_changes.changed_at_low", "est_rate_changes.changed_at_high"),
        ),
        Column(
            "dispersion",
            "double",
            "none",
            "Variance of the ratio's logarithm over its variance with certain incidents at a constant rate: the "
            "effect of uncertain incidents and of differences between months.",
            RATE,
        ),
        *common_columns(
            "before_after: rate after over rate before of the nodes that changed, with conditional binomial limits; "
            "it includes everything else that changed then. ratio_of_ratios: for a staged roll-out, that ratio over "
            "the ratio of unchanged nodes on the same days, with limits by Fisher's noncentral hypergeometric "
            "distribution. no_events, no_exposure: nothing to compare.",
            "Expected incidents on all sides.",
            INCIDENTS,
            "Node-days in use on all sides.",
            NODE_DAYS,
            note_inputs=CHANGES,
        ),
    ),
    inputs=("inp_changes_followed",),
    estimates=("est_rate_changes",),
)
OF_CHANGE = ["cluster_id", "change_kind", "changed_at"]
TO_JUDGE = ("judged_p_value", "ratio", "judged_count", "judged_share", "judged_control")


def with_verdicts(cohorts: pd.DataFrame, rate_changes: pd.DataFrame) -> pd.DataFrame:
    """Compare the rates before and after each change, and judge all changes of a cluster together."""
    rows: list[dict[str, Any]] = []
    found = rate_changes[rate_changes["changed_at"].notna()]
    for cluster_id, own in cohorts.groupby("cluster_id", sort=False):
        others = found[found["cluster_id"] == cluster_id].to_dict("records")
        cluster = ChangedCluster(own)
        tests = [test for cause in (ALL, *cluster.causes) for test in _tests(cluster, cause)]
        judged = judge(*([test[name] for test, _ in tests] for name in TO_JUDGE))
        for (test, of_group), q, smallest, verdict in zip(
            tests, judged.q_value, judged.smallest_ratio, judged.verdict, strict=True
        ):
            is_seen_better = verdict == HURT and any(row["change_kind"] == "check" for row in of_group)
            result = test | {"q_value": q, "smallest_ratio": smallest}
            result["verdict"] = CANNOT_TELL if is_seen_better else str(verdict)
            rows += [
                {**result, **row, "cluster_id": cluster_id, "rate_change_at": _nearest(row, others)} for row in of_group
            ]
    return pd.DataFrame(rows, columns=[name for name in TABLE.column_names if name not in WRITTEN])


def _tests(cluster: ChangedCluster, cause: str) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Run the test of each group of changes for a cause, and return a row for each change of the group."""
    for number, group in enumerate(cluster.groups(cause), start=1):
        has_incident = [
            any(cluster.probabilities(getattr(cluster.alone[change], side), cause).size for side in SIDES)
            for change in group
        ]
        if cause == ALL or any(has_incident):
            test = _compared(cluster, group, cause)
            yield (
                test,
                [
                    _row_of(cluster, change, group, test["note"]) | {"failure_category": cause, "change_group": number}
                    for change, is_seen in zip(group, has_incident, strict=True)
                    if cause == ALL or is_seen
                ],
            )


def _row_of(cluster: ChangedCluster, change: Change, group: list[Change], said: str) -> dict[str, Any]:
    """Return the columns of one change, and the changes that cannot be separated from it."""
    row = change.row
    nodes = cluster.node_count[~np.isnan(change.changed_on)].sum()
    others = [one.row["change"] for one in group if one is not change]
    note = "; ".join(filter(None, (said, SEEN_NOT_FAILED if row["change_kind"] == "check" else "")))
    return {name: row[name] for name in ("change_kind", "changed_at", "last_changed_at", "change")} | {
        "changed_node_count": None if row["is_of_all"] else cluster.node_count[np.isfinite(change.changed_on)].sum(),
        "node_count": None if row["is_of_all"] else nodes,
        "inseparable_from": "; ".join(others) or None,
        "note": note or None,
    }


def _compared(cluster: ChangedCluster, group: list[Change], cause: str) -> dict[str, Any]:
    """Compare the sides of a group of changes for one cause."""
    cells = cluster.cells(group)
    sides = [getattr(cells, side) for side in SIDES[: 4 if cells.is_staged else 2]]
    days = [cluster.daily(side, cause) for side in sides]
    count, time = (np.array([values.sum() for values in kind]) for kind in zip(*days, strict=True))
    seen_days = [int(np.count_nonzero(exposure)) for _, exposure in days[:2]]
    w = np.concatenate([cluster.probabilities(side, cause) for side in sides])
    phi = float((w * (2.0 - w)).sum() / w.sum()) if w.size else 1.0
    variation = _between_months(days, phi)
    variance = variation.relative_variance
    dispersion = float(with_months(phi, count, variance, seen_days))
    control, unchanged = np.inf, np.nan
    found: RatioInterval = (
        ratio_of_ratios(count, time, dispersion=dispersion)
        if cells.is_staged
        else rate_ratio(count[0], time[0], count[1], time[1], dispersion=dispersion)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        odds = time[0] / time[1]
        if cells.is_staged:
            unchanged = count[2] / time[2] / (count[3] / time[3])
            # half an incident more on each side, so that the expected share after is neither 0 nor 1
            odds *= (count[2] + 0.5) / time[2] / ((count[3] + 0.5) / time[3])
        share = 1.0 - 1.0 / (1.0 + odds)
    expected = np.append(count[:2].sum() * np.array([share, 1.0 - share]), count[2:])
    spread = float(with_months(phi, expected, variance, seen_days))
    p_value = p_over_months(count, time, phi, variation, seen_days)
    if cells.is_staged:
        control = count[2:].sum() / spread
    method = str(found.method)
    value, low, high, unchanged = bounded(np.array([found.value, found.low, found.high, unchanged], dtype=float))
    is_long = cells.is_staged or min(seen_days) >= VERDICT_DAYS
    return {
        "incident_count_before": count[1],
        "node_days_before": time[1],
        "incident_count_after": count[0],
        "node_days_after": time[0],
        "unchanged_ratio": unchanged,
        "ratio": value,
        "low": low,
        "high": high,
        "p_value": p_value,
        "dispersion": dispersion,
        "method": method if method in {NO_EVENTS, NO_EXPOSURE} else METHODS[cells.is_staged],
        "confidence_level": CONFIDENCE_LEVEL,
        "event_count": count.sum(),
        "exposure": time.sum(),
        "exposure_unit": "node-days",
        "note": _why_not(method, value, seen_days, is_long=is_long),
        "judged_p_value": p_value if is_long else np.nan,
        "judged_count": count[:2].sum() / spread,
        "judged_share": share,
        "judged_control": control,
    }


def _between_months(days: list[tuple[Floats, Floats]], dispersion: float) -> MonthVariation:
    """Return the variation between months of the rates of two sides, or of the ratio of changed to unchanged nodes."""
    if len(days) == len(SIDES):
        return variation_of_ratio([months_of(days[side::2]) for side in (0, 1)], dispersion)
    sides = [months_of([side]) for side in days]
    (count, time), number = np.concatenate(sides, axis=2)[:, 0], np.repeat([0, 1], [side.shape[2] for side in sides])
    return month_variation(count, time, dispersion, number)


def _why_not(method: str, ratio: float | None, seen_days: list[int], *, is_long: bool) -> str:
    """Return the reason why there is no ratio, or no verdict."""
    if method in WITHOUT_RATIO:
        return WITHOUT_RATIO[method]
    said = [] if ratio is not None and np.isfinite(ratio) else ["no incident before to divide by"]
    if not is_long:
        after, before = seen_days
        said.append(
            f"seen: {before} days before, {after} after; without unchanged nodes {VERDICT_DAYS} each are needed"
        )
    return "; ".join(said)


def _nearest(row: dict[str, Any], found: list[dict[Hashable, Any]]) -> Any:
    """Return the change that est_rate_changes found nearest to this one."""
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
    """Return a sentence: how many changes there were, and how many have a verdict."""
    counts = changes["verdict"].value_counts()
    return (
        f"{len(changes.drop_duplicates(OF_CHANGE))} known changes; rates of incidents, all or of one cause, that one "
        f"helped: {counts.get(HELPED, 0)}, hurt: {counts.get(HURT, 0)}"
    )


@estimate(TABLE, headline)
def est_changes(con: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """Compare incidents before and after each known change."""
    cohorts = read(con, "inp_changes_followed", "cluster_id, cohort")
    return with_verdicts(cohorts, read(con, "est_rate_changes"))
