"""The commands that a pull would run, in their order. Nothing is written.

Only `sacct --helpformat` is run, which asks no database: it tells which fields this version of sacct has.
"""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime
from pathlib import Path

from assets.sources.settings import Pull
from orchestration.pull.failures import PullFailed
from orchestration.pull.pulling import Source, Span, planned
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


def commands(pull: Pull, source: Source, folder: Path, span: Span) -> list[str]:
    """Return what a pull would run now, each as it is typed into bash."""
    now = datetime.now(UTC).replace(microsecond=0)
    found = []
    fields = SACCT_FIELDS
    if pull.via == "text" and "sacct" in pull.kinds:
        found.append(source.shown(LIST_FIELDS))
        fields = _fields_there(source) or SACCT_FIELDS
    if pull.via != "slurmrestd" and "sacct" in pull.kinds:
        found.append(source.shown(SHOW_CONFIGURATION))
    for kind, window in planned(pull, span, read_state(folder), folder, now):
        query = windowed(kind, window, pull, fields) if window and kind in WINDOWED else snapshot(kind, now, pull)
        found.append(source.shown(query.words))
    return found


def _fields_there(source: Source) -> tuple[str, ...] | None:
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "fields"
        try:
            source.run(LIST_FIELDS, answer)
        except PullFailed:
            # The commands are wanted all the same: they are what an administrator looks at before anything runs.
            return None
        fields = fields_of_version(answer.read_text(encoding="utf-8", errors="replace"))
    return None if lacks_required(fields) else fields
