"""Judge an answer of Slurm before it is kept: whole or cut off, an error in disguise, and what it tells of its window.

Slurm's commands may fail with exit status 0, an error on stderr and a part of the records. Such an answer is refused,
and so is one that ends in the middle of a line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from assets.log_kinds import DELIMITER, EVENT_COLUMNS
from assets.sources.sacct.values import OPEN_STATES
from orchestration.pull.failures import PullFailed
from orchestration.pull.host import Finished, last_line
from orchestration.pull.queries import Query

ERROR = re.compile(
    r"(?:sacct|sacctmgr|scontrol|squeue|slurm\w*|srun)\b.{0,60}?\b(?:error|fatal):|(?:error|fatal):"
    r"|slurm accounting storage is disabled|.*\bproblem (?:with|talking to) (?:query|the database)|.*invalid field",
    re.I,
)
"""Begins a line with which a command of Slurm says that it failed."""
NOTHING_FOUND = "Nothing found"
_RECORDS = {"inventory": re.compile("NodeName="), "squeue": re.compile(r"\d+\|")}
"""How a record begins in answers without a header."""
_BY_HAND = (
    "run the command by hand; if a login on that host prints a greeting (.bashrc, /etc/profile.d), let it do so on"
    " terminals only"
)
_JOB = re.compile(r"\d+(?:\.\w+)?")
_CHUNK = 1 << 20
MAX_PARSED_BYTES = 64 << 20
"""A larger document is judged by its two ends, the exit status and the length that was announced: parsing it would take
gigabytes of memory."""
_OVERLAP = 200
_JSON_ENDS = re.compile(rb'"end"\s*:\s*(?:\{[^{}]*?"number"\s*:\s*)?(\d+)')
_JSON_JOBS = re.compile(rb'"jobs"\s*:\s*\[')
_JSON_ERRORS = re.compile(rb'"errors"\s*:\s*\[\s*\{(.{0,2000})', re.S)


@dataclass
class Answer:
    """What an answer holds."""

    record_count: int = 0
    first_moment: int | None = None
    """The earliest moment in the window at which something ended (of node events: began or ended); None if nothing did.
    Seconds since 1970."""
    open_jobs: dict[str, int] = field(default_factory=dict)
    """Submission of the jobs that had started and not ended, by number."""
    ended_jobs: set[str] = field(default_factory=set)

    def note(self, query: Query, moment: int | None) -> None:
        """Count a record, and note when it ended if that lies in the window."""
        self.record_count += 1
        if moment is not None and query.window is not None and query.window.has(moment):
            self.first_moment = moment if self.first_moment is None else min(self.first_moment, moment)


def require_success(query: Query, finished: Finished, harmless: Sequence[str]) -> None:
    """Refuse an answer with a bad exit status, or with an error on stderr that is not known to be harmless."""
    allowed = [re.compile(pattern) for pattern in harmless]
    errors = [
        line.strip()
        for line in finished.errors.splitlines()
        if ERROR.match(line.strip()) and not any(pattern.search(line) for pattern in allowed)
    ]
    if finished.status == 0 and not errors:
        return
    said = errors[0] if errors else last_line(finished.errors)
    how = f"exit status {finished.status}" if finished.status else "exit status 0, but an error"
    raise PullFailed(f"{said} ({query.words[0]}, {how})", _next_step(said))


def _next_step(said: str) -> str:
    text = said.lower()
    if re.search(r"connect|database|slurmdbd|persist|connection|contact|timed out|zero bytes", text):
        return "see that slurmdbd and slurmctld run and answer (`sacctmgr list qos`, `scontrol ping`), then pull again"
    if re.search(r"too wide|range", text):
        return "the site limits queries (MaxQueryTimeRange); ask its administrator to allow windows of a day"
    if re.search(r"denied|permission|privilege", text):
        return "let this user read the accounting (AdminLevel=Operator, or PrivateData in slurmdbd.conf)"
    return "run the command by hand; if the answer is whole all the same, name the line in harmless_errors under [pull]"


def judge(query: Query, path: Path) -> Answer:
    """Look through an answer.

    Raises
    ------
    PullFailed
        It is cut off, or it is no answer to the query.
    """
    if path.suffix == ".json":
        return _judge_json(query, path)
    judged: dict[str, Callable[[Query, Iterator[str]], Answer]] = {"sacct": _judge_jobs, "events": _judge_events}
    with path.open(encoding="utf-8", errors="replace", newline="\n") as stream:
        return judged.get(query.kind, _judge_lines)(query, _whole_lines(query, stream))


def _whole_lines(query: Query, stream: Iterator[str]) -> Iterator[str]:
    """Yield the lines without their ends; refuse an error message as the first or last, and a last line without end."""
    line = "\n"
    for number, line in enumerate(stream):
        if number == 0 and ERROR.match(line):
            raise _refusal(query, f"{line.strip()} (instead of records)", _next_step(line))
        yield line.removesuffix("\n")
    if not line.endswith("\n"):
        raise _refusal(query, "its answer ends in the middle of a line", "pull again")
    if ERROR.match(line):
        raise _refusal(query, f"{line.strip()} (after a part of the records)", _next_step(line))


def _judge_jobs(query: Query, lines: Iterator[str]) -> Answer:
    answer, fields = Answer(), query.fields
    _require_header(query, next(lines, ""), fields, DELIMITER)
    job, state, submit, start, end = (fields.index(name) for name in ("JobIDRaw", "State", "Submit", "Start", "End"))
    enough = max(job, state, submit, start, end)
    for line in lines:
        values = line.split(DELIMITER)
        # The rest of a name with a line break in it is no record.
        if len(values) <= enough or _JOB.fullmatch(values[job]) is None:
            continue
        ended_at = _epoch(values[end])
        answer.note(query, ended_at)
        submitted_at = _epoch(values[submit])
        # A requeue submits a job anew: its number alone would take one attempt for another.
        attempt = f"{values[job]} {submitted_at}"
        if ended_at is not None:
            answer.ended_jobs.add(attempt)
        elif submitted_at and _epoch(values[start]) and values[state].partition(" ")[0] in OPEN_STATES:
            answer.open_jobs[attempt] = submitted_at
    return answer


def _judge_events(query: Query, lines: Iterator[str]) -> Answer:
    answer = Answer()
    _require_header(query, next(lines, ""), EVENT_COLUMNS, "|")
    for line in lines:
        values = line.split("|")
        # What concerns no node, such as a change of the number of nodes, is no outage.
        if len(values) < len(EVENT_COLUMNS) or not values[1]:
            continue
        started_at, ended_at = _epoch(values[2]), _epoch(values[3])
        is_inside = started_at is not None and query.window is not None and query.window.has(started_at)
        answer.note(query, started_at if is_inside else ended_at)
    return answer


def _judge_lines(query: Query, lines: Iterator[str]) -> Answer:
    answer = Answer()
    for line in lines:
        # With -M, Slurm names the cluster first.
        if not line.strip() or line.startswith("CLUSTER:"):
            continue
        if not answer.record_count and not _RECORDS[query.kind].match(line):
            raise _refusal(query, f"its first line is no record but {line[:120]!r}", _BY_HAND)
        answer.note(query, None)
    if query.kind == "inventory" and not answer.record_count:
        raise _refusal(query, "it lists no node", "run the command by hand")
    return answer


def _judge_json(query: Query, path: Path) -> Answer:
    """Look through a document by pieces: one of a busy day may have gigabytes."""
    answer, has_jobs, rest = Answer(), False, b""
    first = last = b""
    with path.open("rb") as stream:
        while piece := stream.read(_CHUNK):
            first, last = first or piece.lstrip()[:1], (piece.rstrip() or last)[-1:]
            text = rest + piece
            if found := _JSON_ERRORS.search(text):
                said = " ".join(found[1].decode("utf-8", errors="replace").split())[:200]
                # Slurm 22.05 calls an empty window an error.
                if NOTHING_FOUND not in said:
                    raise _refusal(query, f"the document reports an error: {said}", _next_step(said))
            has_jobs = has_jobs or _JSON_JOBS.search(text) is not None
            # A match that touches the end may go on in the next piece.
            seen_to = 0
            for match in _JSON_ENDS.finditer(text):
                if match.end() < len(text):
                    answer.note(query, int(match[1]) or None)
                    seen_to = match.end()
            rest = text[max(seen_to, len(text) - _OVERLAP) :]
    if not has_jobs:
        raise _refusal(query, "it gave no document with jobs", 'this Slurm may have no --json; use via = "text"')
    if (first, last) != (b"{", b"}") or (path.stat().st_size <= MAX_PARSED_BYTES and not _is_json(path)):
        raise _refusal(query, "its document is cut off", "pull again")
    return answer


def _is_json(path: Path) -> bool:
    try:
        json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return False
    return True


def _require_header(query: Query, line: str, fields: Sequence[str], delimiter: str) -> None:
    if line.split(delimiter) != list(fields):
        raise _refusal(query, f"its first line is not the header but {line[:120]!r}", _BY_HAND)


def _refusal(query: Query, what: str, next_step: str) -> PullFailed:
    return PullFailed(f"{query.words[0]}: {what}", next_step)


def _epoch(text: str) -> int | None:
    return int(text) if text.isdecimal() and int(text) > 0 else None
