"""All homes of a user share the parsed dbt project, so it is replaced in one step."""

import json
import subprocess
import sys

import pytest

from orchestration.dbt import build as dbt
from orchestration.environment import HomeSettings, given_to_dbt
from orchestration.home import Home

PARSED = f"""#!{sys.executable}
import sys
from pathlib import Path
target = Path(sys.argv[sys.argv.index("--target-path") + 1])
(target / "manifest.json").write_text('{{"nodes": {{}}}}')
(target / "partial_parse.msgpack").write_text("")
"""
"""What dbt leaves behind, in no time."""


@pytest.mark.parametrize("is_cut_off", [False, True])
def test_others_read_the_old_manifest_until_the_new_one_is_whole(tmp_path, monkeypatch, is_cut_off):
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / "manifest.json").write_text("damaged")
    program = tmp_path / "dbt"
    program.write_text(PARSED)
    program.chmod(0o755)
    run, seen = subprocess.run, []

    def watched(*arguments, **options):
        result = run(*arguments, **options)
        seen.append((cache / "manifest.json").read_text())
        if is_cut_off:
            raise KeyboardInterrupt
        return result

    monkeypatch.setattr(dbt, "cache_folder", lambda home: cache)
    monkeypatch.setattr(dbt, "DBT", program)
    monkeypatch.setattr(subprocess, "run", watched)
    if is_cut_off:
        with pytest.raises(KeyboardInterrupt):
            dbt.prepare(HomeSettings(Home.at(tmp_path / "home")))
    else:
        dbt.prepare(HomeSettings(Home.at(tmp_path / "home")))
    assert seen == ["damaged"]
    assert (cache / "manifest.json").read_text() == ("damaged" if is_cut_off else '{"nodes": {}}')
    others = [] if is_cut_off else ["partial_parse.msgpack"]
    assert sorted(path.name for path in cache.iterdir()) == ["manifest.json", *others]


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
