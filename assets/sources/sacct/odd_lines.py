"""Repair odd lines of accounting: line breaks in names, delimiters in free text, quoted CSV.

They are few, so Python reads them one by one. A line with several readings, or none, is quarantined.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise, takewhile

from assets.sources.sacct.columns import FREE_TEXT
from assets.sources.sacct.layout import Layout, is_command_error
from assets.sources.sacct.values import STATES

_NAMED = r"(?:[A-Za-z0-9_.\-\[\],]+|None assigned|)"
_TIME = r"(?:\d{9,11}|\d{4}-\d\d-\d\dT\d\d:\d\d.*|Unknown|None|N/A|)"
_DURATION = r"(?:(?:\d+-)?\d+:\d\d(?::\d\d)?(?:\.\d+)?|INVALID|UNLIMITED|Partition_Limit|)"
_TRES = r"(?:[a-z][A-Za-z0-9/:_.\-]*=[^,|]*(?:,[a-z][A-Za-z0-9/:_.\-]*=[^,|]*)*|)"
_NUMBER = r"\d*"
_SHAPES = {
    "JobID": r"\d+[\d_+.\[\],%\-a-zA-Z*]*",
    "JobIDRaw": r"\d+(\.\w+)?",
    "State": rf"(?:{'|'.join(STATES)})(?: by \d+)?|[A-Z_]+\+",
    **dict.fromkeys(("Submit", "Eligible", "Start", "End"), _TIME),
    **dict.fromkeys(
        ("Elapsed", "Suspended", "Timelimit", "CPUTime", "Reserved", "ResvCPU", "SystemCPU", "TotalCPU", "UserCPU"),
        _DURATION,
    ),
    **dict.fromkeys(("ExitCode", "DerivedExitCode"), r"(?:\d+:\d+|)"),
    **dict.fromkeys(("AllocTRES", "ReqTRES"), _TRES),
    **dict.fromkeys(
        ("ElapsedRaw", "NNodes", "NCPUS", "AllocCPUS", "ReqCPUS", "UID", "GID", "DBIndex", "CPUTimeRAW", "QOSRAW",
         "AssocID", "Priority", "Restarts", "ConsumedEnergyRaw"),
        _NUMBER,
    ),
    **dict.fromkeys(("TimelimitRaw",), r"(?:\d+|UNLIMITED|Partition_Limit|)"),
    **dict.fromkeys(("AllocNodes", "ReqNodes", "ConsumedEnergy"), r"[\d.]*[KMGTP]?"),
    **dict.fromkeys(
        ("AveDiskRead", "AveDiskWrite", "AvePages", "AveRSS", "AveVMSize", "MaxDiskRead", "MaxDiskWrite", "MaxPages",
         "MaxRSS", "MaxVMSize"),
        r"[\d.]*[KMGTPE]?",
    ),
    **dict.fromkeys(("ReservationId", "WCKeyID"), r"[\d,*]*"),
    "NodeList": _NAMED,
    "WorkDir": r"(?:/.*|)",
    "ReqMem": r"[\d.]*[KMGTPE]?[nc]?\??",
    "Flags": r"[A-Za-z,]*",
    **dict.fromkeys(("Cluster", "User", "Account", "Partition", "QOS", "Group"), r"[^\s\[\]=]*"),
}  # fmt: skip
SHAPES = {name: re.compile(shape) for name, shape in _SHAPES.items()}
_TRES_COLUMNS = frozenset({"AllocTRES", "ReqTRES"})
_HOLD_COMMAS = frozenset({"AllocTRES", "ReqTRES", "NodeList", "Flags", "JobID", "QOS", "Partition"})
_LAST_COLUMN_MAY_BREAK = frozenset({"JobName", "Comment", "AdminComment", "SystemComment", "SubmitLine", "Extra"})
_MAX_READINGS = 20_000
_MAX_READINGS_OF_BATCH = 50_000
"""Most readings tried for all odd lines of a batch. If all lines of an export are odd, none can be repaired."""
_MAX_LINES = 200
_MAX_JOINS = 20
_MAX_TOKENS = 2_000
_MAX_JOIN = 256 * 1024


@dataclass(frozen=True)
class OddLine:
    """A line with another number of fields than its header."""

    file_id: int
    line_number: int
    line: str | None
    layout_id: int
    follows_record: bool
    """Whether the line before it is a whole record."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of an odd line: fields of a record, or a reason to skip or quarantine it."""

    file_id: int
    line_number: int
    layout_id: int
    fields: list[str] | None = None
    skipped: str | None = None
    quarantined: str | None = None
    detail: str | None = None


def fits(fields: Sequence[str], layout: Layout) -> bool:
    """Return whether every field with a known shape has that shape."""
    return all(
        SHAPES[name].fullmatch(value) is not None and (name not in _TRES_COLUMNS or _names_once(value))
        for name, value in zip(layout.columns, fields, strict=True)
        if name in SHAPES
    )


