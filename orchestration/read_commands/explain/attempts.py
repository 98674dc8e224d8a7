"""Why the attempts of a job ended: infrastructure failures in the words of the report, other ends by state."""

from __future__ import annotations

import duckdb

from assets.node_lists import exclude_option
from assets.report.explained.failures import (
    Part,
    entries_words,
    line_of,
    parts_of_failure,
    reason_to_avoid,
    run_words,
)
from assets.report.numbers import duration, moment, printable, share, short, words
from assets.report.queries import Row
from assets.report.wording import plural, span
from orchestration.read_commands.explain.answers import Answer
from orchestration.read_commands.explain.reading import Reader
from orchestration.read_commands.explain.subjects import Subject

ATTEMPTS = """
    select
        attempts.*, preemptions.instigator_attempt_id, preemptions.instigator_rule, preemptions.is_inferred,
        preemptions.lost_gpu_hours, instigators.job_id as instigator_job_id,
        instigators.user_name as instigator_user_name
    from marts.fct_attempts as attempts
    left join marts.fct_preemptions as preemptions using (cluster_id, attempt_id)
    left join marts.fct_attempts as instigators
        on
            attempts.cluster_id = instigators.cluster_id
            and preemptions.instigator_attempt_id = instigators.attempt_id
    where attempts.cluster_id = $cluster and list_contains($attempts, attempts.attempt_id)
    order by attempts.submitted_at, attempts.attempt_number
"""
OF_JOB = """
    select attempts.attempt_id
    from marts.fct_attempts as attempts
    inner join marts.fct_attempts as named using (cluster_id, run_id, job_id)
    where cluster_id = $cluster and named.attempt_id = $key
"""
VICTIMS = """
    select attempts.job_id, attempts.gpu_count, preemptions.is_inferred, preemptions.lost_gpu_hours
    from marts.fct_preemptions as preemptions
    inner join marts.fct_attempts as attempts using (cluster_id, attempt_id)
    where cluster_id = $cluster and list_contains($attempts, preemptions.instigator_attempt_id)
    order by preemptions.preempted_at, attempts.job_id
"""
RUN = """
    select runs.* from marts.fct_job_runs as runs
    inner join marts.fct_attempts as attempts using (cluster_id, run_id)
    where cluster_id = $cluster and attempts.attempt_id = $key
"""
REACH = """
    select * from estimates.est_evidence_reach
    where cluster_id = $cluster and month_date is null and reach is not null and has_enough_data
"""
SUSPECTS = """
    select suspects.* from estimates.est_hidden_failures as suspects
    inner join marts.fct_attempt_nodes as nodes using (cluster_id, node_id)
    where
        cluster_id = $cluster and nodes.attempt_id = $attempt
        and suspects.is_suspect and suspects.has_enough_data and suspects.kind = $kind
"""
SIGHT = """
    select count(distinct nodes.node_id) as node_count, count(distinct sight.node_id) as seen_count
    from marts.fct_attempt_nodes as nodes
    left join ops.sight as sight
        on
            nodes.cluster_id = sight.cluster_id
            and nodes.node_id = sight.node_id
            and sight.day_date = cast($ended_at as date)
    where nodes.cluster_id = $cluster and nodes.attempt_id = $attempt
"""
END_BY_STATE = {
    "COMPLETED": "It ended by itself.",
    "TIMEOUT": "It reached its time limit of {limit}.",
    "DEADLINE": "It could not end before its deadline.",
    "OUT_OF_MEMORY": "Slurm ended it because it used more memory than it had asked for.",
    "REQUEUED": "It was put back into the queue.",
    "RESIZING": "It went on with other nodes: this is the part before its size changed.",
    "RUNNING": "It still runs in the latest data.",
    "PENDING": "It waits in the latest data.",
}
NO_FAULT = {
    "planned": "Planned work took a node of it out of service",
    "capacity": "The cloud could not give the machine of a node of it, or took it back",
}
MAY_HIDE_FAULTS = {"FAILED", "CANCELLED", "TIMEOUT", "OUT_OF_MEMORY"}
"""States that a fault of a node may have caused, without proof."""
EARLY_SECONDS = 300
"""A job that fails sooner has failed early, as in est_hidden_failures."""
MAX_SHOWN = 20
UNJUDGED = (None, "not enough data")
"""Verdicts on nodes that the data cannot judge."""


def explain_failure(con: duckdb.DuckDBPyConnection, subject: Subject) -> Answer:
    """Explain an attempt that infrastructure failed."""
    reader = Reader(con, subject.cluster_id)
    return _attempt(reader, reader.ask(ATTEMPTS, attempts=[subject.key])[0])


