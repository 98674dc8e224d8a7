"""Send the events of a refresh where FAULTLINE_OPENLINEAGE says. Nothing here makes a refresh fail."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import duckdb

from assets.sources.text.masking import mask
from orchestration.open_lineage.events import Event, Namespaces, event_of_failure, events_of_publication
from orchestration.read_commands.published import ReadingError, published
from orchestration.settings.environment import HomeSettings
from orchestration.settings.home import code_version
from orchestration.terminal.posting import NotDelivered, post, read_secret
from orchestration.upkeep.disk import replace_file
from orchestration.upkeep.permissions import mode_for_others

Say = Callable[[str], None]
MAX_SECONDS = 60
"""The limit for all events of a refresh together; each event has the shorter limit of a channel."""


def send_publication(settings: HomeSettings, run_id: str, say: Say) -> None:
    """Send the events of the refresh that made the publication; a problem becomes a line."""
    if not settings.lineage.is_set:
        return
    with _saying_what_fails(say), published(settings.home.published_file) as con:
        _send(settings, list(events_of_publication(con, run_id, namespaces(settings))))


def send_failure(settings: HomeSettings, run_id: str | None, message: str, say: Say) -> None:
    """Send the event of a failed refresh; a refresh without a run has no event."""
    if not settings.lineage.is_set or run_id is None:
        return
    with _saying_what_fails(say):
        _send(settings, [event_of_failure(run_id, mask(message), code_version(), namespaces(settings))])


def namespaces(settings: HomeSettings) -> Namespaces:
    """Name a home by its machine and path."""
    machine = socket.gethostname()
    return Namespaces(f"faultline://{machine}{settings.home.root}", f"file://{machine}{settings.home.sources}")


@contextmanager
def _saying_what_fails(say: Say) -> Iterator[None]:
    """Say what went wrong in a line; of an unexpected error only the type, because its text may hold a secret."""
    try:
        yield
    except (ReadingError, duckdb.Error, NotDelivered, OSError) as error:
        say(f"the lineage was not delivered: {' '.join(str(error).split())}")
    except Exception as error:  # noqa: BLE001 -- the refresh is done, whatever happens here
        say(f"the lineage was not delivered: unexpected {type(error).__name__}")


def _send(settings: HomeSettings, events: Iterable[Event]) -> None:
    lineage = settings.lineage
    if lineage.file:
        lines = "".join(f"{json.dumps(event)}\n" for event in events)
        replace_file(lineage.file, lines.encode(), mode_for_others(lineage.file, settings.home))
        return
    headers = {"Content-Type": "application/json"}
    if lineage.key_file:
        headers["Authorization"] = f"Bearer {read_secret(lineage.key_file)}"
    until = time.monotonic() + MAX_SECONDS
    for event in events:
        if time.monotonic() > until:
            raise NotDelivered(f"not all of it within {MAX_SECONDS} s")
        post(str(lineage.address), json.dumps(event).encode(), headers)
