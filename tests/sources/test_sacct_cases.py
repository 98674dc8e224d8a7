"""Awkward accounting records, each with the outcome it must have: the table is `fixtures/cases/sacct.jsonl`.

A case gives `records` (what differs from an ordinary one) or the `text` of a file, the cluster's `config`, and what
must come of it: `loaded` columns, `skipped` and `quarantined` counts by reason, file `warnings`, or a file `error`.
"""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from assets.sources.errors import SourceErrors
from tests.sources.folders import MODIFIED, export, load, make, rows

CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "fixtures" / "cases" / "sacct.jsonl").read_text("utf-8").splitlines()
]
IDS = (
    "N002 N003 N004 N005 N007 N008 N009 N012 N013 N014 N016 N017 N018 N019 N020 N025 N026 N027 N028 N029 N030 N031 "
    "N033 N034 N035 N037 N038 N039 N040 N041 N042 N043 N046 N048 N049 N050 N052 N054 N055 N056 N057 N058 N059 N060 "
    "N062 N063 N064 N065 N066 N067 N069 N071 N072 N073 N079 N082 N083 N084 N085 N087 N088 N089 "
    "cancelled-while-waiting-by-an-older-slurm gpus-without-a-count waiting-tasks-as-a-star"
)


def test_no_case_is_forgotten():
    assert sorted(case["id"] for case in CASES) == IDS.split()


def content_of(case):
    text = case["text"] if "text" in case else export(case["records"])
    return text.encode(case.get("encoding", "utf-8"))


@pytest.mark.parametrize("case", CASES, ids=[f"{case['id']}: {case['about']}" for case in CASES])
def test_case(case, tmp_path):
    files = {"c1/sacct/sacct.txt": content_of(case)}
    if "config" in case:
        files["c1/cluster.toml"] = "".join(f"{key} = {json.dumps(value)}\n" for key, value in case["config"].items())
    modified = datetime.fromisoformat(case["modified"]).replace(tzinfo=UTC) if "modified" in case else MODIFIED
    folder = make(tmp_path, files, modified)
    if "error" in case:
        with pytest.raises(SourceErrors, match=case["error"]):
            load(folder)
        return
    con = load(folder)
    found = rows(con, "select * from raw.sacct order by line_number")
    assert len(found) == len(case["loaded"])
    for row, wanted in zip(found, case["loaded"], strict=True):
        shown = {key: str(row[key]) if isinstance(row[key], datetime) else row[key] for key in wanted}
        assert shown == wanted
    file = rows(con, "select * from ops.files")[0]
    assert file["warnings"] == case.get("warnings", [])
    assert file["is_partial"] == case.get("partial", False)
    assert by_reason(con, "select reason, line_count from ops.skips") == case["skipped"]
    assert by_reason(con, "select reason, count(*) from ops.quarantine group by reason") == case.get("quarantined", {})


def by_reason(con, query):
    return dict(con.execute(query).fetchall())
