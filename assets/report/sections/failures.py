"""Every infrastructure failure, and of each what was seen around it, in which line of which file, and its job."""

from __future__ import annotations

from typing import Any

from assets.report import palette
from assets.report.addresses import of_failure
from assets.report.blocks import Block, Cell, Column, Section, Table, Text, columns, row
from assets.report.numbers import UNKNOWN, chance, gpus, moment, printable, short, whole
from assets.report.queries import Frames, Row, of_cluster, only_row
from assets.report.wording import plural

NO_EVIDENCE = "no log tells of anything around the end of this attempt."
EVIDENCE = columns(
    "Seen at (UTC)", "Node", "Cause", "#Seconds from the end", "Source", "Check", "Message", "File and line"
)
ATTEMPTS = columns("Job", "#Attempt", "State", "Started (UTC)", "Ended (UTC)", "#Size", "#GPU-hours", "File and line")


def failures(frames: Frames, cluster: Row) -> Section:
    """Build the list of all failed attempts; each leads to its evidence."""
    cluster_id = cluster["cluster_id"]
    listed = of_cluster(frames, "failures", cluster_id)
    losses, incidents = only_row(frames, "losses", cluster_id), only_row(frames, "incidents", cluster_id)
    blocks: list[Block] = [Text(_summary(losses, incidents))]
    if listed:
        blocks.append(_table(listed))
    return Section("failures", "Every failure", tuple(blocks))


def job_name_of(attempt: Row) -> str:
    """Name a job as Slurm prints it, with the number of the attempt beside it."""
    number = attempt.get("attempt_number")
    return printable(attempt["job_id"]) + (f", attempt {whole(number)}" if number and number > 1 else "")


def failure_details(frames: Frames, cluster: Row) -> dict[str, Any]:
    """Give what the page's script shows of one failure: facts, evidence and the attempts of its job.

    Texts that repeat (files, checks, messages) stand once in a list, and the rows have their places in it.
    """
    texts: dict[str, int] = {}
    seen: dict[str, list[Any]] = {}
    for event in of_cluster(frames, "evidence", cluster["cluster_id"]):
        seen.setdefault(event["attempt_id"], []).append([
            moment(event["observed_at"], seconds=True),
            printable(event["node_name"]),
            event["label"] or UNKNOWN,
            short(event["lag_seconds"]),
            printable((event["source"] or UNKNOWN).replace("_", " ")),
            _place(texts, printable(event["check_name"])),
            _place(texts, printable(event["message"], 160)),
            _place(texts, _line(event)),
        ])  # fmt: skip
    runs: dict[str, list[Any]] = {}
    for attempt in of_cluster(frames, "failed_runs", cluster["cluster_id"]):
        runs.setdefault(attempt["run_id"], []).append([
            printable(attempt["job_id"]),
            whole(attempt["attempt_number"]),
            printable(attempt["state"]),
            moment(attempt["started_at"]),
            moment(attempt["ended_at"]),
            gpus(attempt["gpu_count"]),
            short(attempt["gpu_hours"]),
            _place(texts, _line(attempt)),
        ])  # fmt: skip
    told = {
        failure["attempt_id"]: {
            "title": f"Failure of job {job_name_of(failure)} at {moment(failure['failed_at'], seconds=True)} UTC",
            "facts": _facts(failure),
            "evidence": seen.get(failure["attempt_id"], []),
            "without": NO_EVIDENCE,
            "run": failure["run_id"] or "",
            "more": _more(failure, len(seen.get(failure["attempt_id"], []))),
        }
        for failure in of_cluster(frames, "failures", cluster["cluster_id"])
    }
    return {
        "failures": told,
        "runs": runs,
        "texts": list(texts),
        "evidence": [column.as_json() for column in EVIDENCE],
        "attempts": [column.as_json() for column in ATTEMPTS],
        "simulated": bool(cluster["is_simulated"]),
    }


def _facts(failure: Row) -> list[list[str]]:
    return [
        ["Cause", f"{failure['label'] or UNKNOWN}, probability {chance(failure['posterior_probability'])}"],
        ["Node", printable(failure["culprit_node_name"]) if failure["culprit_node_name"] else "not known"],
        ["How it was found", printable((failure["attribution_rule"] or UNKNOWN).replace("_", " "))],
        ["State", printable(failure["state"])],
        ["Size", f"{gpus(failure['gpu_count'])} on {plural(failure['node_count'] or 0, 'node')}"],
        ["User, account", f"{printable(failure['user_name'], 32)}, {printable(failure['account'], 32)}"],
        ["Job name", printable(failure["job_name"], 64)],
        ["Lost", f"{short(failure['lost_gpu_hours'])} GPU-hours"],
        ["Accounting", _line(failure)],
    ]


def _more(failure: Row, shown: int) -> str:
    hidden = (failure["evidence_count"] or 0) - shown
    return f"{plural(hidden, 'more event')} in marts.fct_failure_evidence." if shown and hidden > 0 else ""


def _line(told: Row) -> str:
    if not told["source_path"]:
        return UNKNOWN
    return f"{printable(told['source_path'], 120)}, line {whole(told['source_line_number'])}"


def _place(texts: dict[str, int], text: str) -> int:
    return texts.setdefault(text, len(texts))


def _summary(losses: Row, incidents: Row) -> str:
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


def _table(listed: list[Row]) -> Table:
    return Table(
        f"Infrastructure-failed attempts ({whole(len(listed))})",
        (
            *columns("Failed at (UTC)", "Job", "User", "#Size", "State"),
            Column("Cause", filter="cause"),
            Column("Node", filter="node"),
            *columns("How it was found", "#Evidence", "#Lost GPU-hours"),
        ),
        tuple(
            row(
                Cell(
                    moment(failure["failed_at"], seconds=True),
                    link=of_failure(failure["cluster_id"], failure["attempt_id"]),
                ),
                Cell(job_name_of(failure), detail=printable(failure["job_name"], 48) if failure["job_name"] else ""),
                printable(failure["user_name"], 32),
                gpus(failure["gpu_count"]),
                printable(failure["state"]),
                Cell(failure["label"] or UNKNOWN, swatch=palette.colour_of(failure["failure_category"])),
                printable(failure["culprit_node_name"]) if failure["culprit_node_name"] else "not known",
                printable((failure["attribution_rule"] or UNKNOWN).replace("_", " ")),
                whole(failure["evidence_count"]),
                short(failure["lost_gpu_hours"]),
            )
            for failure in listed
        ),
        note="A click on the time shows the evidence: message, file and line, and the attempts of the job.",
    )
