"""estimates.est_repairs: whether repairs held, by what was done, and which action to try first.

Tickets, administrators' reasons and boots alone show what was done; how bad a fault was is unknown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assets.estimates.common_columns import CLUSTER, common_columns
from assets.estimates.table import WRITTEN, Column, TableSpec, bounded, estimate, read, with_limits
from assets.model.failure_rate import CONFIDENCE_LEVEL
from assets.model.false_discovery import FALSE_DISCOVERIES
from assets.model.power import POWER, detectable_effect
from assets.model.repairs import (
    CANNOT_TELL,
    HOLDS_LONGER,
    MINIMUM_RELAPSES,
    MINIMUM_REPAIRS,
    NOTHING_COMPARED,
    Comparison,
    Spells,
    compare_with_rest,
    median_hours,
    relapse_share,
    time_to_relapse,
    verdicts,
)

if TYPE_CHECKING:
    import duckdb
    import pandas as pd

    from assets.model.coincidence import Share

OUTAGES = ("hours",)
ACTIONS = ("repair_action",)
CAUSES = ("failure_category",)
WATCHED = ("days", "records_days")
RELAPSES = ("is_relapse", "earlier_count", *WATCHED, *CAUSES, *ACTIONS)
RATIO = "ratio 0 to 1"
ALL, NONE, UNKNOWN = "all", "none", "unknown"
TRY_FIRST = "try first"
MIN_DAYS, MIN_REPAIRS = 7, 3
"""Repairs to see of a cluster with records of failures alone; fewer show nothing."""
EARLIER_FAILURES = 3
"""Nodes that came back from this many faults or more in the 30 days before count as alike."""
SHARE = (
    "Share of repairs after which the same fault was back on the node within {} days in service. A repair that was "
    "watched for a shorter time counts for that time. NULL: none was watched that long."
)

TABLE = TableSpec(
    table="est_repairs",
    description=(
        "Whether repairs held. A repair is an outage for a fault after which the node was back in service. A relapse "
        "is the next failure of the same cause on that node: an incident with the node as culprit, or an outage. The "
        "clock pauses while the node is out for another reason, and stops when the study, accounting, the record of "
        "outages or all trace of the node ends; for a cluster with records of failures alone, when these or the time "
        "in service end. One row per cluster, cause and action, and one per action for all causes."
    ),
    key=("cluster_id", "failure_category", "repair_action"),
    needs_jobs=False,
    columns=(
        CLUSTER,
        Column(
            "failure_category",
            "varchar",
            "",
            "Cause of the outage by its reason; if that names none, by an incident of the node at that time. all: "
            "every repair with a known cause.",
            is_required=True,
        ),
        Column(
            "repair_action",
            "varchar",
            "",
            "The most thorough action: exchange, reseat, reset (of a device, a driver or a service), reboot. By the "
            "words of tickets, recorded failures and administrators' reasons, and by boots. none: a false return, if "
            "words say so, or no boot was seen where one would have been. unknown: words that no rule knows, or "
            "nothing that could show an action.",
            is_required=True,
        ),
        Column("repair_count", "bigint", "repairs", "Repairs.", RELAPSES, is_required=True),
        *with_limits("relapse_7d_ratio", RATIO, SHARE.format(7), RELAPSES),
        *with_limits("relapse_30d_ratio", RATIO, SHARE.format(30), RELAPSES),
        *with_limits(
            "days_to_relapse",
            "days in service",
            "Time after which half of the repairs have relapsed. NULL: fewer than half are known to relapse.",
            RELAPSES,
            "Upper limit. NULL: there is none.",
        ),
        *with_limits(
            "repair_hours",
            "hours",
            "Median time out of service.",
            (*OUTAGES, *ACTIONS),
        ),
        Column(
            "p_value",
            "double",
            RATIO,
            "P-value of so large a difference to the other actions if none holds longer: the larger of two log-rank "
            "tests. One compares repairs of one cause on nodes that came back from as many faults in the 30 days "
            "before, the other repairs of one node; 1 if they contradict each other. NULL: not compared, see note. "
            f"Each test needs {MINIMUM_REPAIRS} repairs on either side and {MINIMUM_RELAPSES} relapses.",
            RELAPSES,
        ),
        Column(
            "detectable_effect",
            "double",
            "none",
            f"Ratio of relapse rates, or its inverse, that {POWER:.0%} of such comparisons would find. NULL: none.",
            RELAPSES,
        ),
        Column(
            "verdict",
            "varchar",
            "",
            "holds longer or relapses sooner: than the other actions, where both tests agree; try first: the quickest "
            f"action that holds longer. {FALSE_DISCOVERIES:.0%} of a cluster's verdicts are expected to be wrong. "
            "cannot tell: any other case.",
            RELAPSES,
            is_required=True,
        ),
        *common_columns(
            "kaplan_meier: shares of relapses by Kaplan and Meier with Wilson's limits, times with Greenwood's, "
            "hours with those of the sign test; no_exposure: no time in service was seen.",
            "Relapses.",
            RELAPSES,
            "Watched time in service.",
            WATCHED,
        ),
    ),
    inputs=("inp_repairs_followed",),
)


def with_relapses(repairs: pd.DataFrame) -> pd.DataFrame:
    """Judge the actions for every cause, and for all causes together."""
    import pandas as pd

    rows = []
    for _, own in repairs.groupby("cluster_id", sort=True):
        known = own[own["failure_category"] != "unmapped"]
        judged = [
            row
            for category in (ALL, *sorted(known["failure_category"].unique()))
            for row in _rows(known if category == ALL else known[known["failure_category"] == category], category)
        ]
        _judge(judged)
        too_little = _too_little(own)
        for row in judged:
            row["has_enough_records"] = too_little is None
            row["note"] = "; ".join(filter(None, (too_little, row["note"]))) or None
        rows += judged
        if left_out := len(own) - len(known):
            said = f"{left_out} repairs of unknown cause are left out"
            for row in judged:
                if row["failure_category"] == ALL:
                    row["note"] = "; ".join(filter(None, (said, row["note"])))
    columns = [name for name in TABLE.column_names if name not in WRITTEN]
    return pd.DataFrame(rows, columns=[*columns, "has_enough_records"])


def _too_little(repairs: pd.DataFrame) -> str | None:
    """Return why records of failures alone are too few. With accounting, this is judged once for all estimates."""
    days = float(repairs["records_days"].iloc[0])
    if np.isnan(days) or (days >= MIN_DAYS and len(repairs) >= MIN_REPAIRS):
        return None
    needed = f"{MIN_REPAIRS} in {MIN_DAYS} days are needed"
    return f"too little to tell: repairs seen: {len(repairs)} in {days:.3g} days; {needed}"


def _rows(repairs: pd.DataFrame, category: str) -> list[dict[str, Any]]:
    """Return a row for each action taken for a cause."""
    action = repairs["repair_action"].to_numpy(dtype=str)
    spells = Spells.of(repairs["days"], repairs["is_relapse"], repairs["node_id"].astype(str))
    earlier = repairs["earlier_count"].clip(upper=EARLIER_FAILURES).astype(str)
    history, of_node = (
        (repairs["failure_category"] + " " + of).to_numpy(dtype=str) for of in (earlier, repairs["node_id"].astype(str))
    )
    hours, is_known = repairs["hours"].to_numpy(dtype=float), action != UNKNOWN
    rows = []
    for one in np.unique(action):
        is_own = action == one
        own = spells[is_own]
        by_history, by_node = NOTHING_COMPARED, NOTHING_COMPARED
        if one != UNKNOWN:
            by_history, by_node = (
                compare_with_rest(spells[is_known], is_own[is_known], strata[is_known]) for strata in (history, of_node)
            )
        compared = Comparison.agreed(by_history, by_node)
        exposure = float(own.days.sum())
        rows.append(
            {
                "cluster_id": repairs["cluster_id"].iloc[0],
                "failure_category": category,
                "repair_action": str(one),
                "repair_count": own.days.size,
                **_limited("relapse_7d_ratio", relapse_share(own, 7.0)),
                **_limited("relapse_30d_ratio", relapse_share(own, 30.0)),
                **_limited("days_to_relapse", time_to_relapse(own)),
                **_limited("repair_hours", median_hours(hours[is_own])),
                "comparison": compared,
                "p_value": compared.p_value,
                "confidence_level": CONFIDENCE_LEVEL,
                "method": "kaplan_meier" if exposure > 0 else "no_exposure",
                "event_count": int(own.is_relapse.sum()),
                "exposure": exposure,
                "exposure_unit": "node-days in service",
                "note": _why_not(by_history, by_node, str(one), is_own, is_known),
            }
        )
    return rows


def _limited(name: str, share: Share) -> dict[str, float | None]:
    values = {name: share.value, f"{name}_low": share.low, f"{name}_high": share.high}
    return {column: value if np.isfinite(value) else None for column, value in values.items()}


def _why_not(
    by_history: Comparison, by_node: Comparison, action: str, is_own: NDArray[np.bool_], is_known: NDArray[np.bool_]
) -> str | None:
    """Return why an action was not compared, or which of the two comparisons shows no difference."""
    if action == UNKNOWN:
        return "not compared: what was done is not known"
    if not np.any(is_known & ~is_own):
        return "not compared: nothing else was done"
    compared = {"of nodes with as many faults before": by_history, "of one node": by_node}
    few = [name for name, found in compared.items() if np.isnan(found.p_value)]
    if few:
        return f"not compared: too few repairs or relapses {' or '.join(few)} after both"
    if by_history.score * by_node.score < 0:
        return "repairs of nodes with as many faults before and repairs of one node contradict each other"
    weak = [name for name, found in compared.items() if found.p_value > FALSE_DISCOVERIES]
    return f"no difference is shown among repairs {' or '.join(weak)}" if weak else None


def _judge(rows: list[dict[str, Any]]) -> None:
    """Add the verdicts of a cluster, the detectable effect, and the action to try first for each cause."""
    comparisons = [row.pop("comparison") for row in rows]
    information = [comparison.information for comparison in comparisons]
    effects = bounded(detectable_effect(information, int(np.count_nonzero(information))))
    for row, verdict, effect in zip(rows, verdicts(comparisons), effects, strict=True):
        row |= {"verdict": verdict, "detectable_effect": effect}
        if verdict == CANNOT_TELL and np.isfinite(effect):
            seen = f"{effect:.3g} times the relapses of the others would have been found"
            row["note"] = "; ".join(filter(None, (row["note"], seen)))
    for category in {row["failure_category"] for row in rows}:
        good = [
            row
            for row in rows
            if row["failure_category"] == category and row["verdict"] == HOLDS_LONGER and row["repair_action"] != NONE
        ]
        if good:
            min(good, key=lambda row: row["repair_hours"])["verdict"] = TRY_FIRST


def headline(repairs: pd.DataFrame) -> str:
    """Return a sentence: the number of repairs and relapses, and of causes with an action to try first."""
    of_all = repairs[repairs["failure_category"] == ALL]
    return (
        f"{of_all['repair_count'].sum()} repairs, {of_all['event_count'].sum()} relapses; an action to try first for "
        f"{(repairs['verdict'] == TRY_FIRST).sum()} causes"
    )


@estimate(TABLE, headline)
def est_repairs(con: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """Follow every repair to the next failure of the same cause, and compare the actions."""
    return with_relapses(read(con, "inp_repairs_followed"))
