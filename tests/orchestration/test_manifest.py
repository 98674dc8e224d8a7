"""All users of a checkout share the parsed dbt project, so it is replaced in one step."""

import json
import os
import subprocess
import sys

import pytest

from orchestration.dbt import build as dbt
from orchestration.environment import HomeSettings, given_to_dbt
from orchestration.home import Home

PARSED = """
import sys
from pathlib import Path
target = Path(sys.argv[sys.argv.index("--target-path") + 1])
(target / "manifest.json").write_text('{"parsed": "now"}')
(target / "partial_parse.msgpack").write_text("")
"""
"""What dbt leaves behind, in no time."""


@pytest.fixture
def manifest(tmp_path, monkeypatch):
    """A manifest that is older than the project's files, in the place of the shared one."""
    manifest = tmp_path / "target" / "manifest.json"
    manifest.parent.mkdir()
    manifest.write_text('{"parsed": "before"}')
    os.utime(manifest, (0, 0))
    monkeypatch.setattr(dbt, "cache_folder", lambda home: manifest.parent)
    return manifest


@pytest.mark.parametrize("is_cut_off", [False, True])
def test_others_read_the_old_manifest_until_the_new_one_is_whole(manifest, tmp_path, monkeypatch, is_cut_off):
    run, seen = subprocess.run, []

    def watched(*arguments, **options):
        result = run(*arguments, **options)
        seen.append(json.loads(manifest.read_text()))
        if is_cut_off:
            raise KeyboardInterrupt
        return result

    monkeypatch.setattr(dbt, "DBT", (sys.executable, "-c", PARSED))
    monkeypatch.setattr(subprocess, "run", watched)
    if is_cut_off:
        with pytest.raises(KeyboardInterrupt):
            dbt.prepare(HomeSettings(Home.at(tmp_path / "home")))
    else:
        dbt.prepare(HomeSettings(Home.at(tmp_path / "home")))
    assert seen == [{"parsed": "before"}]
    assert json.loads(manifest.read_text()) == {"parsed": "before" if is_cut_off else "now"}
    others = [] if is_cut_off else ["partial_parse.msgpack"]
    assert sorted(path.name for path in manifest.parent.iterdir()) == ["manifest.json", *others]


def test_one_parsed_project_serves_every_home(testbed_home, tmp_path):
    """dbt says so in its log when it parses the whole project again."""
    home = Home.at(tmp_path / "another")
    home.work.mkdir(parents=True)
    target = home.work / "dbt"
    with given_to_dbt(HomeSettings(home), dbt.manifest_of(testbed_home).parent):
        listed = dbt.dbt_resource(home).cli(["ls", "--log-level-file", "debug"], target_path=target).wait()
    assert listed.is_successful()
    assert "model.faultline.fct_attempts" in json.loads(dbt.manifest_of(testbed_home).read_text())["nodes"]
    said = (target / "dbt.log").read_text()
    assert "Partial parsing enabled: 0 files deleted, 0 files added, 0 files changed." in said
    assert "Unable to do partial parsing" not in said
