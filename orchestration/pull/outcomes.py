"""The outcome of a cluster's pull; the last one is kept in the home for doctor, status and refresh."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from orchestration.settings.home import Home

if TYPE_CHECKING:
    import duckdb

PULLED, INCOMPLETE, FAILED, BUSY = "pulled", "incomplete", "failed", "busy"
"""How a pull ended: with everything; without some of it; without the newest accounting; not started, because another
pull runs. The last is not kept."""
REASON_WITH_NAMES = "its reason is not kept, as the text may hold names; `faultline pull` shows it"
"""Kept instead of the reason if a cluster has pseudonyms: a reason may quote the output of a command."""


@dataclass(frozen=True)
class Pulled:
    """What a pull of a cluster did and how it ended. Moments are ISO 8601 in UTC."""

    cluster_id: str
    status: str
    ended_at: str
    pulled_to: str | None = None
    """The moment up to which accounting is in the sources folder."""
    kinds: dict[str, dict[str, int]] = field(default_factory=dict)
    """By kind of log, the numbers of queries, records and written files."""
    problems: list[dict[str, str]] = field(default_factory=list)
    """What could not be fetched: `kind` of log, `what` and why, and the `next_step`."""

    @property
    def is_failed(self) -> bool:
        """Whether the newest accounting could not be fetched."""
        return self.status == FAILED

    @property
    def is_whole(self) -> bool:
        """Whether everything was fetched."""
        return self.status == PULLED

    @property
    def reason(self) -> str | None:
        """What could not be fetched and why, a line for each."""
        return "\n".join(f"{each['kind']}: {each['what']}".removeprefix(": ") for each in self.problems) or None

    @property
    def next_step(self) -> str | None:
        """What to do about it, a line for each."""
        return "\n".join(dict.fromkeys(each["next_step"] for each in self.problems)) or None

    def row(self) -> dict[str, str | None]:
        """Return the row for `ops.pulls` and `status --json`."""
        names = ("cluster_id", "status", "ended_at", "pulled_to", "reason", "next_step")
        return {name: getattr(self, name) for name in names}


def lines_of(pulled: Pulled) -> Iterator[str]:
    """Yield what a pull fetched, one line for each kind of log."""
    for kind, counts in pulled.kinds.items():
        yield f"{pulled.cluster_id} {kind:<10}" + ", ".join(f"{number:,} {what}" for what, number in counts.items())
    reached = f", accounting up to {in_words(pulled.pulled_to)}" if pulled.pulled_to else ""
    yield f"{pulled.cluster_id} {pulled.status}{reached}"


def keep_outcome(home: Home, pulled: Pulled) -> None:
    """Keep the outcome of a pull in the home."""
    from orchestration.upkeep.disk import replace_file
    from orchestration.upkeep.permissions import private_files

    before = last_outcome(home, pulled.cluster_id)
    if pulled.pulled_to is None and before is not None:
        pulled = replace(pulled, pulled_to=before.pulled_to)
    with private_files():
        home.pulls.mkdir(parents=True, exist_ok=True)
        text = json.dumps(asdict(_without_names(home, pulled)), indent=1)
        replace_file(_file(home, pulled.cluster_id), text.encode(), 0o600)


def last_outcome(home: Home, cluster_id: str) -> Pulled | None:
    """Return the outcome of a cluster's last pull; None if there was none or its file is unreadable."""
    try:
        return _without_names(home, Pulled(**json.loads(_file(home, cluster_id).read_text(encoding="utf-8"))))
    except (OSError, ValueError, TypeError):
        return None


def _file(home: Home, cluster_id: str) -> Path:
    return home.pulls / f"{cluster_id}.json"


def _without_names(home: Home, pulled: Pulled) -> Pulled:
    from assets.sources.settings import read_settings

    folder = home.sources / pulled.cluster_id
    if not pulled.problems or not read_settings(folder, pulled.cluster_id)[0].is_pseudonymous:
        return pulled
    return replace(pulled, problems=[{"kind": "", "what": REASON_WITH_NAMES, "next_step": pulled.next_step or ""}])


def record_pulls(con: duckdb.DuckDBPyConnection, run_id: str, outcomes: Iterable[Pulled | None]) -> None:
    """Replace the rows of `ops.pulls` by the last outcomes; a cluster that was never pulled has none."""
    con.execute("delete from ops.pulls")
    for outcome in outcomes:
        if outcome is not None:
            row = {"cluster_id": outcome.cluster_id, "run_id": run_id} | outcome.row()
            con.execute("insert into ops.pulls values (?, ?, ?, ?, ?, ?, ?)", [*row.values()])


def in_words(moment: str | None) -> str:
    """Write a moment to the minute.

    >>> in_words("2026-11-25T01:38:52+00:00")
    '2026-11-25 01:38 UTC'
    """
    return f"{moment[:16].replace('T', ' ')} UTC" if moment else "never"
