"""What to do, what another run would meet, and what changed since the report before."""

from __future__ import annotations

from assets.report.actions import actions_of
from assets.report.addresses import anchor_of
from assets.report.blocks import Actions, Markup, Section, Table, Text, columns, row
from assets.report.changes import Change
from assets.report.numbers import printable
from assets.report.queries import Frames, Row
from assets.report.what_if import what_if


def what_to_do(frames: Frames, cluster: Row) -> Section:
    """Build the list of everything to do, each with its evidence, what it saves, and its command."""
    return Section("actions", "What to do, and why", (Actions(tuple(actions_of(frames, cluster["cluster_id"]))),))


def what_to_expect(frames: Frames, cluster: Row) -> Section:
    """Build the sliders."""
    html = what_if(frames, cluster["cluster_id"], anchor_of(cluster["cluster_id"]))
    return Section("what-if", "What would another run meet?", (Markup(str(html)),))


def since_last_report(changes: list[Change] | None) -> tuple[Section, ...]:
    """Build the table of what moved out of the interval that it had."""
    title = "What changed since the last report"
    if changes is None:
        return ()
    if not changes:
        return (Section("changes", title, (Text("No number moved out of the interval that it had."),)),)
    table = Table(
        title,
        columns("Cluster", "What", "Kind", "In words"),
        tuple(
            row(printable(change.cluster_id) if change.cluster_id else "all", change.what, change.kind, change.said)
            for change in changes
        ),
        note="A number moved where its new value lies outside of its old interval. Numbers of different versions of a "
        "method are not compared.",
    )
    return (Section("changes", "", (table,)),)
