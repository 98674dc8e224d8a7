"""The contract between the loading core and the format readers.

A reader is a module with the names of `Reader`. The core opens a transaction, puts the files of one kind and one
cluster into the tables of `batch_tables`, runs the `ReadingPlan` that the reader returns, and moves the results
into `raw` and `ops`. A reader makes other temp tables with `create or replace temp table`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import duckdb

if TYPE_CHECKING:
    from assets.sources.settings import ClusterSettings

Step = str | Callable[[duckdb.DuckDBPyConnection], None]
"""One SQL statement, or a function of the connection if Python has to look at distinct values."""

CORE_VERSION = 5
"""Increase it when the loading core gives other results for the same file, whatever the reader."""

SAMPLE_CHARACTERS = 65536
FIRST_CHARACTERS = 8192
"""Usually enough to recognise a log's form; patterns over the whole samples of thousands of files take long."""


def prevailing(shapes: Mapping[str, str], sample: str) -> str | None:
    r"""Return the name of the pattern that fits most lines at the beginning of a sample, else most of all lines.

    >>> prevailing({"digits": r"^\d+$", "letters": "^[a-z]+$"}, "12\nab\ncd\n")
    'letters'
    """
    for text in (sample[:FIRST_CHARACTERS], sample):
        counts = {name: sum(1 for _ in re.finditer(shape, text, re.M)) for name, shape in shapes.items()}
        name = max(counts, key=lambda name: counts[name])
        if counts[name]:
            return name
    return None


@dataclass(frozen=True)
class SourceFile:
    """One file of the folder, inspected but not yet read."""

    cluster_id: str
    kind: str
    path: str
    """Relative to the sources folder, with forward slashes."""
    absolute: Path
    size_bytes: int
    modified_at: datetime
    sha256: str = ""
    dialect: str = ""
    is_plain: bool = False
    """Whether DuckDB can read it in place; otherwise a clean copy is made first."""
    last_line_open: bool = False

    @property
    def key(self) -> tuple[str, str]:
        """The key of the file in `ops.files`."""
        return self.cluster_id, self.path


@dataclass(frozen=True)
class Batch:
    """Facts about a batch that a reader gets before it plans its reading."""

    cluster: ClusterSettings
    dialects: frozenset[str] = field(default_factory=frozenset)


@dataclass(frozen=True)
class ReadingPlan:
    """Statements that turn the lines of a batch into rows.

    Every line must be in exactly one of the three outcomes. A line may give several loaded rows.
    """

    prepare: Sequence[Step]
    """Run first, in this order."""
    loaded: str
    """Query of the rows: file_id, line_number and columns of the raw table, without cluster_id, path, disposition and
    node_id, which the core derives from node_name. A missing column is NULL. The query runs once."""
    skipped: str
    """Query of `batch_tables.SKIPPED_LINES`."""
    quarantined: str
    """Query of `batch_tables.QUARANTINED_LINES`. A last line without a newline becomes `truncated_record`, whatever the
    reason."""
    after_keeping: Sequence[Step] = ()
    """Run when the rows are in raw and their lines in `loaded_lines`, before the other two queries."""


@dataclass(frozen=True)
class Export:
    """How to compare records of exports."""

    key: tuple[str, ...]
    """Columns that are equal for records of the same thing."""
    is_same: str = "true"
    """A condition on an `older` and a `newer` record of the same thing."""
    is_open: str = "false"
    """A condition for records of something that had not ended."""
    logs: str = "''"
    """Dialects that are logs and not exports of a span."""


@dataclass(frozen=True)
class Rows:
    """Properties of the rows of a raw table that the core uses."""

    time: str | None
    """Column of the time of the event; None for rows that are not about an event."""
    free_texts: tuple[str, ...]
    """Columns of free text by people and programs. The core masks secrets in them before they are stored, so that
    nothing built from them has to."""
    are_of_moments: bool = False
    """Whether they describe the state at the moment when the file was written."""
    are_sampled: bool = False
    """Whether the reader looks at few lines of a log: then `sampled_lines` show whether the log is understood."""
    come_from_nodes: bool = False
    """Whether they come from the nodes that they name. A controller also names nodes that it cannot reach."""
    may_lack_years: bool = False
    """Whether the table has `dated_by_file_at`, from which the time of a row is settled."""
    export: Export | None = None
    """Set if the files are exports of a span of time."""
    why_ruled_out: str = "string_agg(distinct node_name, ', ')"
    """An aggregate over the rows of a line that says why all logs together rule them out."""


class Reader(Protocol):
    """The interface of a format module; constants are properties here so that a module may narrow their types."""

    @property
    def KIND(self) -> str:
        """Name of the folder, or `manifest`, as manifests lie next to any file."""

    @property
    def TABLE(self) -> str:
        """Name of the raw table, without the schema."""

    @property
    def DIALECTS(self) -> tuple[str, ...]:
        """All names that `detect` may return, except those of translated forms."""

    @property
    def VERSION(self) -> int | str:
        """Increase it when the same bytes give other rows; files read by another version are read again."""

    @property
    def PRIVACY(self) -> Mapping[str, str]:
        """What every text of the raw table holds, in the terms of `pseudonyms`, except the `COMMON` columns."""

    @property
    def ROWS(self) -> Rows:
        """Properties of the rows of the raw table."""

    @property
    def COVERS(self) -> tuple[str, str]:
        """SQL aggregates over a file's rows: the first and the last moment that the file covers.

        Never a time that rests on the file's modification. The columns of `batch_files` are available with the rows.
        """

    def detect(self, sample: str, path: str, cluster: ClusterSettings) -> str:
        """Return the dialect, from the first `SAMPLE_CHARACTERS` of a file; raise `SourceError` to refuse the file.

        The first token of `SourceError.what` is the reason: no_header, command_error_output, fixed_width_output,
        unsupported_schema, then a colon and the explanation.
        """

    def plan_reading(self, batch: Batch) -> ReadingPlan:
        """Return the plan that turns `lines` into rows, skipped lines and quarantined lines."""

    def dispositions(self) -> Sequence[Step]:
        """Return the steps that recompute `disposition` (and what depends on it) of the whole raw table.

        They run after all files are loaded, with `node_id` final. They do not touch rows with disposition
        `unknown_node`. Every other row becomes loaded, duplicate or coalesced by its content, or is ruled out by all
        logs together, never by the order of arrival.
        Update only rows that change (`where disposition is distinct from ...`).
        """


@dataclass(frozen=True)
class Copy:
    """A clean copy of a file's text, and how it differs."""

    path: Path
    is_cut: bool
    """Whether the end of the archive or JSON document is missing, so that the last line may be incomplete."""
    last_line_open: bool
    has_bad_bytes: bool
    """Whether bytes that are not UTF-8 were replaced, or NULs removed."""
    has_cut_lines: bool
    """Whether lines that are too long were cut off; these end with `lines.MARK`."""
    text_sha256: str | None = None
    text_bytes: int | None = None
    """Size of the text in an archive."""


@runtime_checkable
class TimedReader(Protocol):
    """A reader whose rows may take their time from the file; such a file is read again when its time changes."""

    def is_timed_by_modification(self, path: str, dialect: str) -> bool:
        """Return whether the rows of a file may depend on its time of modification."""


def reader_key(reader: Reader, cluster: ClusterSettings) -> str:
    """Return a key of the versions and settings that files are read with; when it changes, they are read again."""
    return f"{CORE_VERSION}.{reader.VERSION}:{cluster.reading_hash_of(reader.KIND)}"
