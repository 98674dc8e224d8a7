"""All homes of a user share the parsed dbt project, so it is replaced in one step."""

import json
import subprocess
import sys

import pytest

from orchestration.dbt import build as dbt
from orchestration.settings.environment import HomeSettings, given_to_dbt
from orchestration.settings.home import Home

PARSED = f"""#!{sys.executable}
import sys
from pathlib import Path
target = Path(sys.argv[sys.argv.index("--target-path") + 1])
(target / "manifest.json").write_text('{{"nodes": {{}}}}')
(target / "partial_parse.msgpack").write_text("")
"""
"""What dbt leaves behind, in no time."""


def test_others_read_the_old_manifest_until_the_new_one_is_whole(tmp_path, monkeypatch):
    manifest, program = tmp_path / "manifest.json", tmp_path / "dbt"
    manifest.write_text("damaged")
    program.write_text(PARSED)
    program.chmod(0o755)
    run, ends = subprocess.run, [KeyboardInterrupt]

    def watched(*arguments, **options):
        result = run(*arguments, **options)
        assert manifest.read_text() == "damaged"
        if ends:
            raise ends.pop()
        return result

    monkeypatch.setattr(dbt, "cache_folder", lambda home: tmp_path)
    monkeypatch.setattr(dbt, "DBT", program)
    monkeypatch.setattr(subprocess, "run", watched)
    settings, names = HomeSettings(Home.at(tmp_path / "home")), {"manifest.json", "dbt", "home"}
    with pytest.raises(KeyboardInterrupt):
        dbt.prepare(settings)
    assert {path.name for path in tmp_path.iterdir()} == names
    dbt.prepare(settings)
    assert manifest.read_text() == '{"nodes": {}}'
    assert {path.name for path in tmp_path.iterdir()} == names | {"partial_parse.msgpack"}


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
