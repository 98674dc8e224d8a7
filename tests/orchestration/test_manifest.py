"""All homes of a user share the parsed dbt project, so it is replaced in one step."""

import subprocess
import sys

import pytest

from orchestration.dbt import build as dbt
from orchestration.settings.environment import HomeSettings
from orchestration.settings.home import Home

PARSED = f"""#!{sys.executable}
import sys
from pathlib import Path
target = Path(sys.argv[sys.argv.index("--target-path") + 1])
(target / "manifest.json").write_text('{{"nodes": {{}}}}')
(target / "partial_parse.msgpack").write_text("")
"""
"""Stands in for dbt: it writes dbt's output at once."""


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
