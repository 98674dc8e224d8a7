"""Statements that fail on rows of some clusters, and statements that fail for no single cluster's rows.

In the first case the others are published; in the second the refresh fails, says so, and readers see what they saw.
"""

from __future__ import annotations

import json
import shutil
import sys

import duckdb
import pytest

from assets.bad_clusters.ends import ENDS
from orchestration.failures import RefreshFailed
from orchestration.home import Home
from tests.conftest import CAPTURE, refresh
from tests.pipeline.stale import cluster
from tests.published import facts_of_cluster

IN_NIGHT = ("is_stale", "stale_reason", "built_at")
"""What a stale cluster's row says of the night."""
FAKE_DBT = """#!{python}
import json, os, shutil, sys
if sys.argv[1:] == ["--version"]:
    sys.exit(print("1.11.16"))
import duckdb
from pathlib import Path
target = Path(os.environ["DBT_TARGET_PATH"])
target.mkdir(parents=True, exist_ok=True)
with duckdb.connect(os.environ["FAULTLINE_WAREHOUSE"]) as con:
    clusters = [name for (name,) in con.execute("select cluster_id from raw.clusters order by 1").fetchall()]
with Path({calls!r}).open("a") as calls:
    calls.write(json.dumps([clusters, sys.argv[1:]]) + "\\n")
result = {{"unique_id": "model.faultline.stg_config__clusters", "status": "error", "message": {message!r}}}
metadata = {{"generated_at": "2026-02-01T00:00:00.000000Z"}}
(target / "run_results.json").write_text(json.dumps({{"metadata": metadata, "results": [result]}}))
shutil.copy({manifest!r}, target / "manifest.json")
{end}
"""


@pytest.fixture
def failing(testbed_home, tmp_path, monkeypatch):
    """Refresh the capture's home with a second cluster, with a dbt of which a statement fails whatever it is given."""
    home = Home.at(tmp_path / "home")
    shutil.copytree(testbed_home.root, home.root, symlinks=True)
    shutil.copytree(CAPTURE, home.sources / "other")

    def run(message, end="sys.exit(1)"):
        from orchestration.dbt import build as dbt

        calls = tmp_path / "calls"
        program, manifest = tmp_path / "dbt", str(dbt.manifest_of(home))
        text = FAKE_DBT.format(python=sys.executable, calls=str(calls), message=message, manifest=manifest, end=end)
        program.write_text(text)
        program.chmod(0o755)
        monkeypatch.setattr(dbt, "DBT", program)
        before = home.published_file.read_bytes(), home.published_file.resolve(), home.report.read_bytes()
        with pytest.raises(RefreshFailed) as failed:
            refresh(home)
        after = home.published_file.read_bytes(), home.published_file.resolve(), home.report.read_bytes()
        assert before == after
        return str(failed.value), [json.loads(call) for call in calls.read_text().splitlines()]

    return run


def test_where_every_cluster_is_at_fault_each_is_tried_once_and_the_refresh_fails(failing):
    said, calls = failing("Runtime Error in model x\n  Conversion Error: out of range")
    assert said.startswith("stg_config__clusters could not be built: Runtime Error in model x Conversion Error")
    assert "(the rows of no single cluster cause it)" in said
    assert "nothing was published, readers see the last publication as before" in said
    assert "dbt.log; send it to the maintainers" in said
    assert [clusters for clusters, _ in calls] == [["other", "testbed"], ["other"], ["testbed"]]
    (_, first), (_, second), _ = calls
    assert "--indirect-selection" not in first
    assert "stg_config__clusters" in second[second.index("--select") + 1].split()


def test_what_no_row_can_cause_is_not_tried_again(failing):
    said, calls = failing("Runtime Error in model x\n  Binder Error: no such column")
    assert "Binder Error: no such column; nothing was published" in said
    assert len(calls) == 1


def test_a_dbt_that_was_killed_is_no_error_of_a_statement_and_none_for_the_maintainers(failing):
    said, calls = failing("Conversion Error: of an earlier build", end="os.kill(os.getpid(), 9)")
    assert said.startswith("dbt was killed (Killed), most often because the machine or container ran out of memory")
    assert "set FAULTLINE_MEMORY lower" in said
    assert len(calls) == 1


@pytest.mark.slow
def test_of_four_clusters_two_make_a_statement_fail_and_the_others_are_as_if_these_were_not_there(tmp_path):
    home = Home.at(tmp_path / "home")
    for name in "abcd":
        cluster().write(home.sources / name)
    refresh(home)
    before = {name: facts_of_cluster(home.published_file, name, left_out=IN_NIGHT) for name in "abcd"}
    with duckdb.connect(str(home.working_file)) as con:
        con.execute("update raw.sacct set elapsed_seconds = 9223372036854775807 where cluster_id in ('b', 'd')")
    cluster(70).write(home.sources / "a")
    refresh(home)
    after = {name: facts_of_cluster(home.published_file, name, left_out=IN_NIGHT) for name in "abcd"}
    assert [after[name] == before[name] for name in "abcd"] == [False, True, True, True]
    assert len(after["a"]["marts.fct_attempts"]) == 70
    with duckdb.connect(str(home.published_file), read_only=True) as con:
        columns = "cluster_id, cluster_end, is_stale, stage, array_to_string(reasons, '')"
        found = con.execute(f"select {columns} from ({ENDS}) order by 1").fetchall()
    built, last_good = ("built", False, None), ("last good", True, "build")
    assert [row[:4] for row in found] == [("a", *built), ("b", *last_good), ("c", *built), ("d", *last_good)]
    assert all("could not be built: Runtime Error in model" in found[place][4] for place in (1, 3))
    assert not [*home.work.glob("scratch-*")]
