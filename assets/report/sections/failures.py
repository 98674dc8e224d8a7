"""Every infrastructure failure, and of each what was seen around it, in which line of which file, and its job."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from functools import partial
from typing import Any

from assets.report.addresses import of_failure
from assets.report.blocks import Column, Section, section
from assets.report.numbers import UNKNOWN, chance, gpus, moment, printable, short, whole, words
from assets.report.queries import Own, Row
from assets.report.tables import Col, cause, second, table
from assets.report.wording import plural

NO_EVIDENCE = "no log tells of anything around the end of this attempt."
MIN_SHARED = 16
"""Texts from so many characters on stand once in a page, and rows have their places."""


def line_of(row: Row) -> str:
    """Name the line of a file that tells of a row."""
    if not row["source_path"]:
        return UNKNOWN
    return f"{printable(row['source_path'], 120)}, line {whole(row['source_line_number'])}"


def job_name(row: Row, stem: str = "") -> str:
    """Name a job as Slurm prints it, with the number of the attempt beside it.

    >>> job_name({"job_id": "17_4", "attempt_number": 2}), job_name({"job_id": "17", "attempt_number": 1})
    ('17_4, attempt 2', '17')
    """
    number = row[f"{stem}attempt_number"]
    return printable(row[f"{stem}job_id"]) + (f", attempt {whole(number)}" if number and number > 1 else "")


FAILURES = (
    Col("Failed at (UTC)", "failed_at", second, link=of_failure),
    Col("Job", job_name, detail=lambda row: printable(row["job_name"], 48) if row["job_name"] else ""),
    Col("User", "user_name"),
    Col("#Size", "gpu_count", gpus, unknown=gpus(None)),
    Col("State", "state"),
    cause(),
    Col("Node", "culprit_node_name", unknown="not known", filter="node"),
    Col("How it was found", "attribution_rule", words),
    Col("#Evidence", "evidence_count", whole),
    Col("#Lost GPU-hours", "lost_gpu_hours", short),
)
EVIDENCE = (
    Col("Seen at (UTC)", "observed_at", second),
    Col("Node", "node_name"),
    Col("Cause", "label"),
    Col("#Seconds from the end", "lag_seconds", short),
    Col("Source", "source", words),
    Col("Check", "check_name"),
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
FACTS = (
    Col("Cause", lambda row: f"{printable(row['label'])}, probability {chance(row['posterior_probability'])}"),
    Col("Node", "culprit_node_name", unknown="not known"),
    Col("How it was found", "attribution_rule", words),
    Col("State", "state"),
    Col("Size", lambda row: f"{gpus(row['gpu_count'])} on {plural(row['node_count'] or 0, 'node')}"),
    Col("User, account", lambda row: f"{printable(row['user_name'], 32)}, {printable(row['account'], 32)}"),
    Col("Job name", "job_name"),
    Col("Lost", lambda row: f"{short(row['lost_gpu_hours'])} GPU-hours"),
    Col("Accounting", line_of),
)


def failures(own: Own) -> Section:
    """Build the list of all failed attempts; each leads to its evidence."""
    listed = own.rows("failures")
    return section(
        "failures",
        "Every failure",
        _summary(listed, own.row("incidents")),
        table(
            f"Infrastructure-failed attempts ({whole(len(listed))})",
            listed,
            FAILURES,
            "A click on the time shows the evidence: message, file and line, and the attempts of the job.",
        ),
    )


def _summary(listed: list[Row], incidents: Row) -> str:
    if not listed:
        return "No attempt ended by an infrastructure failure."
    said = plural(len(listed), "failed attempt")
    if incidents:
        said += f" in {plural(incidents['incident_count'], 'incident')}"
    if incidents and incidents["shared_incident_count"]:
        said += f" ({whole(incidents['shared_incident_count'])} of them hit several attempts, up to "
        said += f"{whole(incidents['largest_attempt_count'])} at once)"
    lost = [row["lost_gpu_hours"] for row in listed if row["lost_gpu_hours"] is not None]
    return f"{said}, {short(sum(lost) if lost else None)} GPU-hours lost in them."


def failure_details(own: Own) -> dict[str, Any]:
    """Give what the page's script shows of one failure: facts, evidence and the attempts of its job.

    Long texts (files, checks, messages) repeat: they stand once in a list, and the rows have their places in it.
    """
    texts: dict[str, int] = {}

    def packed(row: Row, columns: Iterable[Col]) -> list[str | int]:
        cells = [column.cell(row).text for column in columns]
        return [text if len(text) < MIN_SHARED else texts.setdefault(text, len(texts)) for text in cells]

    seen, runs = defaultdict(list), defaultdict(list)
    for event in own.rows("evidence"):
        seen[event["attempt_id"]].append(packed(event, EVIDENCE))
    for attempt in own.rows("failed_runs"):
        runs[attempt["run_id"]].append(packed(attempt, ATTEMPTS))
    told = {
        failure["attempt_id"]: {
            "title": f"Failure of job {job_name(failure)} at {second(failure['failed_at'])} UTC",
            "facts": [column.cell(failure).text for column in FACTS],
            "evidence": seen.get(failure["attempt_id"], []),
            "run": failure["run_id"] or "",
            "more": _more(failure, len(seen.get(failure["attempt_id"], []))),
        }
        for failure in own.rows("failures")
    }
    headings = {
        name: [Column(column.heading.removeprefix("#"), column.heading[:1] == "#").as_json() for column in columns]
        for name, columns in (("evidence", EVIDENCE), ("attempts", ATTEMPTS))
    }
    return headings | {
        "facts": [column.heading for column in FACTS],
        "failures": told,
        "runs": runs,
        "texts": list(texts),
        "without": NO_EVIDENCE,
        "simulated": bool(own.cluster["is_simulated"]),
    }


def _more(failure: Row, shown: int) -> str:
    hidden = (failure["evidence_count"] or 0) - shown
    return f"{plural(hidden, 'more event')} in marts.fct_failure_evidence." if shown and hidden > 0 else ""
