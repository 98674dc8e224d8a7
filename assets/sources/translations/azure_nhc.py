"""Results of Azure's NHC in exports of its Kusto table: `Timestamp,JobName,Hostname,Healthy,RawResult`.

The columns may come in any order, separated by commas or tabs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from assets.sources.other_forms import SetAside, Translation
from assets.sources.reader import SourceFile
from assets.sources.settings import ClusterSettings
from assets.sources.text.text_lines import cells_of, lines_of, rows_of
from assets.sources.translations.result_lines import CRITICAL, OK, UNKNOWN, Result, result_line, utc_of, xids_in

_NEEDED = {"timestamp", "hostname", "healthy"}
_DELIMITERS = (",", "\t")
_CHECK = re.compile(r"Health check failed:\s*([\w./-]+):|\b(check_\w+):")


def _is_table(sample: str, _cluster: ClusterSettings) -> bool:
    """Return whether the first line names the columns of that table."""
    first = next((line for line in sample.split("\n") if line.strip()), "")
    return any(_names(cells_of(first, delimiter)) for delimiter in _DELIMITERS)


def _names(row: list[str]) -> list[str]:
    """Return the names of the columns if the row is a header, else an empty list."""
    names = [name.strip().lower().lstrip("\ufeff").strip('"') for name in row]
    return names if set(names) >= _NEEDED else []


def _translate(pieces: Iterator[str], file: SourceFile, cluster: ClusterSettings) -> Iterator[str | SetAside]:
    """Yield the rows as lines; a text over several lines is one row."""
    names: list[str] = []
    lines = lines_of(pieces)
    first = next(lines, "")
    delimiter = next((delimiter for delimiter in _DELIMITERS if _names(cells_of(first, delimiter))), _DELIMITERS[0])
    for found in rows_of(enumerate(chain([first], lines)), delimiter):
        text = found.text
        cells = cells_of(text, delimiter) if isinstance(found.cells, str) else found.cells
        row = [cell.replace("\n", " ") for cell in cells]
        if not text.strip():
            yield SetAside(text, "blank")
        elif header := _names(row):
            names = header
            yield SetAside(text, "header")
        elif not names:
            yield SetAside(text, "no_header", "no line above it names the columns")
        elif len(row) != len(names):
            yield SetAside(text, "field_count", f"{len(row)} fields where the header names {len(names)}")
        else:
            yield _result(dict(zip(names, row, strict=True)))


def _result(cells: dict[str, str]) -> str:
    message = cells.get("rawresult", "")
    verdict = cells.get("healthy", "").strip().lower()
    result = {"true": OK, "1": OK, "healthy": OK, "false": CRITICAL, "0": CRITICAL, "unhealthy": CRITICAL}.get(
        verdict, UNKNOWN
    )
    if "No results reported" in message:
        result = UNKNOWN
    found = _CHECK.search(message)
    check = (found[1] or found[2]) if found and result == CRITICAL else "nhc"
    xids = xids_in(message) if result == CRITICAL else ()
    return result_line(
        Result(cells.get("hostname", "").strip() or None, check, result, utc_of(cells.get("timestamp")), message, xids)
    )


_EXAMPLE = """Timestamp,JobName,Hostname,Healthy,RawResult
2024-05-01T10:00:00Z,nhc-1,node001,false,"ERROR: nhc: Health check failed: check_gpu_xid: Xid 119"
"""
FORMS = (Translation("azure_nhc", "health", _is_table, _translate, _EXAMPLE),)
