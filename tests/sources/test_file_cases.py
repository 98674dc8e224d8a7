"""Files of many forms, each with what must come of it: the cases of `fixtures/cases/files`.

A case: `name` (what it is about); `path` below the cluster's folder with the `text` there, or `captured`, a genuine
file below `fixtures`, or `files` by path; `config` of cluster.toml. And what must come of it: `account` (lines in,
loaded, skipped, quarantined), `loaded` (the number of rows), `rows` (all of them, in any order), `among` (some of
them), `every` (what all rows say), `messages` and `details` (in a row's message, in what is told of a quarantined
line), `quarantined` (reason by line), `skips` (lines by reason), `warnings` of the file, or `refused` (what is in the
reason for which the whole file is turned down). `unknown` is NULL.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import duckdb
import pytest

from assets.sources.formats import READERS
from tests.sources.folders import load, make, rows

FIXTURES = Path(__file__).parents[1] / "fixtures"
Case = dict[str, Any]
CASES: dict[str, list[Case]] = {
    path.stem: tomllib.loads(path.read_text("utf-8"))["case"]
    for path in sorted((FIXTURES / "cases" / "files").glob("*.toml"))
}
NAMED = [
    pytest.param(kind, number, id=f"{kind}: {case['name']}")
    for kind, cases in CASES.items()
    for number, case in enumerate(cases)
]


def files_of(case: Case) -> dict[str, str | bytes]:
    if "files" in case:
        return case["files"]
    return {case["path"]: (FIXTURES / case["captured"]).read_bytes() if "captured" in case else case["text"]}


@pytest.fixture(scope="module")
def together(tmp_path_factory: pytest.TempPathFactory) -> dict[str, duckdb.DuckDBPyConnection]:
    """All cases of each kind, every one a cluster without other logs, loaded at once."""
    loaded = {}
    for kind, cases in CASES.items():
        folder = tmp_path_factory.mktemp(kind)
        for number, case in enumerate(cases):
            make(folder / f"c{number}", {"cluster.toml": case.get("config", ""), **files_of(case)})
        loaded[kind] = load(folder, readers={kind: READERS[kind]})
    return loaded


def shown(row: dict[str, Any], names: Any) -> list[Any]:
    """Give columns of a row as a case writes them: lists in any order, NULL as `unknown`."""
    values = [row[name] for name in names]
    return ["unknown" if value is None else sorted(value) if isinstance(value, list) else value for value in values]


@pytest.mark.parametrize(("kind", "number"), NAMED)
def test_case(kind: str, number: int, together: dict[str, duckdb.DuckDBPyConnection]) -> None:
    case, con, of_case = CASES[kind][number], together[kind], f"where cluster_id = 'c{number}'"
    (file, *_) = rows(con, f"select * from ops.files {of_case}")
    assert (file["status"] == "refused") == ("refused" in case), file["reason"]
    assert case.get("refused", "") in (file["reason"] or "")
    found = rows(con, f"select * from raw.{READERS[kind].TABLE} {of_case} and disposition = 'loaded'")
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
    told = [row["detail"] or "" for row in quarantined], [row.get("message") or "" for row in found]
    for wanted, texts in zip((case.get("details", []), case.get("messages", [])), told, strict=True):
        assert [text for text in wanted if not any(text in given for given in texts)] == []
    account = [file[name] for name in ("lines_in", "loaded", "skipped", "quarantined")]
    assert account == case.get("account", account)
    skips = dict(con.execute(f"select reason, line_count from ops.skips {of_case}").fetchall())
    assert skips.items() >= case.get("skips", {}).items()
    assert file["warnings"] == case.get("warnings", file["warnings"])
