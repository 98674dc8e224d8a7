"""Did repairs hold? Relapses by cause and by what was done, the action to try first, and nodes returned untouched."""

from __future__ import annotations

from assets.report.blocks import Section, Text, note, section
from assets.report.numbers import duration, printable, share, short, whole
from assets.report.queries import Own, Row
from assets.report.tables import Col, table
from assets.report.wording import plural

ACTIONS = {"none": "nothing (a false return)", "unknown": "not known"}
MIN_REPAIRS = 5
"""Causes with fewer repairs are left out of the table."""
VERDICTS = {"try first": "try {} first", "relapses sooner": "{} relapses sooner"}


def _cause(row: Row) -> str:
    return "all causes" if row["failure_category"] == "all" else printable(row["label"])


def _action(row: Row) -> str:
    return ACTIONS.get(row["repair_action"]) or printable(row["repair_action"])


def _seen(row: Row) -> str:
    """Say what a comparison that found nothing would have found."""
    if row["verdict"] != "cannot tell" or row["detectable_effect"] is None:
        return ""
    return f"{short(row['detectable_effect'])} times the relapses would be found"


REPAIRS = (
    Col("Cause", _cause),
    Col("Done", _action),
    Col("Verdict", "verdict", detail=_seen),
    Col("#Repairs", "repair_count", whole, detail=lambda row: plural(row["event_count"], "relapse")),
    Col("#Back within 7 days ({level})", "relapse_7d_ratio", share, limits="relapse_7d_ratio"),
    Col("#Back within 30 days ({level})", "relapse_30d_ratio", share, limits="relapse_30d_ratio"),
    Col("#Half are back after", "days_to_relapse", lambda days: duration(24 * days), unknown="fewer than half are"),
    Col("#Out of service, hours", "repair_hours", short, limits="repair_hours"),
)


def repairs(own: Own) -> Section:
    """Build the section on what repairs were worth."""
    rows, title = own.rows("repair_actions"), "Did the repairs hold?"
    if not rows:
        said = "No repair was seen: an export of node events or the controller's log would show them (docs/logs.md)."
        if any(own.cluster[name] for name in ("has_node_events", "has_slurmctld_log", "has_records_alone")):
            said = "No node came back from an outage for a fault of known cause, so there is no repair to follow."
        return section("repairs", title, note(said))
    return section(
        "repairs",
        title,
        _found(rows),
        table(
            "Relapses by cause and by what was done",
            [row for row in rows if row["repairs_of_cause"] >= MIN_REPAIRS],
            REPAIRS,
            "A repair is an outage for a fault. The fault is back when the node is next out of service, or fails a "
            "job, for the same cause; days count while the node is in service. Done: the most thorough thing that "
            "tickets, administrators' reasons and boots tell. A verdict compares actions after one cause, on nodes "
            "with as many faults in the 30 days before and on one node, and takes both; the shares do not, and bad "
            "nodes raise them. Try first: the quickest of what holds longer. "
            f"Causes with fewer than {MIN_REPAIRS} repairs are not listed.",
        ),
    )


def _found(rows: list[Row]) -> Text:
    """Say what to try first, how many nodes came back untouched, and of how many that cannot be told."""
    found: dict[str, list[str]] = {}
    for verdict, words in VERDICTS.items():
        for row in rows:
            if row["verdict"] == verdict and row["failure_category"] != "all":
                back = row["relapse_7d_ratio"]
                text = words.format(_action(row)) + ("" if back is None else f" ({share(back)} back within 7 days)")
                found.setdefault(_cause(row), []).append(text)
    of_all = {row["repair_action"]: row for row in rows if row["failure_category"] == "all"}
    total = sum(row["repair_count"] for row in of_all.values())
    said = [f"{cause}: {', '.join(texts)}." for cause, texts in found.items()]
    said = said or [f"Which action to try first cannot be told from {plural(total, 'repair')}."]
    if "none" in of_all:
        back = of_all["none"]["relapse_7d_ratio"]
        count = whole(of_all["none"]["repair_count"])
        said.append(
            f"{count} of {plural(total, 'repair')} were false returns, with nothing done"
            + ("." if back is None else f"; after {share(back)} of them the fault was back within 7 days.")
        )
    if "unknown" in of_all:
        said.append(
            f"What was done in {whole(of_all['unknown']['repair_count'])} of {plural(total, 'repair')} is not known: "
            "tickets or recorded failures with an action, or boots in the kernel's log, would tell it (docs/logs.md)."
        )
    return Text(" ".join(said), "warning" if found else "plain")