def _names_once(tres: str) -> bool:
    """Return whether a TRES text names every resource once; if not, it is two columns joined by a comma."""
    names = [item.partition("=")[0] for item in tres.split(",")]
    return len(names) == len(set(names))


def _merge(tokens: Sequence[str], widths: Sequence[int], delimiter: str) -> list[str]:
    fields, place = [], 0
    for width in widths:
        fields.append(delimiter.join(tokens[place : place + width]))
        place += width
    return fields


@dataclass
class Effort:
    """The number of readings of odd lines that may still be tried."""

    left: int = _MAX_READINGS_OF_BATCH


def repair(line: str, layout: Layout, effort: Effort | None = None) -> list[str] | None:
    """Return the fields of a line with surplus delimiters if only one way of splitting fits all other columns."""
    effort = effort or Effort()
    count = len(layout.columns)
    if layout.delimiter == "," and '"' in line:
        quoted = next(csv.reader([line]))
        if len(quoted) == count:
            return quoted
    tokens = line.split(layout.delimiter)
    excess = len(tokens) - count
    if excess <= 0 or len(tokens) > _MAX_TOKENS:
        return None
    wide_names = FREE_TEXT | (_HOLD_COMMAS if layout.delimiter == "," else frozenset())
    wide = [place for place, name in enumerate(layout.columns) if name in wide_names]
    if not wide or not _edges_fit(tokens, layout, wide):
        return None
    readings: dict[tuple[str, ...], list[str]] = {}
    for tried, bars in enumerate(combinations(range(excess + len(wide) - 1), len(wide) - 1)):
        effort.left -= 1
        if tried > _MAX_READINGS or effort.left < 0:
            return None
        edges = (-1, *bars, excess + len(wide) - 1)
        widths = [1] * count
        for place, (low, high) in zip(wide, pairwise(edges), strict=True):
            widths[place] += high - low - 1
        fields = _merge(tokens, widths, layout.delimiter)
        if fits(fields, layout):
            rest = tuple(value for place, value in enumerate(fields) if layout.columns[place] not in FREE_TEXT)
            readings.setdefault(rest, fields)
            if len(readings) > 1:
                return None
    return next(iter(readings.values()), None)


def _edges_fit(tokens: Sequence[str], layout: Layout, wide: Sequence[int]) -> bool:
    """Return whether the columns before the first and after the last elastic column fit, as no reading moves them."""
    right = len(layout.columns) - 1 - wide[-1]
    sides = [*zip(layout.columns[: wide[0]], tokens, strict=False)]
    if right:
        sides += zip(layout.columns[-right:], tokens[-right:], strict=True)
    return _all_fit(sides)


def above_header(line: OddLine) -> Outcome:
    """Return the outcome of a line above the first header of its file, or below a header that lacks columns."""
    known = (line.file_id, line.line_number, line.layout_id)
    text = line.line or ""
    if not text.strip():
        return Outcome(*known, skipped="blank")
    reason = "command_error_output" if is_command_error(text) else "no_header"
    return Outcome(*known, quarantined=reason, detail="no line above it names the columns that attempts need")


def _runs(lines: Iterable[OddLine]) -> Iterator[list[OddLine]]:
    """Yield groups of neighbouring odd lines of one file and layout; a line with too many fields is alone."""
    run: list[OddLine] = []
    for line in lines:
        last = run[-1] if run else None
        if last and (
            last.file_id != line.file_id
            or last.layout_id != line.layout_id
            or last.line_number + 1 != line.line_number
            or len(run) >= _MAX_LINES
        ):
            yield run
            run = []
        run.append(line)
    if run:
        yield run


def _all_fit(pairs: Iterable[tuple[str, str]]) -> bool:
    return all(SHAPES[name].fullmatch(value) is not None for name, value in pairs if name in SHAPES)


def _starts_record(line: OddLine, layout: Layout, effort: Effort) -> bool:
    """Return whether a line looks like a record of its own, whole or cut off, and so continues no other."""
    tokens = (line.line or "").split(layout.delimiter)
    whole = [*zip(layout.columns, tokens[:-1], strict=False)]
    left = [*takewhile(lambda pair: pair[0] not in FREE_TEXT, whole)]
    for pairs in (whole, left):
        if {"JobID", "JobIDRaw"} & {name for name, _ in pairs} and _all_fit(pairs):
            return True
    return len(tokens) >= len(layout.columns) and repair(line.line or "", layout, effort) is not None


