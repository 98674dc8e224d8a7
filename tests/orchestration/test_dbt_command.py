"""dbt makes lines of the events its logs take, and of no others."""

import io

import pytest
from dbt_common.events.base_types import EventLevel, msg_from_base_event
from dbt_common.events.logger import LineFormat, LoggerConfig, _JsonLogger, _Logger
from dbt_common.events.types import Note

from orchestration.dbt.command import skip_unwanted_lines


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
