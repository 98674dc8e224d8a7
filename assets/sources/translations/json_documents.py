"""Records of JSON, for translations. Text that is not a record is set aside."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from assets.sources.intake.read.json_records import Damaged, Record, json_records
from assets.sources.other_forms import SetAside
from assets.sources.reader import SourceFile
from assets.sources.settings import ClusterSettings


def records_of(pieces: Iterator[str], *keys: str, skip_text: bool = False) -> Iterator[Record | SetAside]:
    """Yield the records of a text, in order.

    Parameters
    ----------
    pieces
        The text.
    keys
        Names of arrays that hold the records of a document.
    skip_text
        Whether lines that a program printed between its records are skipped; else they are quarantined.
    """
    for record in json_records(pieces, *keys):
        if isinstance(record, Record):
            yield record
        elif skip_text and not record.is_cut and not record.text.lstrip().startswith(("{", "[", '"', "}", "]")):
            yield SetAside(record.text, "text_line")
        else:
            yield _damaged(record)


def each_record(
    lines_of: Callable[[Record, SourceFile, ClusterSettings], Iterable[str | SetAside]],
    *keys: str,
    skip_text: bool = False,
) -> Callable[[Iterator[str], SourceFile, ClusterSettings], Iterator[str | SetAside]]:
    """Return the translation of a form whose records, read by `records_of`, become lines one by one."""

    def translate(pieces: Iterator[str], file: SourceFile, cluster: ClusterSettings) -> Iterator[str | SetAside]:
        for record in records_of(pieces, *keys, skip_text=skip_text):
            yield from [record] if isinstance(record, SetAside) else lines_of(record, file, cluster)

    return translate


def _damaged(record: Damaged) -> SetAside:
    reason = "truncated_record" if record.is_cut else "bad_json"
    return SetAside(record.text, reason, record.detail, has_lost_end=record.has_lost_end)


def unsupported(value: Any, detail: str) -> SetAside:
    """Return a record, set aside, that lacks a field that every record of its form has."""
    return SetAside(json.dumps(value), "unsupported_schema", detail)
