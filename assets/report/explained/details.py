"""The details of one failure, or of one node, which the page's script shows at its address."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from assets.report.explained.failures import line_of, parts_of_failure
from assets.report.explained.nodes import TIMELINE, parts_of_node
from assets.report.numbers import chance, gpus, moment, printable, short, whole, words
from assets.report.queries import ClusterData, Row, grouped
from assets.report.tables import Col, second
from assets.report.wording import job_name

NO_EVIDENCE = "no critical sign of a fault lies in the window around the end."
MIN_SHARED = 16
"""Texts of at least so many characters are stored once in a page, and rows hold their index."""
EVIDENCE = (
    Col("Seen at (UTC)", "observed_at", second),
    Col("Node", "node_name"),
    Col("Cause", "label"),
    Col("#Seconds from the end", "lag_seconds", short),
    Col("Source", "source", words),
    Col("Check", "check_name"),
    Col("#Probability", "probability", chance, unknown="node named by Slurm"),
    Col("Message", "message", partial(printable, limit=160)),
    Col("File and line", line_of),
)
ATTEMPTS = (
    Col("Job", "job_id"),
    Col("#Attempt", "attempt_number", whole),
    Col("State", "state"),
    Col("Started (UTC)", "started_at", moment),
    Col("Ended (UTC)", "ended_at", moment),
    Col("#Size", "gpu_count", gpus, unknown=gpus(None)),
    Col("#GPU-hours", "gpu_hours", short),
    Col("File and line", line_of),
)


def failure_details(data: ClusterData) -> dict[str, Any]:
    """Return the details of each failure (its explanation, evidence, the attempts of its job) and node.

    Long texts (files, checks, messages) repeat: they are stored once in a list, and the rows hold their index.
    """
    texts: dict[str, int] = {}

    def packed(row: Row, columns: Iterable[Col]) -> list[str | int]:
        cells = [column.text(row) for column in columns]
        return [text if len(text) < MIN_SHARED else texts.setdefault(text, len(texts)) for text in cells]

    evidence, around = (grouped(data.rows(name), "attempt_id") for name in ("evidence", "around"))
    nodes_by_id = {node["node_id"]: node for node in data.rows("nodes")}
    runs = grouped(data.rows("failed_runs"), "run_id")
    details = {}
    for failure in data.rows("failures"):
        events = evidence.get(failure["attempt_id"], [])
        details[failure["attempt_id"]] = {
            "title": f"Failure of job {job_name(failure)} at {second(failure['failed_at'])} UTC",
            "facts": parts_of_failure(
                failure,
                events,
                around.get(failure["attempt_id"], []),
                nodes_by_id.get(failure["culprit_node_id"]),
                data.cluster,
            ),
            "evidence": [packed(event, EVIDENCE) for event in events],
            "run": failure["run_id"] or "",
        }
    histories = grouped(data.rows("timelines"), "node_id")
    return {
        "evidence": [column.head() for column in EVIDENCE],
        "attempts": [column.head() for column in ATTEMPTS],
        "timeline": [column.head() for column in TIMELINE],
        "failures": details,
        "nodes": {
            printable(node["node_name"]): {
                "title": f"Node {printable(node['node_name'])}",
                "facts": parts_of_node(node),
                "timeline": [packed(entry, TIMELINE) for entry in histories.get(node_id, [])],
            }
            for node_id, node in nodes_by_id.items()
            if node_id in histories
        },
        "runs": {run_id: [packed(attempt, ATTEMPTS) for attempt in of_run] for run_id, of_run in runs.items()},
        "texts": list(texts),
        "without": NO_EVIDENCE,
    }
