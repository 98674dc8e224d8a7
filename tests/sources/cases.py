"""The files of `fixtures/cases`, each with its expected outcome. `test_file_cases` checks them.

The input of a case in `files/KIND.toml`: `name` (the subject); `path` below the cluster's folder with its `text`, or
`captured`, a genuine file below the project, or `files` by path; `config` of cluster.toml, and the time at which the
file was `modified`. The expected outcome: `account` (lines in, loaded, skipped, quarantined), `loaded` (the number of
rows), `rows` (all, in any order), `in_order` (all with repeats, in the order of the lines), `among` (some of the rows),
`every` (values that all rows have), `messages` (in a row's message), `details` (in the detail of a quarantined line),
`quarantined` (reason by line), `reasons` (quarantined lines by reason), `skips` (lines by reason), `dispositions` and
`line_counts` of rows in order, `warnings`, `status` and `partial` of the file, or `refused` (part of the reason why the
whole file is refused) with a `hint`. `unknown` is NULL, and `file` is the path below the cluster's folder.

`texts` by name are forms of one content. Each form is a case. Its file repeats the text for each of the `lines`, which
replaces `<message>`. Cases that share a `cluster` repeat one another; all their rows count, repeats too.

`sacct.jsonl` has accounting records that differ from an ordinary one. `odd_lines.jsonl` has lines that once stopped a
night, in a cluster or as a mutation of a good line (`test_fuzzing`).
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from tests.logs import BASE, export

PROJECT = Path(__file__).parents[2]
FIXTURES = PROJECT / "tests" / "fixtures" / "cases"
Case = dict[str, Any]


def _forms(kind: str, number: int, case: Case) -> Iterator[Case]:
    """Yield a case for each of its texts, or the case itself."""
    if "texts" not in case:
        yield case
    for place, (form, text) in enumerate(case.get("texts", {}).items()):
        lines = [text.replace("<message>", line) for line in case.get("lines", [""])]
        said = {"name": f"{case['name']}: {form}", "path": f"{kind}/{place}.log", "text": "\n".join([*lines, ""])}
        yield {"cluster": f"forms{number}", **case, **said}


def _record_case(case: Case) -> Case:
    """Return a line of sacct.jsonl as a case. Where possible, it shares a cluster with others."""
    said = {
        "name": case["id"],
        "path": f"sacct/{case['id'][:60].replace('/', ' ')}.txt",
        "in_order": case.get("loaded", []),
    }
    said |= {"skips": case["skipped"], "reasons": case.get("quarantined", {}), "warnings": case.get("warnings", [])}
    text = case.get("text") or export(
        {"JobIDRaw": BASE["JobIDRaw"], "Cluster": "", **record} for record in case["records"]
    )
    said |= {"text": text.encode(case.get("encoding", "utf-8")), "partial": case.get("partial", False)}
    if "error" in case:
        return {key: said[key] for key in ("name", "path", "text")} | {"refused": case["error"]}
    if "config" in case:
        said["config"] = "".join(f"{key} = {json.dumps(value)}\n" for key, value in case["config"].items())
    if "modified" in case:
        said["modified"] = datetime.fromisoformat(case["modified"])
    is_about_repeats = "duplicate" in case["skipped"] or any("disposition" in row for row in case["loaded"])
    if not said.keys() & {"config", "modified"} and not is_about_repeats:
        said |= {} if "exported_without_duplicates" in said["warnings"] else {"cluster": "records"}
    return said


def _odd_case(case: Case) -> Case:
    """Return a line of odd_lines.jsonl as a case. The lines of one time zone share a cluster."""
    zone, suffix = case.get("timezone", "UTC"), "csv" if case["kind"] == "tickets" else "log"
    said = {"name": f"{case['id']}, {case['about']}", "path": f"{case['kind']}/{case.get('file', case['id'])}.{suffix}"}
    said |= {"text": case["input"].encode("utf-8", "surrogatepass") + b"\n", "config": f'timezone = "{zone}"\n'}
    said |= {"cluster": zone.rpartition("/")[2].lower(), "quarantined": case.get("quarantined", {})}
    return said | ({"in_order": case["loaded"]} if "loaded" in case else {})


def _lines(name: str) -> list[Case]:
    return [json.loads(line) for line in (FIXTURES / name).read_text("utf-8").splitlines()]


CASES: dict[str, list[Case]] = {
    path.stem: [
        form
        for number, case in enumerate(tomllib.loads(path.read_text("utf-8"))["case"])
        for form in _forms(path.stem, number, case)
    ]
    for path in sorted((FIXTURES / "files").glob("*.toml"))
}
"""Forms of files, by kind of log."""
ALL_CASES = {kind: [*cases] for kind, cases in CASES.items()}
"""Forms of files, accounting records and odd lines."""
ALL_CASES["sacct"] += map(_record_case, _lines("sacct.jsonl"))
for _case in _lines("odd_lines.jsonl"):
    ALL_CASES[_case["kind"]].append(_odd_case(_case))


def files_of(case: Case) -> dict[str, str | bytes]:
    """Return the files of a case by their path in the cluster's folder."""
    if "files" in case:
        return case["files"]
    return {case["path"]: (PROJECT / case["captured"]).read_text("utf-8") if "captured" in case else case["text"]}
