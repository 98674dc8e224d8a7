"""The commands that a pull would run, in their order. Nothing is written.

Only `sacct --helpformat` is run, which asks no database: it tells which fields this version of sacct has.
"""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime
from pathlib import Path

from assets.sources.settings import Pull
from orchestration.pull.failures import PullFailed
from orchestration.pull.host import Host
from orchestration.pull.pulling import Span, planned
from orchestration.pull.queries import (
    LIST_FIELDS,
    SACCT_FIELDS,
    SHOW_CONFIGURATION,
    WINDOWED,
    fields_of_version,
    lacks_required,
    snapshot,
    windowed,
)
from orchestration.pull.state import read_state


def commands(pull: Pull, folder: Path, span: Span) -> list[str]:
    """Return what a pull would run now, each as it is typed into bash."""
    now = datetime.now(UTC).replace(microsecond=0)
    host, found = Host(pull), []
    fields = SACCT_FIELDS
    if pull.via == "text" and "sacct" in pull.kinds:
        found.append(host.shown(LIST_FIELDS))
        fields = _fields_there(host) or SACCT_FIELDS
    if "sacct" in pull.kinds:
        found.append(host.shown(SHOW_CONFIGURATION))
    for kind, window in planned(pull, span, read_state(folder), folder, now):
        query = windowed(kind, window, pull, fields) if window and kind in WINDOWED else snapshot(kind, now, pull)
        found.append(host.shown(query.words))
    return found


def _fields_there(host: Host) -> tuple[str, ...] | None:
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "fields"
        try:
            host.run(LIST_FIELDS, answer)
        except PullFailed:
            # The commands are wanted all the same: they are what an administrator looks at before anything runs.
            return None
        fields = fields_of_version(answer.read_text(encoding="utf-8", errors="replace"))
    return None if lacks_required(fields) else fields
