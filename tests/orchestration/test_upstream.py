"""Private parts of other packages that are patched: they are still there, and what the patches avoid still happens.

A test here that fails after an upgrade says that a patch in orchestration/upstream.py is no longer needed, or no longer
works.
"""

import io
import subprocess
import sys
from importlib.metadata import version

import pytest
from dagster_dbt import DbtCliResource
from dagster_dbt.core import resource as dagster_dbt_resource
from dbt_common.dataclass_schema import dbtClassMixin
from dbt_common.events import event_manager
from dbt_common.events.base_types import EventLevel, msg_from_base_event
from dbt_common.events.event_manager import EventManager
from dbt_common.events.logger import LineFormat, LoggerConfig
from dbt_common.events.types import Note
from dbt_common.helper_types import NoValue

from orchestration.upstream import fast_dbt_resource, skip_schemas_of_settings, skip_unwanted_events


def manager(level: EventLevel) -> tuple[EventManager, io.StringIO]:
    """dbt's events, with one log of a level."""
    stream = io.StringIO()
    events = EventManager()
    events.add_logger(LoggerConfig(level.value, line_format=LineFormat.Json, level=level, output_stream=stream))
    return events, stream


@pytest.fixture
def made(monkeypatch):
    """The levels of all messages that are made."""
    levels = []

    def noted(event, level=None):
        message = msg_from_base_event(event, level=level)
        levels.append(message.info.level)
        return message

    monkeypatch.setattr(event_manager, "msg_from_base_event", noted)
    monkeypatch.setattr(EventManager, "fire_event", EventManager.fire_event)
    return levels


def fire_all(events: EventManager) -> None:
    for level in (EventLevel.DEBUG, EventLevel.INFO, EventLevel.ERROR):
        events.fire_event(Note(msg=f"this is {level.value}"), level=level)
    events.fire_event(Note(msg="of its own level"))


@pytest.mark.parametrize(
    ("wanted", "shown_levels"),
    [
        (EventLevel.DEBUG, ["debug", "info", "error"]),
        (EventLevel.INFO, ["info", "error"]),
        (EventLevel.ERROR, ["error"]),
    ],
)
def test_messages_are_made_of_events_that_a_log_takes(made, wanted, shown_levels):
    skip_unwanted_events()
    events, stream = manager(wanted)
    fire_all(events)
    assert [f"this is {level}" in stream.getvalue() for level in shown_levels] == [True] * len(shown_levels)
    assert ("of its own level" in stream.getvalue()) == (wanted != EventLevel.ERROR)
    assert ("debug" in made) == (wanted == EventLevel.DEBUG)


def test_dbt_without_the_patch_makes_messages_that_no_log_takes(made):
    events, _ = manager(EventLevel.ERROR)
    fire_all(events)
    assert made == ["debug", "info", "error", "info"]


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
    assert str(fast_dbt_resource(**folders)._cli_version) == version("dbt-core")
    assert len(started) == 1


@pytest.mark.parametrize(("block", "is_imported"), [("without_dbt()", False), ("contextlib.nullcontext()", True)])
def test_dagster_dbt_imports_dbt_and_the_patch_has_it_find_none(block, is_imported):
    code = (
        "import contextlib, sys; from orchestration.upstream import without_dbt\n"
        f"with {block}: from dagster_dbt import DbtCliResource, dbt_assets\n"
        "print('dbt.contracts.results' in sys.modules); import dbt.version"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(is_imported)


def test_dbt_compares_settings_with_a_schema_and_the_patch_does_not(monkeypatch):
    made = []
    monkeypatch.setattr(dbtClassMixin, "json_schema", classmethod(lambda cls: made.append(cls) or {"type": "object"}))
    monkeypatch.setattr(dbtClassMixin, "validate", dbtClassMixin.__dict__["validate"])
    NoValue.validate({})
    assert made == [NoValue]
    skip_schemas_of_settings()
    NoValue.validate({})
    assert made == [NoValue]