def explain_job(con: duckdb.DuckDBPyConnection, subject: Subject) -> Answer:
    """Explain a job by its attempts, with its cost and the jobs that were preempted for it."""
    reader = Reader(con, subject.cluster_id)
    keys = [row["attempt_id"] for row in reader.ask(OF_JOB, key=subject.key)]
    attempts = reader.ask(ATTEMPTS, attempts=keys)
    run = reader.ask(RUN, key=subject.key)[0]
    victims = reader.ask(VICTIMS, attempts=keys)
    shown = [_attempt(reader, attempt) for attempt in attempts[-MAX_SHOWN:]]
    failed = [row for answer in shown for row in answer.rows.get("failures", [])]
    parts = [("In short", _in_short(attempts, run))]
    if victims:
        losses = [row["lost_gpu_hours"] for row in victims]
        jobs = ", ".join(dict.fromkeys(printable(row["job_id"]) for row in victims[:10]))
        said = f"{plural(len(victims), 'attempt')} of other jobs, preempted for it: {jobs}"
        more = f" and {len(victims) - 10} more" if len(victims) > 10 else ""
        parts.append(("Who made room for it", f"{said}{more}. {_lost_by(losses)}"))
    parts += [("What to do", _what_to_do(reader, failed))] if failed else []
    if len(attempts) > len(shown):
        parts.append(("Not shown", f"{plural(len(attempts) - len(shown), 'earlier attempt')}"))
    title = f"Job {printable(attempts[0]['job_id'])} of {printable(subject.cluster_id)}"
    return Answer("job", title, parts, shown, {"runs": [run], "victims": victims})


def _in_short(attempts: list[Row], run: Row) -> str:
    texts = [f"{plural(len(attempts), 'attempt')}, the first submitted {moment(attempts[0]['submitted_at'])} UTC."]
    if run["job_count"] > 1:
        texts.append(
            f"It belongs to a run of {run['job_count']} jobs, {plural(run['attempt_count'], 'attempt')} in all."
        )
    failed, preempted = run["infrastructure_failure_count"], run["preemption_count"]
    is_one = run["attempt_count"] == 1
    said = [f"Infrastructure ended {'it' if is_one else f'{failed} of them'}."] if failed else []
    said += [f"{'It' if is_one else f'{preempted} of them'} made room for other jobs."] if preempted else []
    texts += said
    if run["lost_gpu_hours"]:
        texts.append(f"Infrastructure cost it {short(run['lost_gpu_hours'])} GPU-hours of work.")
    if said and run["ettr"] is not None:
        spent = duration(run["wallclock_hours"])
        texts.append(f"Of {spent} in the queue and at work, {share(run['ettr'])} were productive (ETTR).")
    return " ".join(texts)


def _lost_by(losses: list[float | None]) -> str:
    """Return what victims lost, in words.

    >>> _lost_by([1.0, 2.5]), _lost_by([1.0, None]), _lost_by([None])
    ('They lost 3.50 GPU-hours.', 'They lost at least 1.00 GPU-hours: of 1 attempt the loss is unknown.', \
'How many GPU-hours they lost is unknown.')
    """
    known = [lost for lost in losses if lost is not None]
    if not known:
        return "How many GPU-hours they lost is unknown."
    unknown = len(losses) - len(known)
    least, rest = ("at least ", f": of {plural(unknown, 'attempt')} the loss is unknown") if unknown else ("", "")
    return f"They lost {least}{short(sum(known))} GPU-hours{rest}."


def _what_to_do(reader: Reader, failed: list[Row]) -> str:
    nodes = [reader.node(node_id) for node_id in dict.fromkeys(row["culprit_node_id"] for row in failed) if node_id]
    bad = {node["node_name"]: reason for node in nodes if (reason := reason_to_avoid(node))}
    if exclude := exclude_option(list(bad)):
        reasons = ", ".join(f"{printable(name)} is {reason}" for name, reason in bad.items())
        return f"Submit it with {exclude}: {reasons}."
    if unknown := [printable(node["node_name"]) for node in nodes if node["verdict"] in UNJUDGED]:
        return f"Whether to leave out {', '.join(unknown)} is unknown: too little data."
    if nodes:
        return "No node needs to be left out: none that failed it fails more often than others, or is out of service."
    return "No node is known to have failed it."


