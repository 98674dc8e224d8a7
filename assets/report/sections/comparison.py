"""All clusters side by side, what to do about each, and what changed since the report before.

Every number is one of a first screen, as it stands there; real and simulated clusters are never added together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from assets.report.blocks import Chapter, FirstScreen, Section, section
from assets.report.changes import Change
from assets.report.numbers import UNKNOWN, printable, whole
from assets.report.queries import Own, Row
from assets.report.tables import Col, steps, table


def _first(
    heading: str,
    said: Callable[[FirstScreen], str],
    detail: Callable[[FirstScreen], str],
    page: str,
    needs_jobs: bool = False,
) -> Col:
    """Make a column of what stands on the first screens; a click shows the page behind it."""

    def shown(row: Row) -> FirstScreen | None:
        first: FirstScreen | None = row["first"]
        return None if needs_jobs and row["has_records_alone"] else first

    return Col(
        heading,
        lambda row: (first := shown(row)) and said(first),
        detail=lambda row: detail(first) if (first := shown(row)) else "",
        link=lambda row: f"#{row['chapter'].anchor}{page}",
        unknown="no accounting" if needs_jobs else UNKNOWN,
    )


def _tile(heading: str, place: int, page: str) -> Col:
    """Make a column of a number of the first screens, with its limits; of recorded failures alone there is none."""
    return _first(
        heading, lambda first: first.tiles[place].value, lambda first: first.tiles[place].unit, page, needs_jobs=True
    )


def _taken_out(first: FirstScreen) -> str:
    out = sum(action.takes_out for action in first.actions)
    return f"{whole(out)} to take out" if out else ""


NAME = Col(
    "Cluster",
    lambda row: row["chapter"].cluster_id,
    detail=lambda row: "simulated" if row["chapter"].is_simulated else "",
    link=lambda row: f"#{row['chapter'].anchor}",
)
CLUSTERS = (
    NAME,
    _first("#Last 30 days over the 30 before", lambda first: first.change.ratio, lambda first: first.change.detail,
           "/failures"),
    _tile("#Failures per 1,000 node-days", 0, "/failures"),
    _tile("#MTTF, whole cluster", 1, "/ettr"),
    _tile("#Lost GPU-hours", 3, "/losses"),
    _first("#To do", lambda first: whole(len(first.actions)), _taken_out, "-actions"),
    _first("Data until (UTC)", lambda first: first.age.until,
           lambda first: f"old: {first.age.ago}" if first.age.is_old else "", "/quality"),
    Col("#Nodes", "node_count", whole, detail=lambda row: "that failed" if row["has_records_alone"] else ""),
    Col("#GPUs", lambda row: None if row["has_records_alone"] else row["gpu_count"], whole),
)  # fmt: skip
ACTIONS = (
    NAME,
    Col("What to do", lambda row: row["action"].title, detail=lambda row: row["action"].rests_on),
    Col("Why", lambda row: row["action"].reason),
    Col("Saves", lambda row: row["action"].saving.amount, detail=lambda row: row["action"].saving.note),
    Col("Command", lambda row: steps(row["action"].step)),
)
CHANGES = (
    Col("Cluster", lambda row: printable(row["cluster_id"]) if row["cluster_id"] else "all"),
    Col("What", "what", str),
    Col("Kind", "kind", str),
    Col("In words", "said", str),
)


def comparison(owns: Sequence[Own], chapters: Sequence[Chapter]) -> tuple[Section, ...]:
    """Build the tables of all clusters and of everything to do, or nothing when there is no cluster."""
    if not owns:
        return ()
    rows: list[Row] = [
        {**own.cluster, "chapter": chapter, "first": chapter.leaves[0].first if chapter.leaves else None}
        for own, chapter in zip(owns, chapters, strict=True)
    ]
    clusters = table(
        "All clusters",
        rows,
        CLUSTERS,
        "Numbers as on the first screen of each cluster. The ratio is that of incidents per node-day, of the same jobs "
        "as the rate beside it; lost GPU-hours are those of all jobs in the whole study period.",
    )
    listed = [row | {"action": action} for row in rows if row["first"] for action in row["first"].actions]
    to_do = table("What to do, all clusters", listed, ACTIONS, "Each command is as of the data of its cluster.")
    return (section("comparison", "", clusters, to_do),)


def since_last_report(changes: Sequence[Change] | None) -> tuple[Section, ...]:
    """Build the table of what moved out of the interval that it had; nothing where there is no report before."""
    if changes is None:
        return ()
    title = "What changed since the last report"
    moved = table(
        title,
        [vars(change) for change in changes],
        CHANGES,
        "A number moved where its new value lies outside of its old interval. Numbers of different versions of a "
        "method are not compared.",
    )
    return (section("changes", "" if moved else title, moved or "No number moved out of the interval that it had."),)
