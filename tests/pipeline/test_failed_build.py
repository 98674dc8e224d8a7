"""Statements that fail for no single cluster's rows: the refresh fails, says so, and readers see what they saw."""

from __future__ import annotations

import json
import shutil
import sys

import pytest

from orchestration.dbt.build_failures import may_be_of_rows
from orchestration.failures import RefreshFailed
from orchestration.home import Home
from tests.conftest import CAPTURE, refresh

FAKE_DBT = """
import json, os, shutil, sys
from pathlib import Path
target = Path(os.environ["DBT_TARGET_PATH"])
target.mkdir(parents=True, exist_ok=True)
with Path({calls!r}).open("a") as calls:
    calls.write(json.dumps(sys.argv[1:]) + "\\n")
result = {{"unique_id": "model.faultline.fct_attempts", "status": "error", "message": {message!r}}}
metadata = {{"generated_at": "2026-02-01T00:00:00.000000Z"}}
(target / "run_results.json").write_text(json.dumps({{"metadata": metadata, "results": [result]}}))
shutil.copy({manifest!r}, target / "manifest.json")
sys.exit(1)
"""


@pytest.fixture
def failing(testbed_home, tmp_path, monkeypatch):
    """Refresh the capture's home with a second cluster, with a dbt of which a statement fails whatever it is given."""
    home = Home.at(tmp_path / "home")
    shutil.copytree(testbed_home.root, home.root, symlinks=True)
    shutil.copytree(CAPTURE, home.sources / "other")

    def run(message):
        from orchestration.dbt import build as dbt

        calls = tmp_path / "calls"
        program = FAKE_DBT.format(calls=str(calls), message=message, manifest=str(dbt.manifest_of(home)))
        (tmp_path / "dbt.py").write_text(program)
        monkeypatch.setattr(dbt, "DBT", (sys.executable, str(tmp_path / "dbt.py")))
        before = home.published_file.read_bytes(), home.published_file.resolve(), home.report.read_bytes()
        with pytest.raises(RefreshFailed) as failed:
            refresh(home)
        after = home.published_file.read_bytes(), home.published_file.resolve(), home.report.read_bytes()
        assert before == after
        return str(failed.value), [json.loads(call) for call in calls.read_text().splitlines()]

    return run


def test_where_no_single_cluster_is_at_fault_each_is_left_out_once_and_the_refresh_fails(failing):
    said, calls = failing("Runtime Error in model fct_attempts\n  Conversion Error: out of range")
    assert said.startswith("fct_attempts could not be built: Runtime Error in model fct_attempts Conversion Error")
    assert "(also without other or testbed: the rows of no single cluster cause it)" in said
    assert "nothing was published, readers see the last publication as before" in said
    assert "dbt.log; send it to the maintainers" in said
    excluded = [json.loads(call[call.index("--vars") + 1])["excluded_clusters"] for call in calls if "--vars" in call]
    assert excluded == [["other"], ["testbed"]]
    assert len(calls) == 3


def test_what_no_row_can_cause_is_not_tried_again(failing):
    said, calls = failing("Runtime Error in model fct_attempts\n  Binder Error: no such column")
    assert "Binder Error: no such column; nothing was published" in said
    assert len(calls) == 1


@pytest.mark.parametrize(
    ("message", "is_of_rows"),
    [
        ("Conversion Error: Type INT64 with value 7 can't be cast", True),
        ("Out of Range Error: Overflow in addition", True),
        ("Invalid Input Error: odd", True),
        ("Parser Error: syntax error", False),
        ("Catalog Error: Table does not exist", False),
        ("Compilation Error in model", False),
        ("Out of Memory Error: failed to allocate", False),
        ("IO Error: No space left on device", False),
    ],
)
def test_which_errors_rows_can_cause(message, is_of_rows):
    assert may_be_of_rows([f"fct_attempts could not be built: {message}"]) == is_of_rows
    assert not may_be_of_rows([])
