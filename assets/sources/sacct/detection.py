"""The dialect of an accounting file, or why it is refused, with the command or settings that help."""

from __future__ import annotations

import json
import re
from collections import Counter

from assets.sources.errors import SourceError
from assets.sources.other_forms import begins_json, recognised
from assets.sources.reader import SAMPLE_CHARACTERS
from assets.sources.sacct.layout import (
    CONFIGURED,
    DELIMITERS,
    GOOD_EXPORT,
    configured_layout,
    header_layout,
    is_command_error,
    require_columns,
    spoiled_header,
)
from assets.sources.settings import ClusterSettings

DIALECTS = (*DELIMITERS.values(), CONFIGURED)
_HEADER_SEARCH_LINES = 50

_XDMOD = (
    "JobID JobIDRaw Cluster Partition QOS Account Group GID User UID Submit Eligible Start End Elapsed ExitCode State "
    "NNodes NCPUS ReqCPUS ReqMem ReqTRES AllocTRES Timelimit NodeList JobName"
)
XDMOD = _XDMOD.split()
"""The columns that Open XDMoD exports with sacct, without a header and in UTC."""
_XDMOD_RECORD = re.compile(
    r"^\d+[^|]*\|\d+\|[^|]*\|(?:[^|]*\|){7}(?:\d{4}-\d\d-\d\dT[\d:]{8}|Unknown|None)\|(?:[^|]*\|){4}"
    r"\d+:\d+\|[A-Z_]{6,}[^|]*\|\d+\|"
)

CONTROLLER_JOB = re.compile(r'"job_state"\s*:')
"""Matches JSON of the controller's jobs, which are not accounting: the controller soon forgets them."""
ERROR = re.compile(r'"errors"\s*:\s*\[\s*\{')


def detect(sample: str, path: str, cluster: ClusterSettings) -> str:
    """Return the dialect of an accounting export, or refuse it.

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
    dialect = recognised("sacct", sample, cluster)
    if dialect is not None:
        return dialect
    if begins_json(sample):
        raise _json_refusal(sample, path)
    spoiled = spoiled_header(first)
    if spoiled is not None:
        require_columns(spoiled, path)
    configured = configured_layout(cluster)
    if configured is not None:
        require_columns(configured, f"{cluster.cluster_id}/cluster.toml")
        return CONFIGURED
    raise SourceError(path, "no_header: the first line does not name the columns", _naming_columns(filled, cluster))


def _json_refusal(sample: str, path: str) -> SourceError:
    """Return the refusal of JSON that is not accounting."""
    read_too = "sacct --json, slurmrestd's /slurmdb/.../jobs"
    if CONTROLLER_JOB.search(sample):
        return SourceError(
            path,
            "unsupported_schema: jobs as the controller has them, which forgets a job minutes after its end",
            f"Export the accounting: {read_too}, or {GOOD_EXPORT.removeprefix('Export again: ')}",
        )
    if ERROR.search(sample):
        return SourceError(path, f"command_error_output: {_error_in(sample)}", GOOD_EXPORT)
    return SourceError(
        path,
        "unsupported_schema: JSON in which no job of accounting begins",
        f"{GOOD_EXPORT}; {read_too} and GCM's sacct_publish are read too.",
    )


def _error_in(sample: str) -> str:
    """Return the messages of a document of errors, or its beginning."""
    try:
        errors = json.loads(sample)["errors"] if len(sample) < SAMPLE_CHARACTERS else []
        messages = [str(error.get("description") or error.get("error") or error) for error in errors]
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
        messages = []
    return "; ".join(messages)[:200] or "an answer of errors without jobs"


def _naming_columns(lines: list[str], cluster: ClusterSettings) -> str:
    """Return the lines of `cluster.toml` that would name the columns of a file without a header, if known."""
    shown = f"{cluster.cluster_id}/cluster.toml"
    if lines and sum(_XDMOD_RECORD.match(line) is not None for line in lines) > len(lines) / 2:
        return (
            f"Its {len(XDMOD)} fields look like those that Open XDMoD exports, in UTC. If they are, put these lines "
            f'into {shown}: timezone = "UTC" at its top, then [sacct] and below it columns = {json.dumps(XDMOD)}'
        )
    counts = {text: Counter(line.count(text) for line in lines[:_HEADER_SEARCH_LINES]) for text in DELIMITERS}
    regular = {text: count.most_common(1)[0] for text, count in counts.items() if count}
    delimiter = max(regular, key=lambda text: (regular[text][0] > 0, regular[text][1], len(text)), default="|")
    count = regular[delimiter][0] + 1 if regular.get(delimiter, (0, 0))[0] else 0
    option = "" if delimiter == "|" else f" and delimiter = {json.dumps(delimiter)}"
    number = f"the {count} columns" if count else "the columns"
    return (
        f"Export again without --noheader, or name {number} in their order in {shown}: [sacct] and below it "
        f'columns = ["JobID", "JobIDRaw", ...]{option if count else ""}'
    )