def _join(run: Sequence[OddLine], start: int, layout: Layout, effort: Effort) -> tuple[int, list[str]] | None:
    """Join lines from `start` on until they make a record; return how many were used, and the fields."""
    first = (run[start].line or "").split(layout.delimiter)[:-1]
    if not _all_fit(zip(layout.columns, first, strict=False)):
        return None
    if (script := _join_script(run, start, layout, effort)) is not None:
        return script
    wanted, tries = len(layout.columns) - 1, 0
    found, length = (run[start].line or "").count(layout.delimiter), len(run[start].line or "")
    for end in range(start + 1, len(run)):
        length += len(run[end].line or "")
        if length > _MAX_JOIN:
            break
        if _starts_record(run[end], layout, effort):
            return None
        found += (run[end].line or "").count(layout.delimiter)
        if found < wanted:
            continue
        tries += 1
        if tries > _MAX_JOINS:
            break
        if fields := _fields_of(run[start : end + 1], layout, effort):
            return end - start + 1, fields
    return None


def _join_script(run: Sequence[OddLine], start: int, layout: Layout, effort: Effort) -> tuple[int, list[str]] | None:
    """Join a record that has a script in its submit line with all lines up to the next record.

    Pipes in the script may look like the delimiters of later columns, so the first lines may seem to make a record.
    """
    if "--wrap" not in (run[start].line or ""):
        return None
    lines = list(takewhile(lambda line: not _ends_script(line, layout, effort), run[start + 1 :]))
    while lines and not (lines[-1].line or "").strip():
        lines.pop()
    fields = _fields_of([run[start], *lines], layout, effort) if lines else None
    if not fields or ("\\n" in fields[-1] and _last_column(layout) not in _LAST_COLUMN_MAY_BREAK):
        return None
    return 1 + len(lines), fields


def _ends_script(line: OddLine, layout: Layout, effort: Effort) -> bool:
    return is_command_error(line.line or "") or _starts_record(line, layout, effort)


def _fields_of(lines: Sequence[OddLine], layout: Layout, effort: Effort) -> list[str] | None:
    """Return the fields of lines that may be one record; None if they are not."""
    text = "\\n".join(line.line or "" for line in lines)
    if len(text) > _MAX_JOIN:
        return None
    fields = text.split(layout.delimiter)
    if len(fields) != len(layout.columns):
        fields = repair(text, layout, effort) or []
    return fields if fields and fits(fields, layout) else None


def assemble(lines: Iterable[OddLine], layouts: Sequence[Layout]) -> Iterator[Outcome]:
    """Yield the outcome of every odd line, given in file order with blank lines among them.

    A record starts at a line that has too few fields and takes the odd lines after it until the count is right. The
    lines after it may hold the rest of its last column.
    """
    effort = Effort()
    for run in _runs(lines):
        layout = layouts[run[0].layout_id]
        place, follows_record = 0, run[0].follows_record
        while place < len(run):
            line = run[place]
            text = line.line or ""
            known = (line.file_id, line.line_number, line.layout_id)
            if not text.strip():
                yield Outcome(*known, skipped="blank")
            elif is_command_error(text):
                yield Outcome(*known, quarantined="command_error_output", detail=text[:200])
            elif text.count(layout.delimiter) >= len(layout.columns):
                fields = repair(text, layout, effort)
                follows_record = fields is not None
                yield Outcome(*known, fields=fields) if fields else _wrong_count(line, layout)
            elif (joined := _join(run, place, layout, effort)) is not None:
                used, fields = joined
                follows_record = True
                yield Outcome(*known, fields=fields)
                for follower in run[place + 1 : place + used]:
                    yield Outcome(follower.file_id, follower.line_number, follower.layout_id, skipped="continuation")
                place += used - 1
            elif follows_record and _continues_last_column(text, layout):
                yield Outcome(*known, skipped="continuation")
            else:
                follows_record = False
                yield _wrong_count(line, layout)
            place += 1


def _continues_last_column(text: str, layout: Layout) -> bool:
    """Return whether a line after a whole record can continue its last column, such as a script given by --wrap.

    It has no or few delimiters (a shell's pipes), and does not begin like a record.
    """
    tokens = text.split(layout.delimiter)
    return _last_column(layout) in _LAST_COLUMN_MAY_BREAK and (
        len(tokens) == 1
        or (len(tokens) <= len(layout.columns) // 2 and not _all_fit(zip(layout.columns, tokens[:-1], strict=False)))
    )


def _last_column(layout: Layout) -> str:
    """Return the name of the last column; a header that ends with its delimiter has an empty column after it."""
    return layout.columns[-1] or layout.columns[-2]


def _wrong_count(line: OddLine, layout: Layout) -> Outcome:
    found, expected = (line.line or "").count(layout.delimiter) + 1, len(layout.columns)
    detail = f"{found} fields where the header names {expected}"
    return Outcome(line.file_id, line.line_number, line.layout_id, quarantined="field_count", detail=detail)
