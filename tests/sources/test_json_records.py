"""JSON records are read from text of any form and in pieces of any size. Damage loses only the records it touches."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator

import pytest

from assets.sources.intake.read import json_records as reading
from assets.sources.intake.read.json_records import MAX_RECORD, Damaged, Record, json_records
from tests.sources.folders import DIALECTS

DOCUMENT = gzip.decompress((DIALECTS / "sacct.json.gz").read_bytes()).decode()
JOBS = json.loads(DOCUMENT)["jobs"]


def pieces(text: str, size: int = 1 << 16) -> Iterator[str]:
    return (text[start : start + size] for start in range(0, len(text), size))


def read(text: str, size: int = 1 << 16) -> tuple[list[Record], list[Damaged]]:
    found = list(json_records(pieces(text, size), "jobs"))
    return [item for item in found if isinstance(item, Record)], [item for item in found if isinstance(item, Damaged)]


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("pretty document", json.dumps({"meta": {"a": [1, 2]}, "jobs": JOBS, "errors": []}, indent=2)),
        ("compact document", json.dumps({"jobs": JOBS, "meta": {}})),
        ("array", json.dumps(JOBS)),
        ("lines", "\n".join(map(json.dumps, JOBS))),
        ("documents one after another", "\n".join(json.dumps({"jobs": [job], "meta": {}}) for job in JOBS)),
    ],
)
@pytest.mark.parametrize("size", [37_001, 1 << 20])
def test_every_form_gives_every_record(form: str, text: str, size: int) -> None:
    good, bad = read(text, size)
    assert [record.value for record in good] == JOBS
    assert bad == []


@pytest.mark.parametrize("form", ["pretty", "compact"])
def test_a_damaged_byte_costs_a_few_records_at_most(form: str) -> None:
    text = json.dumps({"meta": {}, "jobs": JOBS}, indent=2 if form == "pretty" else None)
    generator = random.Random(1)
    for _ in range(25):
        at = generator.randrange(100, len(text) - 10)
        harm = generator.choice(["", "{", "}", '"', "]", "[", "\x00", ",x", "\\"])
        good, bad = read(text[:at] + harm + text[at + generator.choice([0, 1, 5, 3000]) :])
        assert sum(record.value in JOBS for record in good) >= len(JOBS) - 3, (at, harm)
        assert len(bad) <= 3, (at, harm)


def test_lines_of_other_text_are_told_apart() -> None:
    good, bad = read('CRITICAL - xid errors\n[{"a": 1}]\nOK\n{"a": 2}\n')
    assert [record.value["a"] for record in good] == [1, 2]
    assert [item.text for item in bad] == ["CRITICAL - xid errors", "OK"]


def test_a_record_without_end_is_not_held_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    # The limit and the pieces are a sixteenth, and so is the cost.
    monkeypatch.setattr(reading, "MAX_RECORD", MAX_RECORD // 16)
    # Longer than the limit. No piece is read twice: each piece is another string.
    endless = (f'"{number}": "{"x" * 62_480}",' for number in range(10_000))
    found = json_records((text for part in (iter(['{"jobs": [{']), endless) for text in part), "jobs")
    first = next(found)
    assert isinstance(first, Damaged)
    assert len(first.text) <= MAX_RECORD // 100


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"a":' * 100_000,
        '{"jobs": [' + "[" * 100_000,
        "{",
        '{"jobs":',
        "[1, 2",
        "]]}",
        "9" * 5000,
        '{"a": ' + "9" * 5000 + "}",
    ],
)
def test_no_nesting_and_no_rest_of_a_document_stops_the_reading(text: str) -> None:
    read(text)
