"""Every infrastructure failure, and of each what was seen around it, in which line of which file, and its job."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from assets.report.addresses import of_failure
from assets.report.blocks import Section, section
from assets.report.explained.failures import line_of, parts_of_failure
from assets.report.explained.nodes import TIMELINE, parts_of_node
from assets.report.numbers import chance, gpus, moment, printable, short, whole, words
from assets.report.queries import Own, Row, grouped, summed
from assets.report.tables import Col, cause, second, table
from assets.report.wording import number, plural

NO_EVIDENCE = "no critical sign of a fault lies in the window around the end."
MIN_SHARED = 16
"""Texts from so many characters on stand once in a page, and rows have their places."""


def job_name(row: Row) -> str:
    """Name a job as Slurm prints it, with the number of the attempt beside it.

    >>> job_name({"job_id": "17_4", "attempt_number": 2}), job_name({"job_id": "17", "attempt_number": 1})
    ('17_4, attempt 2', '17')
    """
    number = row["attempt_number"]
    return printable(row["job_id"]) + (f", attempt {whole(number)}" if number and number > 1 else "")


FAILURES = (
    Col("Failed at (UTC)", "failed_at", second, link=of_failure),
    Col("Job", job_name, detail=lambda row: printable(row["job_name"], 48) if row["job_name"] else ""),
    Col("User", "user_name"),
    Col("#Size", "gpu_count", gpus, unknown=gpus(None)),
    Col("State", "state"),
    cause(),
    Col("Node", "culprit_node_name", unknown="not known", filter="node"),
    Col("How it was found", "attribution_rule", words),
    Col("#Probability", "posterior_probability", chance),
    Col("#GPU-hours at stake", "lost_gpu_hours", short),
)
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


def failures(own: Own) -> Section:
    """Build the list of all failed attempts; each leads to its evidence."""
    listed = own.rows("failures")
    return section(
        "failures",
        "Every failure",
        _summary(listed, own.row("incidents", failure_category="all")),
        table(
            f"Attempts that infrastructure may have ended ({whole(len(listed))})",
            listed,
            FAILURES,
            "A click on the time shows the evidence: message, file and line, and the attempts of the job. Probability: "
            "that infrastructure ended it, and not a coincidence.",
        ),
    )


def _summary(listed: list[Row], incidents: Row) -> str:
    if not listed:
        return "No attempt is known to have ended by an infrastructure failure."
    expected = summed([weighted(row) for row in listed], "count", "lost_gpu_hours")
    said = f"{plural(expected['count'], 'infrastructure failure')} expected of {plural(len(listed), 'attempt')}"
    if incidents:
        said += f", in {plural(incidents['incident_count'], 'incident')}"
    if incidents and incidents["shared_incident_count"]:
        shared, largest = number(incidents["shared_incident_count"]), whole(incidents["largest_attempt_count"])
        said += f" ({shared} of them hit several attempts, up to {largest} at once)"
    is_known = any(row["lost_gpu_hours"] is not None for row in listed)
    lost = short(expected["lost_gpu_hours"] if is_known else None)
    return f"{said}, {lost} GPU-hours lost in them: each attempt below counts with its probability."


def weighted(row: Row) -> Row:
    """Count a failed attempt, and what it lost, with the probability that infrastructure ended it."""
    probability, lost = row["posterior_probability"], row["lost_gpu_hours"]
    return row | {"count": probability, "lost_gpu_hours": None if lost is None else probability * lost}


def failure_details(own: Own) -> dict[str, Any]:
    """Give what the page's script shows of one failure (its explanation, evidence, the attempts of its job) or node.

    Long texts (files, checks, messages) repeat: they stand once in a list, and the rows have their places in it.
    """
    texts: dict[str, int] = {}

    def packed(row: Row, columns: Iterable[Col]) -> list[str | int]:
        cells = [column.text(row) for column in columns]
        return [text if len(text) < MIN_SHARED else texts.setdefault(text, len(texts)) for text in cells]

    evidence, around = (grouped(own.rows(name), "attempt_id") for name in ("evidence", "around"))
    nodes_by_id = {node["node_id"]: node for node in own.rows("nodes")}
    runs = grouped(own.rows("failed_runs"), "run_id")
    details = {}
    for failure in own.rows("failures"):
        events = evidence.get(failure["attempt_id"], [])
        details[failure["attempt_id"]] = {
            "title": f"Failure of job {job_name(failure)} at {second(failure['failed_at'])} UTC",
            "facts": parts_of_failure(
                failure,
                events,
                around.get(failure["attempt_id"], []),
                nodes_by_id.get(failure["culprit_node_id"]),
                own.cluster,
            ),
            "evidence": [packed(event, EVIDENCE) for event in events],
            "run": failure["run_id"] or "",
        }
    histories = grouped(own.rows("timelines"), "node_id")
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
