"""The header of an accounting export: which columns in which order, which delimiter, and which may be missing."""

from __future__ import annotations

import re
from dataclasses import dataclass

from assets.log_kinds import export_again
from assets.sources.errors import SourceError
from assets.sources.intake.read.clean_text import REPLACEMENT
from assets.sources.sacct.columns import FIELDS, REQUIRED
from assets.sources.settings import ClusterSettings

DELIMITERS = {"|#": "pipe_hash", "|": "pipe", "\x1f": "unit_separator", ";": "semicolon", "\t": "tab", ",": "comma"}
"""Delimiters tried on a header in this order, and the dialect each makes."""
CONFIGURED = "configured_columns"

MIN_KNOWN_NAMES = 2

GOOD_EXPORT = export_again("sacct")
_FIELD_NAME = re.compile(r"[A-Za-z]+")
_ERROR = re.compile(r"(sacct|slurm\w*|srun): (error|fatal)|slurm accounting storage is disabled|.*invalid field", re.I)


@dataclass(frozen=True)
class Layout:
    """Columns of a part of a file, in order; the last is empty when lines end with the delimiter (`sacct -p`)."""

    delimiter: str
    columns: tuple[str, ...]

    def places(self, field: str) -> list[int]:
        """Return the 1-based places of a column; exports may print one twice."""
        return [place for place, name in enumerate(self.columns, start=1) if name == field]


def is_command_error(line: str) -> bool:
    """Tell whether a line is what sacct prints when it fails."""
    return _ERROR.match(line) is not None


def header_layout(line: str) -> Layout | None:
    """Read a line as a header, or tell that it is none."""
    for delimiter in DELIMITERS:
        names = tuple(line.split(delimiter))
        if len(names) < 2 or not {"JobID", "JobIDRaw"} & set(names) or "State" not in names:
            continue
        if all(_FIELD_NAME.fullmatch(name) for name in names[:-1]) and (not names[-1] or names[-1].isalpha()):
            return Layout(delimiter, names)
    return None


def spoiled_header(line: str) -> Layout | None:
    """Read a line as a header with missing or damaged names; None if fewer than half of its fields are known."""
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
    """List the columns without which a layout cannot give attempts."""
    missing = [name for name in REQUIRED if name not in layout.columns]
    if not {"JobID", "JobIDRaw"} & set(layout.columns):
        missing.insert(0, "JobIDRaw")
    return missing


def require_columns(layout: Layout, path: str) -> None:
    """Refuse a layout that cannot give attempts, or in which the name of a column cannot be read."""
    missing = missing_columns(layout)
    spoiled = [name for name in layout.columns if REPLACEMENT in name]
    if not missing and not spoiled:
        return
    messages = [f"{', '.join(missing)} not among the columns"] if missing else []
    messages += [f"bytes that are no UTF-8 in {', '.join(spoiled)}"] if spoiled else []
    raise SourceError(path, f"missing_columns: {'; '.join(messages)}", GOOD_EXPORT)
