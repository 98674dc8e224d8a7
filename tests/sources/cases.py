"""The awkward inputs of `tests/fixtures/cases` and the check that a reader gives each the outcome it must have.

A case: id (what it is about), input (physical lines); file, timezone, tickets, modified_at where they differ from the
defaults; and the outcome: loaded (every row, the columns that matter), skipped (reason: lines), quarantined (line:
reason), refused (reason the whole file is turned down for), dispositions and line_counts once the raw table is settled.
"""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from assets.sources.errors import SourceError
from assets.sources.reader import Reader
from tests.sources.batches import MODIFIED_AT, cluster_of, connect, name_nodes, run, settle, table_of

FOLDER = Path(__file__).parents[1] / "fixtures" / "cases"
Case = dict[str, Any]


def cases_of(source_format: str, *, other_formats: bool = False) -> list[Any]:
    """Return a format's cases as pytest parameters; those that belong to another reader only when asked."""
    lines = (FOLDER / f"{source_format}.jsonl").read_text(encoding="utf-8").splitlines()
    cases = [json.loads(line) for line in lines]
    return [pytest.param(case, id=case["id"]) for case in cases if ("format" in case) == other_formats]


def _shown(value: Any) -> Any:
    return str(value) if isinstance(value, datetime) else value


def _assert_rows(rows: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
    assert len(rows) == len(expected), f"{len(rows)} rows instead of {len(expected)}: {rows}"
    for row, wanted in zip(rows, expected, strict=True):
        shown = {name: _shown(row[name]) for name in wanted}
        assert shown == wanted, f"{shown} instead of {wanted}"


def check_case(reader: Reader, case: Case) -> None:
    """Read a case's input and compare all it comes to."""
    cluster = cluster_of(case.get("timezone", "UTC"), **({"tickets": case["tickets"]} if "tickets" in case else {}))
    if "refused" in case:
        with pytest.raises(SourceError) as refusal:
            reader.detect(case["input"], "c1/folder/file.txt", cluster)
        assert refusal.value.what.split(":")[0] == case["refused"]
        assert case.get("hint", "") in refusal.value.next_step
        return
    modified_at = datetime.fromisoformat(case["modified_at"]) if "modified_at" in case else MODIFIED_AT
    con = connect()
    outcome = run(con, reader, {case.get("file", "file.txt"): case["input"] + "\n"}, cluster, modified_at)
    _assert_rows(outcome.loaded, case.get("loaded", []))
    assert dict(outcome.skips) == case.get("skipped", {}), f"skipped {outcome.skips}"
    quarantined = {str(row["line_number"]): row["reason"] for row in outcome.quarantined}
    assert quarantined == case.get("quarantined", {}), f"quarantined {outcome.quarantined}"
    name_nodes(con, reader)
    settle(con, reader)
    table = table_of(con, reader)
    dispositions = [row["disposition"] for row in table]
    assert dispositions == case.get("dispositions", ["loaded"] * len(table)), f"dispositions {dispositions}"
    line_counts = [row.get("line_count", 1) for row in table]
    assert line_counts == case.get("line_counts", line_counts), f"line counts {line_counts}"
