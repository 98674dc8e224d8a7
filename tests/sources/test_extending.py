"""The examples of CONTRIBUTING.md work when they are applied to a copy of the code."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from jinja2 import Template

from orchestration.settings.home import PROJECT
from tests.logs import export
from tests.sources.folders import make

CHANGE = re.compile(r"^```diff\n(\S+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
"""A file and its changes: new lines begin with +, removed lines with -, and context lines with a space."""


def changes_of(heading: str) -> list[tuple[str, str]]:
    """Return the files that an example changes, each with its lines."""
    page = (PROJECT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    return CHANGE.findall(page.split(f"\n## {heading}\n")[1].split("\n## ")[0])


def changed_copy(folder: Path, heading: str) -> Path:
    """Copy the code into a folder, apply the changes of an example, and return the folder."""
    ignored = shutil.ignore_patterns("__pycache__", "target", "logs", "dbt_packages")
    for room in ("assets", "dbt_project"):
        shutil.copytree(PROJECT / room, folder / room, ignore=ignored)
    for name, lines in changes_of(heading):
        file = folder / name
        text = file.read_text(encoding="utf-8") if file.exists() else ""
        before, after = ("".join(re.findall(rf"^[{signs}](.*\n)", lines, re.MULTILINE)) for signs in (" -", " +"))
        assert text.count(before) == 1 or not (text or before), f"{name} has not once:\n{before}"
        file.write_text(text.replace(before, after) if text else after, encoding="utf-8")
    return folder


KEY = "0123456789abcdef" * 4
READ = """
import json, sys
from pathlib import Path
import duckdb
from assets.sources.formats import READERS
from assets.sources.text.pseudonyms import give_key
from assets.warehouse import create_raw_and_ops
from tests.sources.folders import load

folder, home, key, *queries = sys.argv[1:]
with duckdb.connect(home, config={"threads": 1}) as con:
    con.execute("set timezone = 'UTC'")
    create_raw_and_ops(con)
    give_key(con, key)
    load(Path(folder), con, READERS)
    print(json.dumps([con.execute(query).fetchall() for query in queries]))
"""


def read(code: Path, folder: Path, *queries: str) -> Any:
    """Load a folder into a home next to it with a copy of the code, and return the answers of queries."""
    done = subprocess.run(
        [sys.executable, "-c", READ, folder, folder.with_suffix(".duckdb"), KEY, *queries],
        cwd=code,
        env={**os.environ, "PYTHONPATH": f"{code}{os.pathsep}{PROJECT}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_new_column_of_sacct_touches_three_files(tmp_path):
    """The column is filled from every form of accounting, and for records that were read before."""

    def records(first: int) -> list[dict[str, str | None]]:
        return [{"JobID": str(first), "Group": "physics"}, {"JobID": str(first + 1), "Group": None}]

    def published(record: dict[str, str | None]) -> str:
        names, texts = (line.split("|") for line in export([record]).splitlines())
        return json.dumps({f"sacct.{name}": text for name, text in zip(names, texts, strict=True)})

    folder = make(
        tmp_path / "sources",
        {
            "plain/cluster.toml": "[quarantine]\nmax_share = 0.5\n",
            "plain/sacct/by_lines.psv": export(records(1)).replace("\n", "\r\n"),
            "plain/sacct/odd.psv": export(records(3)).replace("|train|", "|a|pipe|", 1),
            "plain/sacct/published.jsonl": "".join(f"{published(record)}\n" for record in records(5)),
            "private/cluster.toml": 'privacy = "pseudonymous"\n',
            "private/sacct/whole.psv": export(records(7)),
        },
    )
    assert read(PROJECT, folder, "select count(*) from raw.sacct") == [[[8]]]
    assert len(changes_of("Add a column of sacct")) == 3
    code = changed_copy(tmp_path / "code", "Add a column of sacct")
    macros = {
        "source_table": "{}.{}".format,
        "seconds_between": "(epoch_us({1}) - epoch_us({0})) / 1000000".format,
        "round_to_integer": "cast({} as bigint)".format,
    }
    staged = (code / "dbt_project/models/staging/sacct/stg_sacct__records.sql").read_text()
    query = f"select source_path, job_id, group_name from ({Template(staged).render(macros)}) order by all"
    ((*plain, hashed, nothing),) = read(code, folder, query)
    assert plain == [
        [f"plain/sacct/{file}", str(job), "physics" if job % 2 else None]
        for file, first in (("by_lines.psv", 1), ("odd.psv", 3), ("published.jsonl", 5))
        for job in (first, first + 1)
    ]
    assert nothing == ["private/sacct/whole.psv", "8", None]
    assert re.fullmatch(r"group-[0-9a-f]{12}", hashed[2])


def test_a_new_kind_of_kernel_fault_is_one_line(tmp_path):
    line = "2024-05-01T10:00:00.000000+00:00 gpu001 kernel: libceph: mon0 (1)10.0.0.4:6789 session lost, hunting"
    accounting = export([{"NodeList": "gpu001", "NNodes": "1"}])
    folder = make(tmp_path / "sources", {"c1/sacct/a.psv": accounting, "c1/kernel/kern.log": f"{line}\n"})
    rules = "join read_csv('{}/dbt_project/seeds/kernel_rules.csv') using (kind, rule)"
    events = f"select node_name, kind, failure_category from raw.kernel_messages {rules}"
    unknown = "select shape from raw.unknown_lines"
    nothing, shapes = read(PROJECT, folder, events.format(PROJECT), unknown)
    assert (nothing, len(shapes)) == ([], 1)
    ((_, change),) = changes_of("Add a rule")
    assert change.count("\n+") == 1
    code = changed_copy(tmp_path / "code", "Add a rule")
    assert read(code, folder, events.format(code), unknown) == [[["gpu001", "ceph_lost", "filesystem_mount"]], []]


def test_a_new_form_is_one_module(tmp_path):
    lines = (
        "2024-05-01T10:00:00Z burn-in gpu001 FAIL GPU 3 is hotter than 90 C",
        "aborted by the operator",
        "2024-05-01T11:00:00Z burn-in gpu002 PASS all tests",
    )
    folder = make(
        tmp_path / "sources",
        {
            "c1/cluster.toml": "[quarantine]\nmax_share = 0.5\n",
            "c1/sacct/a.psv": export([{"NodeList": "gpu[001-002]", "NNodes": "2"}]),
            "c1/health/tests.txt": "".join(f"{line}\n" for line in lines),
        },
    )
    ((module, _),) = changes_of("Add a form of logs")
    assert not (PROJECT / module).exists()
    code = changed_copy(tmp_path / "code", "Add a form of logs")
    results, files, quarantined = read(
        code,
        folder,
        "select node_name, result, observed_at::varchar, message from raw.health_checks",
        "select dialect, status, lines_in, loaded from ops.files where kind = 'health'",
        "select line_number, reason, detail from ops.quarantine",
    )
    assert results == [
        ["gpu001", "CRITICAL", "2024-05-01 10:00:00", "GPU 3 is hotter than 90 C"],
        ["gpu002", "OK", "2024-05-01 11:00:00", "all tests"],
    ]
    assert files == [["burn_in", "read", 3, 2]]
    assert quarantined == [[2, "unsupported_schema", "no line of a burn-in test"]]
