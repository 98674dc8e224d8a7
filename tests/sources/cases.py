"""The files of `fixtures/cases/files`, each with what must come of it, which `test_file_cases` asks for.

A case: `name` (what it is about); `path` below the cluster's folder with the `text` there, or `captured`, a genuine
file below `fixtures`, or `files` by path; `config` of cluster.toml, and when the file was `modified`. And what must
come of it: `account` (lines in, loaded, skipped, quarantined), `loaded` (the number of rows), `rows` (all of them, in
any order), `in_order` (all of them, repeats too, in the order of the lines), `among` (some of them), `every` (what all
rows say), `messages` and `details` (in a row's message, in what is told of a quarantined line), `quarantined` (reason
by line), `skips` (lines by reason), `dispositions` and `line_counts` of rows in order, `warnings` and `status` of the
file, or `refused` (what is in the reason for which the whole file is turned down) with a `hint`. `unknown` is NULL.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

FIXTURES = Path(__file__).parents[1] / "fixtures"
Case = dict[str, Any]
CASES: dict[str, list[Case]] = {
    path.stem: tomllib.loads(path.read_text("utf-8"))["case"]
    for path in sorted((FIXTURES / "cases" / "files").glob("*.toml"))
}
"""By kind of log."""


def files_of(case: Case) -> dict[str, str]:
    """Give the files of a case by their path in the cluster's folder."""
    if "files" in case:
        return case["files"]
    return {case["path"]: (FIXTURES / case["captured"]).read_text("utf-8") if "captured" in case else case["text"]}
