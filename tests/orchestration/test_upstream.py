"""Private parts of other packages that are patched: they are still there, and what the patches avoid still happens.

A test here that fails after an upgrade says that a patch in orchestration/upstream.py is no longer needed, or no longer
works.
"""

import io
import sys
from importlib.metadata import version

import pytest
from dagster_dbt import DbtCliResource
from dagster_dbt.core import resource as dagster_dbt_resource
from dbt_common.events.base_types import EventLevel, msg_from_base_event
from dbt_common.events.logger import LineFormat, LoggerConfig, _JsonLogger, _Logger
from dbt_common.events.types import Note

from orchestration.upstream import fast_dbt_resource, skip_unwanted_lines


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        (EventLevel.DEBUG, ["debug", "info", "error"]),
        (EventLevel.INFO, ["info", "error"]),
        (EventLevel.ERROR, ["error"]),
    ],
)
def test_lines_are_made_of_events_that_a_log_takes(monkeypatch, wanted, told):
    monkeypatch.setattr(_Logger, "write_line", _Logger.write_line)
    made = []
    create_line = _JsonLogger.create_line
    monkeypatch.setattr(
        _JsonLogger, "create_line", lambda log, event: made.append(event.info.level) or create_line(log, event)
    )
    skip_unwanted_lines()
    stream = io.StringIO()
    logger = _JsonLogger(LoggerConfig("test", line_format=LineFormat.Json, level=wanted, output_stream=stream))
    for level in (EventLevel.DEBUG, EventLevel.INFO, EventLevel.ERROR):
        logger.write_line(msg_from_base_event(Note(msg=f"this is {level.value}"), level=level))
    assert [f"this is {level}" in stream.getvalue() for level in told] == [True] * len(told)
    assert stream.getvalue().count("\n") == len(told)
    assert ("debug" in made) == (wanted == EventLevel.DEBUG)


def test_dbt_without_the_patch_makes_lines_that_no_log_takes(monkeypatch):
    made = []
    monkeypatch.setattr(_JsonLogger, "create_line", lambda log, event: made.append(event.info.level) or "")
    logger = _JsonLogger(LoggerConfig("unpatched", line_format=LineFormat.Json, level=EventLevel.ERROR))
    logger.write_line(msg_from_base_event(Note(msg="for nobody"), level=EventLevel.DEBUG))
    assert made == ["debug"]


def test_dagster_dbt_runs_a_process_for_dbts_version_and_the_patch_does_not(tmp_path, monkeypatch):
    (tmp_path / "dbt_project.yml").write_text("name: empty\nprofile: empty\n")
    (tmp_path / "profiles.yml").write_text("empty: {target: here, outputs: {here: {type: duckdb}}}\n")
    started = []
    monkeypatch.setattr(
        dagster_dbt_resource, "check_output", lambda command: started.append(command) or b"installed: 1.2.3"
    )
    folders = {"project_dir": str(tmp_path), "profiles_dir": str(tmp_path), "dbt_executable": sys.executable}
    assert str(DbtCliResource(**folders)._cli_version) == "1.2.3"
    assert len(started) == 1
    assert str(fast_dbt_resource(tmp_path / "lineage", **folders)._cli_version) == version("dbt-core")
    assert len(started) == 1
