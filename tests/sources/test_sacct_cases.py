"""Awkward accounting records, each with the outcome it must have: the table is `fixtures/cases/sacct.jsonl`.

A case gives `records` (what differs from an ordinary one) or the `text` of a file, the cluster's `config`, and what
must come of it: `loaded` columns, `skipped` and `quarantined` counts by reason, file `warnings`, or a file `error`.
"""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from assets.sources.errors import SourceErrors
from tests.logs import BASE, export
from tests.sources.folders import MODIFIED, load, make, rows

CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "fixtures" / "cases" / "sacct.jsonl").read_text("utf-8").splitlines()
]


def file_of(case):
    return f"{CASES.index(case):03d}.txt"


def content_of(case):
    if "text" in case:
        return case["text"].encode(case.get("encoding", "utf-8"))
    return export({"JobIDRaw": BASE["JobIDRaw"], **record} for record in case["records"]).encode()


def needs_a_folder(case):
    """Tell whether settings, an error, or what all records together tell set a case apart from the others."""
    if case.keys() & {"config", "modified", "error"} or "duplicate" in case["skipped"]:
        return True
    is_about_repeats = any("disposition" in row for row in case["loaded"])
    return is_about_repeats or "exported_without_duplicates" in case.get("warnings", ())


@pytest.fixture(scope="module")
def together(tmp_path_factory):
    """Load all cases that can be files of one cluster.

    Their records repeat each other. That changes no row of theirs but its disposition, and none of these cases has
    repeats of its own.
    """
    files = {f"c1/sacct/{file_of(case)}": content_of(case) for case in CASES if not needs_a_folder(case)}
    return load(make(tmp_path_factory.mktemp("together"), files))


def alone(case, folder):
    files = {f"c1/sacct/{file_of(case)}": content_of(case)}
    if "config" in case:
        files["c1/cluster.toml"] = "".join(f"{key} = {json.dumps(value)}\n" for key, value in case["config"].items())
    modified = datetime.fromisoformat(case["modified"]).replace(tzinfo=UTC) if "modified" in case else MODIFIED
    return load(make(folder, files, modified))


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_case(case, together, tmp_path):
    if "error" in case:
        with pytest.raises(SourceErrors, match=case["error"]):
            alone(case, tmp_path)
        return
    con = alone(case, tmp_path) if needs_a_folder(case) else together
    of_file = f"where path = 'c1/sacct/{file_of(case)}'"
    found = rows(con, f"select * from raw.sacct {of_file} order by line_number")
    assert len(found) == len(case["loaded"])
    for row, wanted in zip(found, case["loaded"], strict=True):
        shown = {key: str(row[key]) if isinstance(row[key], datetime) else row[key] for key in wanted}
        assert shown == wanted
    (file,) = rows(con, f"select * from ops.files {of_file}")
    assert file["warnings"] == case.get("warnings", [])
    assert file["is_partial"] == case.get("partial", False)
    skipped = by_reason(con, f"select reason, line_count from ops.skips {of_file}")
    if con is together:
        skipped.pop("duplicate", None)
    assert skipped == case["skipped"]
    quarantined = by_reason(con, f"select reason, count(*) from ops.quarantine {of_file} group by reason")
    assert quarantined == case.get("quarantined", {})


def by_reason(con, query):
    return dict(con.execute(query).fetchall())
