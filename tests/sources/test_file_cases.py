"""Files of many forms and oddities come to what `fixtures/cases/files` says of each."""

from __future__ import annotations

from datetime import UTC
from typing import Any

import duckdb
import pytest

from assets.sources.formats import READERS
from tests.sources.cases import CASES, files_of
from tests.sources.folders import MODIFIED, load, make, rows

NAMED = [
    pytest.param(kind, number, id=f"{kind}: {case['name']}")
    for kind, cases in CASES.items()
    for number, case in enumerate(cases)
]


REPEATS = {"duplicate", "coalesced"}
"""Rows that are skipped because others say the same."""


@pytest.fixture(scope="module")
def together(tmp_path_factory: pytest.TempPathFactory) -> dict[str, duckdb.DuckDBPyConnection]:
    """All cases of each kind, every one a cluster without other logs, loaded at once."""
    loaded = {}
    for kind, cases in CASES.items():
        folder = tmp_path_factory.mktemp(kind)
        for number, case in enumerate(cases):
            modified = case.get("modified", MODIFIED).replace(tzinfo=UTC)
            make(folder / f"c{number}", {"cluster.toml": case.get("config", ""), **files_of(case)}, modified)
        loaded[kind] = load(folder, readers={kind: READERS[kind]})
    return loaded


def shown(row: dict[str, Any], names: Any) -> list[Any]:
    """Give columns of a row as a case writes them; hosts of a node are in any order."""
    values = {name: "unknown" if row[name] is None else row[name] for name in names}
    return [sorted(value) if name == "host_names" else value for name, value in values.items()]


@pytest.mark.parametrize(("kind", "number"), NAMED)
def test_case(kind: str, number: int, together: dict[str, duckdb.DuckDBPyConnection]) -> None:
    case, con, of_case = CASES[kind][number], together[kind], f"where cluster_id = 'c{number}'"
    (file, *_) = rows(con, f"select * from ops.files {of_case}")
    assert (file["status"] == "refused") == ("refused" in case), file["reason"]
    assert file["status"] == case.get("status", file["status"])
    assert case.get("refused", "") in (file["reason"] or "")
    assert case.get("hint", "") in (file["next_step"] or "")
    every_row = rows(con, f"select line_number as place, * from raw.{READERS[kind].TABLE} {of_case} order by all")
    for row, wanted in zip(every_row, case.get("in_order", every_row), strict=True):
        assert shown(row, wanted) == shown(wanted, wanted)
    for name, default in (("disposition", None), ("line_count", 1)):
        values = [row.get(name, default) for row in every_row]
        assert case.get(f"{name}s", values) == values
    found = [row for row in every_row if row["disposition"] == "loaded"]
    assert len(found) == case.get("loaded", len(found))
    if "rows" in case:
        names = case["rows"][0]
        assert sorted(repr(shown(row, names)) for row in found) == sorted(
            repr(shown(row, names)) for row in case["rows"]
        )
    for wanted in case.get("among", []):
        assert shown(wanted, wanted) in [shown(row, wanted) for row in found]
    every = case.get("every", {})
    assert [row for row in found if shown(row, every) != shown(every, every)] == []
    quarantined = rows(con, f"select line_number, reason, detail from ops.quarantine {of_case}")
    if "quarantined" in case or "account" not in case:
        assert {str(row["line_number"]): row["reason"] for row in quarantined} == case.get("quarantined", {})
    texts_of = [row["detail"] or "" for row in quarantined], [row.get("message") or "" for row in found]
    for wanted, texts in zip((case.get("details", []), case.get("messages", [])), texts_of, strict=True):
        assert [text for text in wanted if not any(text in given for given in texts)] == []
    account = [file[name] for name in ("lines_in", "loaded", "skipped", "quarantined")]
    assert account == case.get("account", account)
    skips = dict(con.execute(f"select reason, line_count from ops.skips {of_case}").fetchall())
    assert "skips" not in case or {reason: skips[reason] for reason in skips.keys() - REPEATS} == case["skips"]
    assert file["warnings"] == case.get("warnings", file["warnings"])
