"""The agreement between the loading core and the format readers.

A reader is a module with the names of `Reader`. The core opens a transaction, puts the files of one kind and one
cluster into `lines` and `batch_files`, runs the reader's steps and moves what they leave into `raw` and `ops`.

Given to the steps (temp tables):

    lines(file_id integer, line_number bigint, line varchar)
        Physical lines, 1-based per file; CR and BOM stripped; a blank line is NULL.
    batch_files(file_id integer, cluster_id varchar, path varchar, dialect varchar, modified_at timestamp,
                timezone varchar, last_line_open boolean)
        A batch may mix the dialects of its kind. `last_line_open`: the file does not end with a newline.
    file_lines(file_id integer, lines_in bigint, last_line bigint)
        How many lines a file has, and the number of the last.
    file_warnings(file_id integer, warning varchar)
        Empty or nearly so; a reader may insert what is odd about a whole file (shown in ops.files.warnings).

    taken_files(file_id integer, line_count bigint)
        Files that a `WholeFileReader` has read before; their lines are not in `lines`.
    taken_lines(file_id integer, line_number bigint, line varchar)
        Empty: such a reader puts the lines there that it quarantines.
    counted_skips(file_id integer, reason varchar, line_count bigint)
        Empty: such a reader puts there how many lines of a file it has skipped without naming them in `skipped_lines`.
    stated_times(file_id integer, stated_at timestamp)
        Empty: a reader puts times there that lines state which it skips, at least the first and the last of a file.

Left by the steps (temp tables), every line not counted in exactly one of them, several loaded rows per line allowed:

    loaded_rows          file_id, line_number and the columns of the raw table without cluster_id, path, disposition
                         (a missing nullable column is NULL; leave node_id out, the core resolves it from node_name);
                         a view is fine, it is read once
    skipped_lines        file_id, line_number, reason
    quarantined_lines    file_id, line_number, reason, detail

The core moves `loaded_rows` into raw after the last step, or at the step `KEEP_ROWS`: the steps behind it find what was
kept in the raw table, and its lines in `loaded_lines(file_id, line_number)`.

A quarantined last line of a file with `last_line_open` becomes `truncated_record`: readers need not care.
Other temp tables of a reader are made with `create or replace temp table`.
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
"""One SQL statement, or a function of the connection where Python has to look at distinct values."""

KEEP_ROWS = "keep loaded_rows"
"""The step at which the core moves `loaded_rows` into raw, for readers that go on with what was kept."""

EDGE_LINES = """
select lines.file_id, lines.line_number, lines.line
from lines
join file_lines on file_lines.file_id = lines.file_id
where lines.line is not null and (lines.line_number <= 2 or lines.line_number > file_lines.last_line - 2)
"""
"""The first and last lines of each file, which a reader looks at for their times even where they say nothing else."""

CORE_VERSION = 3
"""Raised when the loading core says something else of the same file, whatever its reader."""

SAMPLE_CHARACTERS = 65536
FIRST_CHARACTERS = 8192
"""What mostly tells a log's form: a cluster has thousands of files, and patterns over whole samples take long."""


def prevailing(shapes: Mapping[str, str], sample: str) -> str | None:
    r"""Name the pattern that most lines at the beginning of a sample fit, of all its lines if none there fits any.

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
    """One file of the folder, looked at but not yet read."""

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
    """DuckDB can read it where it is; otherwise a clean copy is made first."""
    last_line_open: bool = False
    object_lines: int | None = None
    """Lines of a plain file of JSON objects, one a line; None for any other file."""

    @property
    def key(self) -> tuple[str, str]:
        """What names the file in `ops.files`."""
        return self.cluster_id, self.path


@dataclass(frozen=True)
class Batch:
    """What a reader may know beforehand about the files in `batch_files`."""

    cluster: ClusterSettings
    dialects: frozenset[str] = field(default_factory=frozenset)


class Reader(Protocol):
    """What a format module defines; the constants are properties here so that a module may narrow their types."""

    @property
    def KIND(self) -> str:
        """Folder name: sacct, health, kernel, events, slurmctld, inventory, squeue, tickets."""

    @property
    def TABLE(self) -> str:
        """Name of the raw table, without the schema."""

    @property
    def DIALECTS(self) -> tuple[str, ...]:
        """All names `detect` may return."""

    @property
    def VERSION(self) -> int:
        """Raised when the same bytes would give other rows; files read by another version are read again."""

    @property
    def COVERS(self) -> tuple[str, str]:
        """SQL aggregates of a file's rows of the raw table: the first and the last moment of which it tells.

        Never a time that rests on the file's modification. `batch_files` stands beside the rows.
        """

    def detect(self, sample: str, path: str, cluster: ClusterSettings) -> str:
        """Name the dialect from the first `SAMPLE_CHARACTERS` of a file, or raise `SourceError` to refuse the file.

        The first token of `SourceError.what` is the reason: no_header, command_error_output, fixed_width_output,
        unsupported_schema, then a colon and the explanation.
        """

    def statements(self, batch: Batch) -> Sequence[Step]:
        """Give the steps that turn `lines` into `loaded_rows`, `skipped_lines` and `quarantined_lines`."""

    def dispositions(self) -> Sequence[Step]:
        """Give the steps that recompute `disposition` (and what depends on it) of the whole raw table.

        They run after all files are loaded, with `node_id` final. Rows with disposition `unknown_node` are to be left
        alone; every other row becomes loaded, duplicate or coalesced by its content, never by the order of arrival.
        Update only rows that change (`where disposition is distinct from ...`).
        """


@runtime_checkable
class WholeFileReader(Protocol):
    """What a reader adds that can read some files faster than line by line."""

    def take(self, con: duckdb.DuckDBPyConnection, files: Mapping[int, SourceFile]) -> None:
        """Read what files it can, given by `file_id`, and put them into `taken_files(file_id, line_count)`.

        The lines of the others only are in `lines`; the reader's steps leave the outcomes of both, but for the lines
        that it counts in `counted_skips(file_id, reason, line_count)`.
        """


@runtime_checkable
class TimedReader(Protocol):
    """What a reader adds whose rows can tell when their file was modified: such a file is read again when touched."""

    def is_timed_by_modification(self, path: str, dialect: str) -> bool:
        """Tell whether the time of modification can show in the rows of a file."""


def reader_key(reader: Reader, cluster: ClusterSettings) -> str:
    """Name the versions and settings a file is read with; another name means reading again."""
    return f"{CORE_VERSION}.{reader.VERSION}:{cluster.reading_hash}"
