"""estimates.est_evidence_reach: the share of infrastructure failures that the evidence could show.

It corrects no rate. It says how much may be missing, or why that is unknown.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assets.estimates.common_columns import CLUSTER, common_columns
from assets.estimates.table import WRITTEN, Column, TableSpec, estimate, numbers, read, with_limits
from assets.model.evidence_reach import (
    Count,
    Reach,
    Sources,
    TwoSources,
    evidence_reach,
    late_excess,
    leaves_room,
    two_sources,
    unexplained_bound,
)
from assets.model.failure_rate import CONFIDENCE_LEVEL
from assets.rounding import rounded

if TYPE_CHECKING:
    import duckdb
    import pandas as pd

END_COUNTS = tuple(f"inp_ends_by_size_counted.{name}" for name in ("node_count", "end_count", "control_windows"))
LATE = ("late_seen_count", "control_hits", "control_onsets", *END_COUNTS)
SEEN = ("category", "common", "kernel_only", "checks_only", "uncompared", "is_shown_by_both")
CATEGORIES = tuple(f"inp_failures_by_source_counted.{name}" for name in SEEN)
CELLS = ("user_number", "runtime_class", "node_count", "failed", "days")
UNEXPLAINED = tuple(f"inp_ends_by_user_counted.{name}" for name in CELLS)
LOGS = ("has_kernel_messages", "has_health_checks")
REACH = (*LATE, *CATEGORIES)
RATIO = "ratio 0 to 1"
ATTEMPTS = "attempts"

TABLE = TableSpec(
    table="est_evidence_reach",
    description=(
        "Reach of the evidence: the share of the attempts that infrastructure ended FAILED or REQUEUED which was "
        "counted. It corrects no rate. Late evidence is what nodes show in the half-hour after the attribution window, "
        "beyond what they show after completed attempts; what neither of two sources saw is estimated from how much "
        "each saw of the other's failures. One row per cluster and month, and one for the whole study period."
    ),
    key=("cluster_id", "month_date"),
    columns=(
        CLUSTER,
        Column("month_date", "date", "UTC day", "First day of the month. NULL: the whole study period."),
        Column(
            "reach",
            "double",
            RATIO,
            "Counted share of what either source can show, by late evidence or by two sources, whichever is smaller. "
            "With is_at_most it is an upper bound. NULL: unknown, see note.",
            REACH,
        ),
        Column(
            "low",
            "double",
            RATIO,
            "Lower limit of reach. If unexplained ends may be as many as unexplained_count_high, of the share of all "
            "attempts that infrastructure ended. NULL: unknown.",
            (*REACH, *UNEXPLAINED[-2:]),
        ),
        Column("high", "double", RATIO, "Upper limit of reach. NULL: unknown, as reach.", REACH),
        Column(
            "is_at_most",
            "boolean",
            "",
            "Only late evidence could be judged, so that failures which left no trace are missing, too.",
            REACH,
            is_required=True,
        ),
        Column(
            "counted_count",
            "double",
            ATTEMPTS,
            "Attempts that ended FAILED or REQUEUED by infrastructure, a sum of probabilities.",
            CATEGORIES,
            is_required=True,
        ),
        Column(
            "late_seen_count",
            "bigint",
            ATTEMPTS,
            "Attempts that ended FAILED or REQUEUED without likely evidence, but with evidence that began on one of "
            "their nodes in the half-hour after the attribution window. Repeats of other events, planned outages and "
            "the hour after an incident of the node are left out.",
            is_required=True,
        ),
        *with_limits(
            "late_count",
            ATTEMPTS,
            "late_seen_count minus the number expected by chance, from nodes after completed attempts; at least 0.",
            LATE,
        ),
        Column(
            "compared_count",
            "double",
            ATTEMPTS,
            "The part of counted_count that kernel messages and health checks could both have seen, and at least one "
            "did. It is the counted part if reach is by two sources.",
            CATEGORIES,
            is_required=True,
        ),
        Column(
            "both_count",
            "double",
            ATTEMPTS,
            "The part of compared_count that both saw.",
            CATEGORIES,
            is_required=True,
        ),
        *with_limits(
            "unseen_count",
            ATTEMPTS,
            "Attempts that neither saw, in addition to compared_count: Chapman's estimate. It is too low if a fault "
            "that one source sees is more likely to be seen by the other. NULL: unknown.",
            CATEGORIES,
        ),
        Column(
            "unexplained_count_high",
            "double",
            ATTEMPTS,
            "Upper limit of unexplained ends that become more frequent with nodes among equally long jobs of a user, "
            "as faults of machines do and errors of large jobs may. Above 3/7 of counted_count, and of 30, it lowers "
            "low. NULL: fewer than 5 users have jobs of two sizes.",
            UNEXPLAINED,
        ),
        Column(
            "one_source_categories",
            "varchar[]",
            "",
            "Causes seen that only one source can show by its rules; they are not compared.",
            CATEGORIES,
            is_required=True,
        ),
        Column(
            "statement",
            "varchar",
            "",
            "Sentence to show with a rate: how much of what ended jobs was seen, or why that is unknown. NULL: too "
            "few failures to say anything.",
            (*REACH, *LOGS),
        ),
        Column(
            "is_doubtful",
            "boolean",
            "",
            "The statement says that rates and losses may be higher and have other causes. False: nearly all was "
            "seen, or too few failures to say anything.",
            (*REACH, *UNEXPLAINED[-2:], *LOGS),
            is_required=True,
        ),
        *common_columns(
            "two_sources: by what two sources saw, and by late evidence; late_evidence: by late evidence alone; "
            "cannot_be_told: see note.",
            "Attempts counted, as counted_count.",
            CATEGORIES,
            "Attempts that ended FAILED or REQUEUED, counted or not.",
            END_COUNTS,
        ),
    ),
    inputs=(
        "inp_late_evidence_counted",
        "inp_ends_by_size_counted",
        "inp_ends_by_user_counted",
        "inp_failures_by_source_counted",
    ),
)
NEARLY_ALL = 0.9
"""Reach below which the note says that the true rate is likely higher."""
TELLING = 14.0
"""Counted failures below which few failures in common say nothing about two sources."""
METHODS = {True: "late_evidence", False: "two_sources"}


@dataclass(frozen=True)
class _Months:
    """The rows of the four inputs for some months of a cluster."""

    late: pd.DataFrame
    sizes: pd.DataFrame
    cells: pd.DataFrame
    seen: pd.DataFrame

    def where(self, column: str, value: object) -> _Months:
        """Keep the rows with a value."""
        return _Months(*(rows[rows[column] == value] for rows in vars(self).values()))


def with_reach(known: _Months) -> pd.DataFrame:
    """Judge each month, and all months of a cluster together."""
    import pandas as pd

    rows = []
    for _, cluster in known.late.drop_duplicates("cluster_id").iterrows():
        own = known.where("cluster_id", cluster["cluster_id"])
        rows.append(_judged(cluster, own) | {"month_date": None})
        months = sorted({*own.sizes["month_date"], *own.seen["month_date"]})
        rows += [_judged(cluster, own.where("month_date", month)) | {"month_date": month} for month in months]
    return pd.DataFrame(rows, columns=[name for name in TABLE.column_names if name not in WRITTEN])


def _judged(cluster: pd.Series[Any], months: _Months) -> dict[str, Any]:
    """Judge all these months together."""
    late_seen = float(months.late["late_seen_count"].sum())
    late = late_excess(
        months.sizes["node_count"].to_numpy(),
        months.sizes["end_count"].to_numpy(),
        late_seen,
        control_hits=float(months.late["control_hits"].sum()),
        control_onsets=float(months.late["control_onsets"].sum()),
        control_windows=float(months.sizes["control_windows"].sum()),
    )
    categories = _by_category(months.seen)
    sources = two_sources(categories)
    unexplained = unexplained_bound(
        users=months.cells["user_number"],
        runtime_classes=months.cells["runtime_class"],
        node_counts=months.cells["node_count"],
        failed=months.cells["failed"],
        days=months.cells["days"],
    )
    counted = sum(category.compared + category.uncompared for category in categories)
    reach = evidence_reach(counted, late, sources, unexplained)
    unseen = sources.unseen or Count(math.nan, math.nan, math.nan)
    ended = float(months.sizes["end_count"].sum()) + counted
    return {
        "cluster_id": cluster["cluster_id"],
        "reach": reach.value,
        "low": reach.low,
        "high": reach.high,
        "is_at_most": reach.is_at_most,
        "counted_count": counted,
        "late_seen_count": late_seen,
        "late_count": late.value,
        "late_count_low": late.low,
        "late_count_high": late.high,
        "compared_count": sources.compared,
        "both_count": sources.common,
        "unseen_count": unseen.value,
        "unseen_count_low": unseen.low,
        "unseen_count_high": unseen.high,
        "unexplained_count_high": unexplained,
        "one_source_categories": list(sources.one_sided),
        "confidence_level": CONFIDENCE_LEVEL,
        "method": "cannot_be_told" if math.isnan(reach.value) else METHODS[reach.is_at_most],
        "event_count": counted,
        "exposure": ended,
        "exposure_unit": ATTEMPTS,
        **_in_words(cluster, reach, sources, counted, ended, unexplained=unexplained),
    }


def _by_category(seen: pd.DataFrame) -> list[Sources]:
    """Sum each category over the months."""
    found: dict[str, Sources] = {}
    for row in seen[[*SEEN]].to_dict("records"):
        new = Sources(**{str(name): value for name, value in row.items()})
        found[new.category] = found[new.category] + new if new.category in found else new
    return list(found.values())


def _in_words(
    cluster: pd.Series[Any], reach: Reach, sources: TwoSources, counted: float, ended: float, *, unexplained: float
) -> dict[str, str | bool | None]:
    """Return the note, the statement to show with a rate, and whether the rate is in doubt."""
    logs = {"kernel log": cluster["has_kernel_messages"], "health checks": cluster["has_health_checks"]}
    missing = " and ".join(f"no {name}" for name, is_there in logs.items() if not is_there)
    seen_by = {"no kernel log": "checks", "no health checks": "kernel messages"}.get(
        missing, "kernel messages and checks"
    )
    is_telling = bool(missing) or sources.has_enough or counted >= TELLING
    if not ended:
        why, is_telling = "no attempt ended FAILED or REQUEUED", False
    elif missing:
        why = missing
    elif sources.has_enough:
        why = "most failures are of causes that one kind of log alone can show"
    else:
        why = (
            f"kernel messages and checks both saw {rounded(sources.common)} of {rounded(counted)} failures, too few to "
            "estimate what neither saw"
        )
    room = f"by how ends without any evidence grow with nodes, up to {unexplained:.0f} more may be faults"
    has_room = leaves_room(counted, unexplained)
    more = f"; {room}" if has_room else ""
    if math.isnan(reach.value):
        said = f"how much the {seen_by} miss is unknown: {why}{more}" if is_telling else None
        return {"note": f"unknown: {why}", "statement": said, "is_doubtful": is_telling}
    if reach.is_at_most:
        note: str | None = f"how much leaves no trace is unknown: {why}"
    else:
        named = ", ".join(sources.one_sided)
        note = f"one kind of log alone can show these causes, which are not compared: {named}" if named else None
    low, value, high = (
        "?" if math.isnan(share) else f"{100 * share:.0f}" for share in (reach.low, reach.value, reach.high)
    )
    likely = f"the true rate {'is likely' if reach.value < NEARLY_ALL else 'may be'} above"
    if reach.is_at_most:
        seen = f"{seen_by} saw at most {value}% [{low}, {high}] of what ended jobs{more}"
        end = f": {likely}" if reach.value < NEARLY_ALL else f"; how much less is unknown: {why}"
        return {"note": note, "statement": f"{seen}{end}", "is_doubtful": True}
    if has_room:
        said = f"saw about {value}% of what either can show; {room}, so that as little as {low}% was seen: {likely}"
        return {"note": note, "statement": f"{seen_by} {said}", "is_doubtful": True}
    seen = f"about {value}% [{low}, {high}] of what either can show"
    if reach.value < NEARLY_ALL:
        return {"note": note, "statement": f"{seen_by} saw {seen}: {likely}", "is_doubtful": True}
    return {"note": note, "statement": f"{seen_by} saw nearly all, {seen}", "is_doubtful": False}


def headline(reaches: pd.DataFrame) -> str:
    """Return a sentence: the reach of each cluster in its whole study period."""
    study = reaches[reaches["month_date"].isna()]
    return "; ".join(
        f"{cluster}: {'unknown' if math.isnan(reach) else f'{100 * reach:.0f}%'}"
        for cluster, reach in zip(study["cluster_id"], numbers(study, "reach"), strict=True)
    )


@estimate(TABLE, headline)
def est_evidence_reach(con: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """Compare what each source saw of the other's failures, and count the failures with late evidence."""
    return with_reach(_Months(*(read(con, name) for name in TABLE.inputs)))
