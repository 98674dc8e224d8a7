"""The failures one by one and the nodes behind them, faults told apart from planned work."""

from __future__ import annotations

from assets.report import palette
from assets.report.advice import advise
from assets.report.blocks import Block, Cell, Section, Table, Text, columns, row
from assets.report.numbers import UNKNOWN, duration, gpus, moment, printable, short, whole
from assets.report.queries import Frames, Row, of_cluster, only_row
from assets.report.wording import plural

TITLE = "Failures and nodes to look at"
OPEN_LIST = 12


def nodes(frames: Frames, cluster: Row) -> Section:
    """Build the section on single failures and nodes."""
    cluster_id = cluster["cluster_id"]
    blocks: list[Block] = [Text(_summary(frames, cluster_id))]
    listed = of_cluster(frames, "nodes", cluster_id)
    if listed:
        blocks.append(_nodes_table(listed))
    failures = of_cluster(frames, "failures", cluster_id)
    if failures:
        blocks.append(_failures_table(failures, only_row(frames, "losses", cluster_id)["failure_count"]))
    return Section("nodes", "Nodes", TITLE, tuple(blocks))


def _summary(frames: Frames, cluster_id: str) -> str:
    losses, incidents = only_row(frames, "losses", cluster_id), only_row(frames, "incidents", cluster_id)
    sentences = [_failures_sentence(losses, incidents)]
    outages = of_cluster(frames, "outages", cluster_id)
    for is_planned, word in ((False, "not planned"), (True, "planned")):
        row_ = next((outage for outage in outages if outage["is_planned"] == is_planned), None)
        if row_:
            sentences.append(
                f"{plural(row_['outage_count'], 'outage')} {word} on {plural(row_['node_count'], 'node')} "
                f"({short(row_['outage_hours'])} node-hours)."
            )
    if not outages:
        sentences.append("No node outage was recorded.")
    return " ".join(sentences)


def _failures_sentence(losses: Row, incidents: Row) -> str:
    if not losses:
        return "No attempt ended by an infrastructure failure."
    grouped = (
        f" in {plural(incidents['incident_count'], 'incident')}"
        + (
            f" ({whole(incidents['shared_incident_count'])} of them hit several attempts, up to "
            f"{whole(incidents['largest_attempt_count'])} at once)"
            if incidents["shared_incident_count"]
            else ""
        )
        if incidents
        else ""
    )
    lost = short(losses["first_order_gpu_hours"])
    return f"{plural(losses['failure_count'], 'failed attempt')}{grouped}, {lost} GPU-hours lost in them."


def _nodes_table(listed: list[Row]) -> Table:
    return Table(
        "Nodes with the most incidents and outages",
        columns(
            "Node", "#Incidents", "Causes", "#Outages by faults", "#Planned outages", "#Lost GPU-hours", "What to do"
        ),
        tuple(
            row(
                printable(node["node_name"]),
                Cell(whole(node["incident_count"]), detail=_incidents(node)),
                ", ".join(f"{cause['label']} ({cause['count']})" for cause in node["causes"] or [])
                or "none blamed on it",
                _outages(node["fault_outage_count"], node["fault_outage_hours"]),
                _outages(node["planned_outage_count"], node["planned_outage_hours"]),
                short(node["lost_gpu_hours"]) if node["incident_count"] else "0",
                advise(node),
            )
            for node in listed
        ),
        note=f"{_count_nodes(listed)}, most incidents first. An incident counts for the node that a log or the "
        "evidence names; one without a culprit, and evidence that is more likely a coincidence, count for none.",
    )


def _count_nodes(listed: list[Row]) -> str:
    concerned = listed[0]["concerned_node_count"]
    if concerned <= len(listed):
        return f"All {plural(concerned, 'node')} with a failure or an outage"
    return f"{whole(len(listed))} of the {plural(concerned, 'node')} with a failure or an outage"


def _outages(count: int, hours: float | None) -> Cell:
    return Cell(whole(count), detail=duration(hours) if count else "")


def _incidents(node: Row) -> str:
    if not node["incident_count"]:
        return ""
    return f"{plural(node['failure_count'], 'attempt')}, last {moment(node['last_failed_at'])[:10]}"


def _failures_table(failures: list[Row], total: int) -> Table:
    shown = f"the latest {len(failures)} of {whole(total)}" if total > len(failures) else f"all {whole(total)}"
    return Table(
        f"Infrastructure-failed attempts ({shown})",
        columns(
            "Failed at (UTC)",
            "Job",
            "User",
            "#Size",
            "State",
            "Cause",
            "Node",
            "How it was found",
            "#Evidence",
            "#Lost GPU-hours",
        ),
        tuple(
            row(
                moment(failure["failed_at"], seconds=True),
                Cell(
                    printable(failure["job_id"]),
                    detail=printable(failure["job_name"], 48) if failure["job_name"] else "",
                ),
                printable(failure["user_name"], 32),
                gpus(failure["gpu_count"]),
                printable(failure["state"]),
                Cell(failure["label"] or UNKNOWN, swatch=palette.colour_of(failure["failure_category"])),
                printable(failure["culprit_node_name"]) if failure["culprit_node_name"] else "not known",
                printable((failure["attribution_rule"] or UNKNOWN).replace("_", " ")),
                whole(failure["evidence_count"]),
                short(failure["lost_gpu_hours"]),
            )
            for failure in failures
        ),
        is_collapsed=len(failures) > OPEN_LIST,
    )
