"""The header of an accounting export: which columns in which order, which delimiter, and why a file is refused."""

from __future__ import annotations

import re
from dataclasses import dataclass

from assets.log_kinds import export_again
from assets.sources.errors import SourceError
from assets.sources.sacct.columns import FIELDS, REQUIRED
from assets.sources.settings import ClusterSettings

DELIMITERS = {"|#": "pipe_hash", "|": "pipe", "\x1f": "unit_separator", ";": "semicolon", "\t": "tab", ",": "comma"}
"""Delimiters tried on a header in this order, and the dialect each makes."""
CONFIGURED = "configured_columns"
DIALECTS = (*DELIMITERS.values(), CONFIGURED)

GOOD_EXPORT = export_again("sacct")
_FIELD_NAME = re.compile(r"[A-Za-z]+")
_ERROR = re.compile(r"(sacct|slurm\w*|srun): (error|fatal)|slurm accounting storage is disabled|.*invalid field", re.I)
_HEADER_SEARCH_LINES = 50


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
    """Refuse a layout that cannot give attempts."""
    missing = missing_columns(layout)
    if missing:
        raise SourceError(path, f"missing_columns: {', '.join(missing)} not among the columns", GOOD_EXPORT)


def detect(sample: str, path: str, cluster: ClusterSettings) -> str:
    """Name the dialect of an accounting export, or refuse it.

    Raises
    ------
    SourceError
        no_header, missing_columns, fixed_width_output, command_error_output or unsupported_schema.
    """
    lines = [line.rstrip("\r") for line in sample.split("\n")]
    filled = [line for line in lines if line.strip()]
    for line in filled[:_HEADER_SEARCH_LINES]:
        layout = header_layout(line)
        if layout is not None:
            require_columns(layout, path)
            return DELIMITERS[layout.delimiter]
    first = filled[0] if filled else ""
    if any(re.fullmatch(r"\s*-+(\s+-+)+\s*", line) for line in filled[1:3]):
        raise SourceError(
            path, "fixed_width_output: printed as a table, which cuts values off", f"{GOOD_EXPORT} (-P matters)"
        )
    if is_command_error(first):
        raise SourceError(path, f"command_error_output: holds sacct's error message ({first[:120]})", GOOD_EXPORT)
    if first.lstrip()[:1] in {"{", "["}:
        raise SourceError(path, "unsupported_schema: accounting as JSON is not read", GOOD_EXPORT)
    configured = configured_layout(cluster)
    if configured is not None:
        require_columns(configured, f"{cluster.cluster_id}/cluster.toml")
        return CONFIGURED
    raise SourceError(
        path,
        "no_header: the first line does not name the columns",
        f"Export again without --noheader, or name them in {cluster.cluster_id}/cluster.toml: "
        '[sacct] columns = ["JobID", "JobIDRaw", ...]',
    )
