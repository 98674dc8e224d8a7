"""The failures one by one and the nodes behind them, faults told apart from planned work."""

from __future__ import annotations

from assets.report.addresses import of_node
from assets.report.advice import advise
from assets.report.blocks import Block, Cell, Section, Table, Text, columns, row
from assets.report.numbers import duration, moment, printable, short, whole
from assets.report.queries import Frames, Row, of_cluster
from assets.report.wording import plural

TITLE = "Nodes with failures or outages"


def nodes(frames: Frames, cluster: Row) -> Section:
    """Build the section on nodes that failed or were out of service."""
    cluster_id = cluster["cluster_id"]
    listed = of_cluster(frames, "nodes", cluster_id)
    blocks: list[Block] = [Text(_summary(of_cluster(frames, "outages", cluster_id)))]
    if listed:
        blocks.append(_nodes_table(listed))
    return Section("nodes", TITLE, tuple(blocks))


def _summary(outages: list[Row]) -> str:
    said = [
        f"{plural(outage['outage_count'], 'outage')} {'planned' if outage['is_planned'] else 'not planned'} on "
        f"{plural(outage['node_count'], 'node')} ({short(outage['outage_hours'])} node-hours)."
        for outage in outages
    ]
    return " ".join(said) or "No node outage was recorded."


def _nodes_table(listed: list[Row]) -> Table:
    return Table(
        "Nodes with the most incidents and outages",
        columns(
            "Node", "#Incidents", "Causes", "#Outages by faults", "#Planned outages", "#Lost GPU-hours", "What to do"
        ),
        tuple(
            row(
                Cell(printable(node["node_name"]), link=of_node(node["cluster_id"], node["node_name"])),
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
    return f"All {plural(len(listed), 'node')} with a failure or an outage"


def _outages(count: int, hours: float | None) -> Cell:
    return Cell(whole(count), detail=duration(hours) if count else "")


def _incidents(node: Row) -> str:
    if not node["incident_count"]:
        return ""
    return f"{plural(node['failure_count'], 'attempt')}, last {moment(node['last_failed_at'])[:10]}"
