"""All users of a checkout share the parsed dbt project, so it is replaced in one step."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from orchestration.dbt import build as dbt
from orchestration.environment import HomeSettings, given_to_dbt
from orchestration.home import Home


def outdated(folder: Path, patch: pytest.MonkeyPatch) -> Path:
    """Put a manifest that is older than the project's files in the place of the shared one."""
    manifest = folder / "target" / "manifest.json"
    manifest.parent.mkdir()
    manifest.write_text('{"parsed": "before"}')
    os.utime(manifest, (0, 0))
    patch.setattr(dbt, "cache_folder", lambda home: manifest.parent)
    return manifest


@pytest.fixture(scope="module")
def parsed(tmp_path_factory):
    """The new manifest, and what other processes read of the old one while dbt was parsing."""
    folder, seen = tmp_path_factory.mktemp("parsed"), []
    run = subprocess.run
    with pytest.MonkeyPatch.context() as patch:
        manifest = outdated(folder, patch)

        def watched(*arguments, **options):
            result = run(*arguments, **options)
            seen.append(json.loads(manifest.read_text()))
            return result

        patch.setattr(subprocess, "run", watched)
        dbt.prepare(HomeSettings(Home.at(folder / "home")))
    return manifest, seen


def test_others_read_the_old_manifest_until_the_new_one_is_whole(parsed):
    manifest, seen = parsed
    assert seen == [{"parsed": "before"}]
    assert "model.faultline.fct_attempts" in json.loads(manifest.read_text())["nodes"]
    assert {path.name for path in manifest.parent.iterdir()} == {"manifest.json", "partial_parse.msgpack"}


def test_a_parse_that_fails_leaves_the_manifest_that_was(tmp_path, monkeypatch):
    manifest = outdated(tmp_path, monkeypatch)

    def cut_off(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess, "run", cut_off)
    with pytest.raises(KeyboardInterrupt):
        dbt.prepare(HomeSettings(Home.at(tmp_path / "home")))
    assert [path.name for path in manifest.parent.iterdir()] == ["manifest.json"]
    assert json.loads(manifest.read_text()) == {"parsed": "before"}


def test_one_parsed_project_serves_every_home(parsed, tmp_path):
    """dbt says so in its log when it parses the whole project again."""
    manifest, _ = parsed
    home = Home.at(tmp_path / "another")
    home.work.mkdir(parents=True)
    resource = dbt.dbt_resource(home)
    target = home.work / "dbt"
    with given_to_dbt(HomeSettings(home), manifest.parent):
        listed = resource.cli(["ls", "--log-level-file", "debug"], target_path=target).wait()
    assert listed.is_successful()
    said = (target / "dbt.log").read_text()
    assert "Partial parsing enabled: 0 files deleted, 0 files added, 0 files changed." in said
    assert "Unable to do partial parsing" not in said
