"""The header of an accounting export: its columns in order, its delimiter, and the columns that may be missing.

Queries of records give fields by place, `c1` and so on, NULL when empty. The SQL here names them by the header: one
text for each field that is read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from assets.log_kinds import export_again
from assets.sources.errors import SourceError
from assets.sources.intake.read.clean_text import REPLACEMENT
from assets.sources.sacct.columns import FIELDS, REQUIRED, TEXTS
from assets.sources.settings import ClusterSettings

DELIMITERS = {"|#": "pipe_hash", "|": "pipe", "\x1f": "unit_separator", ";": "semicolon", "\t": "tab", ",": "comma"}
"""Delimiters in the order in which they are tried on a header, and their dialects."""
CONFIGURED = "configured_columns"

MIN_KNOWN_NAMES = 2

GOOD_EXPORT = export_again("sacct")
_FIELD_NAME = re.compile(r"[A-Za-z]+")
_ERROR = re.compile(r"(sacct|slurm\w*|srun): (error|fatal)|slurm accounting storage is disabled|.*invalid field", re.I)


@dataclass(frozen=True)
class Layout:
    """Columns of a part of a file, in order; the last is empty if lines end with the delimiter (`sacct -p`)."""

    delimiter: str
    columns: tuple[str, ...]

    def places(self, field: str) -> list[int]:
        """Return the 1-based places of a column; exports may print a column twice."""
        return [place for place, name in enumerate(self.columns, start=1) if name == field]


def is_command_error(line: str) -> bool:
    """Return whether a line is an error message of sacct."""
    return _ERROR.match(line) is not None


def header_layout(line: str) -> Layout | None:
    """Return the layout of a header; None if the line is not a header."""
    for delimiter in DELIMITERS:
        names = tuple(line.split(delimiter))
        if len(names) < 2 or not {"JobID", "JobIDRaw"} & set(names) or "State" not in names:
            continue
        if all(_FIELD_NAME.fullmatch(name) for name in names[:-1]) and (not names[-1] or names[-1].isalpha()):
            return Layout(delimiter, names)
    return None


def spoiled_header(line: str) -> Layout | None:
    """Return the layout of a header with missing or damaged names; None if fewer than half of its fields are known."""
    for delimiter in DELIMITERS:
        names = tuple(line.split(delimiter))
        known = set(names) & set(FIELDS)
        if len(known) >= MIN_KNOWN_NAMES and 2 * len(known) >= len(names):
            return Layout(delimiter, names)
    return None


def configured_layout(cluster: ClusterSettings) -> Layout | None:
    """Return the layout of `[sacct] columns`, for exports made with --noheader."""
    settings = cluster.settings.sacct
    if not settings.columns:
        return None
    known = {name.lower(): name for name in FIELDS}
    return Layout(settings.delimiter, tuple(known.get(name.lower(), name) for name in settings.columns))


def missing_columns(layout: Layout) -> list[str]:
    """Return the columns that attempts need and a layout lacks."""
    missing = [name for name in REQUIRED if name not in layout.columns]
    if not {"JobID", "JobIDRaw"} & set(layout.columns):
        missing.insert(0, "JobIDRaw")
    return missing


def require_columns(layout: Layout, path: str) -> None:
    """Refuse a layout that lacks columns of attempts, or in which the name of a column cannot be read."""
    missing = missing_columns(layout)
    spoiled = [name for name in layout.columns if REPLACEMENT in name]
    if not missing and not spoiled:
        return
    messages = [f"{', '.join(missing)} not among the columns"] if missing else []
    messages += [f"bytes that are no UTF-8 in {', '.join(spoiled)}"] if spoiled else []
    raise SourceError(path, f"missing_columns: {'; '.join(messages)}", GOOD_EXPORT)


def places_of_list(layout: Layout) -> str:
    """Return SQL for the fields by place, from the list `f`."""
    return ", ".join(f"nullif(f[{place}], '') as c{place}" for place in range(1, len(layout.columns) + 1))


def field_expression(layout: Layout, name: str) -> str:
    """Return SQL for a column's text; NULL when it is empty or not exported."""
    places = layout.places(name)
    if not places:
        return "null::varchar"
    values = ", ".join(f"c{place}" for place in places)
    return values if len(places) == 1 else f"coalesce({values})"


def conflict_expression(layout: Layout) -> str:
    """Return SQL that is true if a column that is printed twice has two values."""
    tests = [
        f"coalesce(c{first} <> c{second}, false)"
        for name in FIELDS
        for first, second in zip(layout.places(name), layout.places(name)[1:], strict=False)
    ]
    return " or ".join(tests) or "false"


def outcome_expression(layout: Layout) -> str:
    """Return SQL for why a record is left out (a step or a pending placeholder); NULL for an attempt."""
    job = field_expression(layout, "JobID") if "JobID" in layout.columns else field_expression(layout, "JobIDRaw")
    return f"""case
        when (contains({job}, '[') or ends_with({job}, '_*')) and {field_expression(layout, "State")} = 'PENDING'
            then 'pending_array'
        when contains({job}, '.') then 'step'
    end"""


def texts_of(layout: Layout, source: str) -> str:
    """Return a query of the fields by name: the text that sacct printed, NULL when empty or not exported.

    Parameters
    ----------
    layout
        Columns in order.
    source
        A query of file_id, line_number, has_bad_bytes and the fields by place.
    """
    taken = ", ".join(f"{field_expression(layout, name)} as {TEXTS[name]}" for name in FIELDS)
    return f"""
        select
            file_id, line_number, has_bad_bytes, {conflict_expression(layout)} as has_conflict,
            {"NodeList" in layout.columns} as has_node_column, {outcome_expression(layout)} as left_out, {taken}
        from ({source})
    """


def no_texts() -> str:
    """Return a query of the same columns without a row."""
    return texts_of(
        Layout("", ()),
        "select null::integer as file_id, null::bigint as line_number, false as has_bad_bytes where false",
    )
