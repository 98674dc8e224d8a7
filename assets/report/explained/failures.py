"""Why an attempt failed: what decided it, what else was considered, what it cost and what to do.

Each text is for a colleague who did not see the failure. Numbers are as published, and nothing is judged again here,
except what the tables show about a lost node that left no evidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter

from assets.node_lists import exclude_option
from assets.report.advice import NEXT_STEP, advise
from assets.report.numbers import chance, duration, gpus, moment, nodes, printable, short, whole, words
from assets.report.queries import Row, grouped
from assets.report.wording import loss_rule, plural, sentence

Part = tuple[str, str]
"""A heading and its text."""

HEADINGS = ("What happened", "Why", "Also considered", "What was lost", "What to do", "Accounting")
RULES = {
    "evidence_on_named_node": "Slurm names {node} as the node that failed.",
    "evidence_on_attempt_node": "Slurm names no node, but one of them shows a fault around the end.",
    "administrator_down": "An administrator took {node} down.",
    "prolog_failure": "The prolog, which prepares a node for a job, failed on {node}.",
    "boot_failure": "A node did not boot for the job.",
    "node_fail_named_node": "Slurm lost contact with {node}. No log proves why.",
    "node_fail_no_node_named": "Slurm lost contact with a node, which it does not name. No log proves why.",
}
NOT_SEEN = "The reason is unknown"
REBOOTED = "unexpectedly rebooted"
MAX_ENTRIES = 5
LOGS = {"has_kernel_messages": "kernel logs", "has_health_checks": "health checks", "has_node_events": "node events"}
UNITS = {"s": 1, "min": 60, "h": 3600, "days": 86400}


def parts_of_failure(
    failure: Row, evidence: Sequence[Row], around: Sequence[Row], node: Row | None, cluster: Row
) -> list[Part]:
    """Explain one infrastructure failure.

    Parameters
    ----------
    failure, evidence, node, cluster
        Rows of the queries `failures`, `evidence` (best first), `nodes` (of the culprit) and `clusters`.
    around
        Rows of `around`, for a failure without evidence.
    """
    where = printable(failure["culprit_node_name"]) if failure["culprit_node_name"] else "an unknown node"
    known = RULES.get(failure["attribution_rule"])
    if failure["attribution_rule"] == "evidence_on_attempt_node" and failure["node_count"] == 1:
        known = "Its only node shows a fault around the end."
    rule = known.format(node=where) if known else f"The rule is {words(failure['attribution_rule'])}."
    texts = (
        _what_happened(failure, where),
        " ".join([rule, *_why(failure, evidence, around, cluster)]),
        considered(failure, evidence, where),
        "an unknown number of GPU-hours: accounting does not show its GPUs"
        if failure["lost_gpu_hours"] is None
        else f"{short(failure['lost_gpu_hours'])} GPU-hours: {loss_rule(cluster['checkpoint_minutes'])}",
        _what_to_do(failure, node),
        line_of(failure),
    )
    return list(zip(HEADINGS, texts, strict=True))


def line_of(row: Row) -> str:
    """Name the file and the line of a row."""
    if not row["source_path"]:
        return "an unknown file"
    return f"{printable(row['source_path'], 120)}, line {whole(row['source_line_number'])}"


def run_words(attempt: Row) -> str:
    """Say how long an attempt ran and on what.

    >>> run_words({"runtime_seconds": 5400, "node_count": 2, "gpu_count": 16})
    'ran 1.50 h on 2 nodes with 16 GPUs'
    """
    if attempt["node_count"] == 0:
        return "never ran"
    # An attempt that still runs has only an exposure.
    seconds = attempt.get("exposure_seconds") if attempt["runtime_seconds"] is None else attempt["runtime_seconds"]
    ran = "for an unknown time" if seconds is None else duration(seconds / 3600) if seconds else "0 s"
    return f"ran {ran} on {nodes(attempt['node_count'])} with {gpus(attempt['gpu_count'])}"


def _attempt(attempt: Row) -> str:
    known = [printable(attempt["job_name"], 48)] if attempt["job_name"] else []
    known += [f"user {printable(attempt['user_name'], 32)}"] if attempt["user_name"] else []
    known += [f"account {printable(attempt['account'], 32)}"] if attempt["account"] else []
    owner = f" ({', '.join(known)})" if known else ""
    return f"Attempt {whole(attempt['attempt_number'])} of job {printable(attempt['job_id'])}{owner}"


def lag_words(seconds: float) -> str:
    """Say when something was seen, from the end of the attempt.

    >>> lag_words(-54.2), lag_words(0.4), lag_words(2244.3), lag_words(-400000)
    ('54 s before the end', 'at the end', '37 min after the end', '5 days before the end')
    """
    amount = abs(seconds)
    if amount < 1:
        return "at the end"
    # A unit is used from 2 on.
    unit, size = max(
        ((name, size) for name, size in UNITS.items() if amount >= 2 * size or size == 1), key=itemgetter(1)
    )
    return f"{amount / size:.0f} {unit} {'before' if seconds < 0 else 'after'} the end"


def event_words(event: Row) -> str:
    """Describe one event: who saw it, when, where, and in which line.

    >>> seen = {"check_name": "xid", "node_name": "n7", "lag_seconds": -9.0, "message": "Xid 79", "source_path": None}
    >>> event_words(seen | {"source": "kernel"})
    'The kernel of n7 logged "Xid 79" 9 s before the end (an unknown file)'
    """
    where, when = printable(event["node_name"] or "an unknown node"), lag_words(event["lag_seconds"])
    check = printable(event["check_name"])
    said = f'"{printable((event["message"] or "no text").strip(), 160)}"'
    if check == "boot":
        seen = f"{where} booted {when}"
    elif event["source"] == "kernel":
        seen = f"The kernel of {where} logged {said} {when}"
    elif check == "node reason":
        seen = f"The reason {said} was given for {where} {when}"
    else:
        seen = f'The check "{check}" failed on {where} {when}: {said}'
    return f"{seen} ({line_of(event)})"


def entry_words(entry: Row) -> str:
    """Describe a row of `around`."""
    if entry["kind"] == "event":
        return event_words(entry)
    where, when = printable(entry["node_name"]), lag_words(entry["lag_seconds"])
    hours = None if entry["until_at"] is None else (entry["until_at"] - entry["observed_at"]).total_seconds() / 3600
    said = f'"{printable(entry["message"], 160)}"' if entry["message"] else "no reason given"
    if entry["kind"] == "ticket":
        until = "still open" if hours is None else f"closed after {duration(hours)}"
        opened = f"Ticket {printable(entry['source'], 24)} was opened for {where} {when}"
        return f"{opened}: {printable(entry['check_name'])}, {said}, {until} ({line_of(entry)})"
    until = "and has not come back" if hours is None else f"for {duration(hours)}"
    return f"Slurm set {where} {printable(entry['check_name'])} {when}, {until}: {said} ({line_of(entry)})"


def entries_words(around: Sequence[Row]) -> str:
    """Describe the most important rows of `around`, in the order of time."""
    return " ".join(f"{entry_words(entry)}." for entry in sorted(around[:MAX_ENTRIES], key=itemgetter("lag_seconds")))


def considered(failure: Row, evidence: Sequence[Row], where: str) -> str:
    """Describe the other evidence, and why it did not give the cause."""
    if not evidence:
        return "No critical sign of a fault lies in the window around the end."
    first, others = evidence[0], evidence[1:]
    fault = itemgetter("node_name", "probability")
    same, apart = ([e for e in others if (fault(e) == fault(first)) is is_same] for is_same in (True, False))
    texts = []
    if same:
        order = f" {printable(first['label'])} stands for it, because it comes first in the order of causes."
        is_one_cause = all(event["failure_category"] == first["failure_category"] for event in same)
        texts.append(
            f"{where} shows further signs, taken for the same fault: {_listed(same)}.{'' if is_one_cause else order}"
        )
    for (node_name, probability), events in grouped(apart, "node_name", "probability").items():
        chances = "" if probability is None else f" with probability {chance(probability)}"
        is_likelier = (probability or 0.0) > (first["probability"] or 0.0)
        why_not = "cluster.toml puts the other cause first" if is_likelier else "less likely"
        texts.append(f"{printable(node_name)} may have ended it{chances}, {why_not}: {_listed(events)}.")
    hidden = (failure["evidence_count"] or 0) - len(evidence)
    texts += [f"{plural(hidden, 'more event')} in marts.fct_failure_evidence."] if hidden > 0 else []
    return " ".join(texts) or "No other critical sign of a fault lies in the window around the end."


def _listed(events: Sequence[Row]) -> str:
    return "; ".join(
        f"{printable(event['label'])} ({printable(event['check_name'])}, {lag_words(event['lag_seconds'])})"
        for event in events
    )


def _what_happened(failure: Row, where: str) -> str:
    texts = [
        f"{_attempt(failure)} {run_words(failure)}.",
        f"It ended {failure['state']} at {moment(failure['failed_at'], seconds=True)} UTC.",
        f"Cause: {printable(failure['label'])}, on {where}.",
    ]
    if others := failure["incident_other_count"]:
        texts.append(f"The same incident ended {plural(others, 'other attempt')}.")
    return " ".join(texts)


def _why(failure: Row, evidence: Sequence[Row], around: Sequence[Row], cluster: Row) -> list[str]:
    texts = [f"{event_words(event)}." for event in evidence[:1]]
    if evidence and (failure["is_culprit_named"] or failure["state"] in {"NODE_FAIL", "BOOT_FAIL"}):
        texts.append("Slurm itself reports that a node failed, so it is certain that infrastructure ended the attempt.")
    elif evidence:
        texts.append(
            f"The probability that infrastructure ended the attempt is {chance(failure['posterior_probability'])}; "
            "otherwise the fault was there by coincidence."
        )
    elif not failure["is_attributed"]:
        texts += _without_evidence(failure, around, cluster)
    else:
        texts.append("Slurm itself says so.")
    return texts


def _without_evidence(failure: Row, around: Sequence[Row], cluster: Row) -> list[str]:
    """Describe what the tables show about a node that Slurm lost, and the likely reason."""
    texts = [entries_words(around)] if around else []
    outage: Row = next((entry for entry in around if entry["kind"] == "outage"), {})
    back_at = outage.get("until_at")
    boots = [entry for entry in around if entry["check_name"] == "boot"]
    if any(entry["lag_seconds"] <= 0 for entry in boots) or REBOOTED in (outage.get("message") or ""):
        texts.append("So the node restarted: it crashed, was reset or lost power, and logged nothing before.")
    elif any(back_at is None or entry["observed_at"] <= back_at for entry in boots):
        texts.append("So the node hung, or lost power or its network, until a boot brought it back.")
    elif back_at and outage["has_kernel_log"]:
        texts.append("Its kernel log has no boot around that time, which points to its network or slurmd.")
    if not texts:
        texts.append(f"{NOT_SEEN}: no table shows anything around the end.")
    missing = [name for column, name in LOGS.items() if not cluster[column]]
    if missing:
        texts.append(f"{sentence(', '.join(missing))[:-1]} could show more (docs/logs.md).")
    elif failure["has_coverage"] is False:
        texts.append("No health check ran there in those minutes, so the absence of failed checks proves nothing.")
    return texts


def _what_to_do(failure: Row, node: Row | None) -> str:
    step = NEXT_STEP.get(failure["failure_category"], "read the evidence by hand: no rule knows its cause")
    if node is None:
        return sentence(step)
    exclude, reason = exclude_option([node["node_name"]]), reason_to_avoid(node)
    return f"{advise(node)} It is {reason}: {exclude} keeps a job off it." if exclude and reason else advise(node)


def reason_to_avoid(node: Row) -> str:
    """Return why a job should not run on a node; empty if there is no reason."""
    if node["open_since"] is not None and not node["open_is_planned"]:
        return "out of service"
    return {"lemon": "a lemon", "watch": "on the list of nodes to watch"}.get(node["verdict"], "")
