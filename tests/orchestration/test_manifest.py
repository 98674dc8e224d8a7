"""The parsed dbt project is shared by all who run from one checkout: it is replaced whole or not at all."""

import json
import os

import pytest
from dbt.cli.main import dbtRunner

from orchestration import dbt
from orchestration.home import Home


@pytest.fixture
def shared(tmp_path, monkeypatch):
    """A manifest that is older than the project's files."""
    manifest = tmp_path / "target" / "manifest.json"
    manifest.parent.mkdir()
    manifest.write_text('{"parsed": "before"}')
    os.utime(manifest, (0, 0))
    monkeypatch.setattr(dbt, "MANIFEST", manifest)
    monkeypatch.setattr(dbt, "LINEAGE", manifest.with_name("column_lineage.json"))
    return manifest


def test_others_read_the_old_manifest_until_the_new_one_is_whole(shared, tmp_path, monkeypatch):
    seen = []
    invoke = dbtRunner.invoke

    def watched(self, arguments):
        result = invoke(self, arguments)
        seen.append(json.loads(shared.read_text()))
        return result

    monkeypatch.setattr(dbtRunner, "invoke", watched)
    dbt.prepare(Home.at(tmp_path / "home"))
    assert seen == [{"parsed": "before"}]
    assert "model.faultline.fct_attempts" in json.loads(shared.read_text())["nodes"]
    assert {path.name for path in shared.parent.iterdir()} == {"manifest.json", "partial_parse.msgpack"}


def test_a_parse_that_fails_leaves_the_manifest_that_was(shared, tmp_path, monkeypatch):
    def cut_off(self, arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(dbtRunner, "invoke", cut_off)
    with pytest.raises(KeyboardInterrupt):
        dbt.prepare(Home.at(tmp_path / "home"))
    assert [path.name for path in shared.parent.iterdir()] == ["manifest.json"]
    assert json.loads(shared.read_text()) == {"parsed": "before"}
