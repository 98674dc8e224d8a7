"""The temp tables that the loading core and a reader share for a batch, with their columns.

The core makes them from these declarations. A test checks the tables that each reader leaves against them.
"""

from __future__ import annotations

from assets.sources.temp_tables import TempTable

_PLACE = {"file_id": "integer", "line_number": "bigint"}

LINES = TempTable("lines", {**_PLACE, "line": "varchar"})
"""Given: physical lines, 1-based per file, without CR and BOM; a blank line is NULL. It is a view."""

BATCH_FILES = TempTable(
    "batch_files",
    {
        "file_id": "integer",
        "cluster_id": "varchar",
        "path": "varchar",
        "dialect": "varchar",
        "modified_at": "timestamp",
        "timezone": "varchar",
        "last_line_open": "boolean",
        "is_cut": "boolean",
        "sha256": "varchar",
        "size_bytes": "bigint",
        "text_sha256": "varchar",
        "text_bytes": "bigint",
    },
)
"""Given: the files, which may have several dialects of one kind. `last_line_open`: the file does not end with a
newline. `is_cut`: the end of the archive or JSON document is missing. `text_sha256`, `text_bytes`: of what an archive
holds."""

FILE_LINES = TempTable("file_lines", {"file_id": "integer", "lines_in": "bigint", "last_line": "bigint"})
"""Given: how many lines a file has, and the number of the last one."""

LOADED_LINES = TempTable("loaded_lines", _PLACE)
"""Given once the rows are in raw: the lines of these rows."""

FILE_WARNINGS = TempTable("file_warnings", {"file_id": "integer", "warning": "varchar"})
"""The reader adds to it: warnings about a whole file (`ops.files.warnings`)."""

SAMPLED_LINES = TempTable("sampled_lines", {**_PLACE, "line": "varchar", "weight": "integer"})
"""Given to readers that look at few lines: a sample of each file, and always its first and last two lines. A line
represents `weight` lines; one that was added for its place alone has the weight 0."""

STATED_TIMES = TempTable(
    "stated_times", {**_PLACE, "node_name": "varchar", "stated_at": "timestamp", "has_no_year": "boolean"}
)
"""The reader adds to it: times of lines that it skips, with their hosts if they have one. Lines of `sampled_lines` in
it count as understood. `has_no_year`: the year is that of the file's date."""

UNDATED_LOGS = TempTable(
    "undated_logs",
    {"file_id": "integer", "days": "map(date, bigint)", "is_of_file_date": "boolean", "has_leap_day": "boolean"},
)
"""`undated.year_steps` adds to it: the files with lines without a year, in the form of `ops.years`."""

UNKNOWN_LINES = TempTable(
    "unknown_lines",
    {**_PLACE, "node_name": "varchar", "seen_at": "timestamp", "has_no_year": "boolean", "message": "varchar"},
)
"""The reader adds to it: lines with the weight of an error that it skips, as no rule knows them. A line that names
several nodes has a row for each. `has_no_year`: the year is that of the file's date."""

ASIDE_LINES = TempTable("aside_lines", {**_PLACE, "line": "varchar", "reason": "varchar", "detail": "varchar"})
"""Used by the core only: lines that are withheld from the reader, and why they are quarantined."""

TRANSLATED_ASIDE = TempTable("translated_aside", {**_PLACE, "reason": "varchar", "detail": "varchar"})
"""Used by the core only: lines that the translation of a file set aside. Those without a detail are skipped."""

QUARANTINED_LINES = TempTable("quarantined_lines", {**_PLACE, "reason": "varchar", "detail": "varchar"})
"""Filled by the core from `ReadingPlan.quarantined`."""

SKIPPED_LINES = TempTable("skipped_lines", {**_PLACE, "reason": "varchar"})
"""Filled by the core from `ReadingPlan.skipped`, which may use `loaded_lines` and `quarantined_lines`."""

EMPTY_AT_FIRST = (STATED_TIMES, UNDATED_LOGS, UNKNOWN_LINES)
"""Created before a reader gets a batch; it may add to them."""
