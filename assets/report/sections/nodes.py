"""The nodes behind the failures, faults told apart from planned work."""

from __future__ import annotations

from assets.report.addresses import of_node
from assets.report.advice import advise
from assets.report.blocks import Section, section
from assets.report.numbers import duration, moment, short, whole
from assets.report.queries import Own, Row
from assets.report.tables import Col, table
from assets.report.wording import plural


def _incidents(row: Row) -> str:
    if not row["incident_count"]:
        return ""
    return f"{plural(row['failure_count'], 'attempt')}, last {moment(row['last_failed_at'])[:10]}"


def _causes(row: Row) -> str:
    return ", ".join(f"{cause['label']} ({cause['count']})" for cause in row["causes"] or []) or "none blamed on it"


def _outages(heading: str, kind: str) -> Col:
    def lasted(row: Row) -> str:
        return duration(row[f"{kind}_outage_hours"]) if row[f"{kind}_outage_count"] else ""

    return Col(heading, f"{kind}_outage_count", whole, detail=lasted)


NODES = (
    Col("Node", "node_name", link=of_node),
    Col("#Incidents", "incident_count", whole, detail=_incidents),
    Col("Causes", _causes),
    _outages("#Outages by faults", "fault"),
    _outages("#Planned outages", "planned"),
    Col("#Lost GPU-hours", lambda row: short(row["lost_gpu_hours"]) if row["incident_count"] else "0"),
    Col("What to do", advise),
)


def nodes(own: Own) -> Section:
    """Build the section on nodes that failed or were out of service."""
    listed = [
        row for row in own.rows("nodes") if row["incident_count"] or _outage_count(row) or row["verdict"] == "lemon"
    ]
    return section(
        "nodes",
        "Nodes with failures or outages",
        _about_outages(listed) or "No node outage was recorded.",
        table(
            "Nodes with the most incidents and outages",
            listed,
            NODES,
            f"All {plural(len(listed), 'node')} with a failure or an outage, most incidents first. An incident counts "
            "for the node that a log or the evidence names; one without a culprit, one of something that many nodes "
            "share, and evidence that is more likely a coincidence, count for none.",
        ),
    )


def _outage_count(row: Row) -> int:
    return row["fault_outage_count"] + row["planned_outage_count"]


def _about_outages(listed: list[Row]) -> str:
    said = []
    for kind, words in (("fault", "not planned"), ("planned", "planned")):
        out = [row for row in listed if row[f"{kind}_outage_count"]]
        count, hours = (sum(row[f"{kind}_outage_{name}"] for row in out) for name in ("count", "hours"))
        if out:
            said.append(f"{plural(count, 'outage')} {words} on {plural(len(out), 'node')} ({short(hours)} node-hours).")
    return " ".join(said)