def _attempt(reader: Reader, attempt: Row) -> Answer:
    failures = reader.report_rows("failures", attempt_id=attempt["attempt_id"])
    around = reader.around(attempt["attempt_id"]) if failures or attempt["state"] in MAY_HIDE_FAULTS else []
    title = f"Attempt {attempt['attempt_number']} of job {printable(attempt['job_id'])}: {attempt['state']}"
    if failures:
        evidence = reader.report_rows("evidence", attempt_id=attempt["attempt_id"])
        failure, culprit = failures[0], failures[0]["culprit_node_id"]
        node = reader.node(culprit) if culprit else None
        parts = parts_of_failure(failure, evidence, around, node, reader.cluster)
        # Without evidence, the reasons already say what was seen.
        parts[3:3] = _seen(around) if failure["is_attributed"] else []
        parts += reader.answers_about(failure, evidence)
        return Answer("failure", title, parts, rows={"failures": failures, "evidence": evidence, "around": around})
    until = f"until {moment(attempt['ended_at'], seconds=True)} UTC" if attempt["has_ended"] else "and has not ended"
    parts = [
        ("What happened", f"It {run_words(attempt)}, {until}."),
        ("Why", _why(reader, attempt)),
        *_seen(around, " None of it counts as evidence that a fault ended the attempt."),
        ("Accounting", line_of(attempt)),
    ]
    return Answer("attempt", title, parts, rows={"attempts": [attempt], "around": around})


def _seen(around: list[Row], note: str = "") -> list[Part]:
    return [("Seen around the end", entries_words(around) + note)] if around else []


def _why(reader: Reader, attempt: Row) -> str:
    if attempt["end_reason"]:
        return f"{NO_FAULT[attempt['end_reason']]}, and no fault left evidence: it counts as no failure."
    explain = {"CANCELLED": _cancelled, "FAILED": _failed}.get(attempt["state"], _by_state)
    # A preempted attempt may have the state REQUEUED.
    return " ".join((_preempted if attempt["instigator_rule"] else explain)(reader, attempt))


def _by_state(reader: Reader, attempt: Row) -> list[str]:
    limit = attempt["time_limit_seconds"]
    said = END_BY_STATE.get(attempt["state"], f"Slurm records it as {attempt['state']}.")
    texts = [said.format(limit="unknown length" if limit is None else duration(limit / 3600))]
    if attempt["state"] == "PENDING" and attempt["pending_reason"]:
        texts.append(f"Slurm gives the reason {printable(attempt['pending_reason'])}.")
    return texts + _suspects(reader, attempt)


def _preempted(_: Reader, attempt: Row) -> list[str]:
    if attempt["instigator_attempt_id"] is None:
        return ["It had to make room for another job, and no log says for which."]
    user = f" of user {printable(attempt['instigator_user_name'])}" if attempt["instigator_user_name"] else ""
    how = "which started on its nodes right after" if attempt["is_inferred"] else "which slurmctld.log names"
    lost = f" It lost {short(attempt['lost_gpu_hours'])} GPU-hours."
    return [f"It had to make room for job {printable(attempt['instigator_job_id'])}{user}, {how}.{lost}"]


def _cancelled(_: Reader, attempt: Row) -> list[str]:
    uid = attempt["cancelled_by_uid"]
    who = {None: "Somebody whom accounting does not name", 0: "Root"}.get(uid, f"User number {uid}")
    return [f"{who} cancelled it{'' if attempt['started_at'] else ' before it started'}."]


def _failed(reader: Reader, attempt: Row) -> list[str]:
    code, signal = attempt["exit_code"], attempt["exit_signal"]
    ended = "Its batch script ended" + (" with an unknown exit code" if code is None else f" with exit code {code}")
    texts = [f"{ended}, killed by signal {signal}." if signal else f"{ended}."]
    (sight,) = reader.ask(SIGHT, attempt=attempt["attempt_id"], ended_at=attempt["ended_at"])
    count, unseen = sight["node_count"], sight["node_count"] - sight["seen_count"]
    if not sight["seen_count"]:
        why = "No log of its nodes covers the day of its end" if count else "Accounting names no node of it"
        return [*texts, f"{why}, so whether a node failed is unknown (docs/logs.md).", *_suspects(reader, attempt)]
    if unseen:
        texts.append(
            f"No log covers {unseen} of its {count} nodes on the day of its end, so whether one of these failed is "
            "unknown. No other shows a critical fault around the end."
        )
    else:
        texts.append("No node of it shows a critical fault around the end, so it counts as a failure of the program.")
    for reach in reader.ask(REACH):
        limits = f"{share(reach['low'])} to {share(reach['high'])}"
        texts.append(f"Logs of this cluster show {share(reach['reach'])} of what infrastructure ends ({limits}).")
    return texts + _suspects(reader, attempt)


def _suspects(reader: Reader, attempt: Row) -> list[str]:
    seconds = attempt["runtime_seconds"]
    has_failed_early = attempt["state"] == "FAILED" and seconds is not None and seconds < EARLY_SECONDS
    kind = "failed_early" if has_failed_early else "timeout" if attempt["state"] == "TIMEOUT" else None
    return [
        f"Its node {printable(row['node_id'])} is a suspect: the same users' jobs end so ({words(row['kind'])}) with "
        f"{short(row['odds_ratio'])} times the odds that they have elsewhere ({span(row['low'], row['high'])})."
        for row in reader.rows_if_there(SUSPECTS, "est_hidden_failures", attempt=attempt["attempt_id"], kind=kind)
    ]
