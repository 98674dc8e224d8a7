"""Records of JSON for translations: what is no record is set aside."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from assets.sources.intake.read.json_records import Damaged, Record, json_records
from assets.sources.other_forms import SetAside


def records_of(pieces: Iterator[str], *keys: str, skip_text: bool = False) -> Iterator[Record | SetAside]:
    """Yield the records of a text, in their order.

    Parameters
    ----------
    pieces
        The text.
    keys
        Names of arrays that hold the records of a document.
    skip_text
        Lines that a program printed between its records are skipped; otherwise they are quarantined.
    """
    for record in json_records(pieces, *keys):
        if isinstance(record, Record):
            yield record
        elif skip_text and not record.is_cut and not record.text.lstrip().startswith(("{", "[", '"', "}", "]")):
            yield SetAside(record.text, "text_line")
        else:
            yield _damaged(record)


def _damaged(record: Damaged) -> SetAside:
    reason = "truncated_record" if record.is_cut else "bad_json"
    return SetAside(record.text, reason, record.detail, has_lost_end=record.has_lost_end)


def unsupported(value: Any, detail: str) -> SetAside:
    """Set a record aside that lacks what every record of its form has."""
    return SetAside(json.dumps(value), "unsupported_schema", detail)
