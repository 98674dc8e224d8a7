"""How the last pull of each cluster ended, kept in the home; doctor, status and refresh tell of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from orchestration.home import Home

if TYPE_CHECKING:
    import duckdb

PULLED, INCOMPLETE, FAILED, BUSY = "pulled", "incomplete", "failed", "busy"
"""How a pull ended: with all that was asked for; without some of it; without the newest accounting; not begun, because
another one runs. The last is not kept."""
REASON_WITH_NAMES = "its reason is not kept, as the text may hold names; `faultline pull` shows it"
"""What is kept of a cluster with pseudonyms in place of a reason, which may quote what a command printed."""


@dataclass(frozen=True)
class PullOutcome:
    """How a pull ended. Moments are ISO 8601 in UTC."""

    status: str
    ended_at: str
    pulled_to: str | None
    """The moment up to which accounting is in the sources folder."""
    reason: str | None
    next_step: str | None

    @property
    def is_failed(self) -> bool:
        """Whether the newest accounting could not be fetched."""
        return self.status == FAILED

    @property
    def is_whole(self) -> bool:
        """Whether everything was fetched."""
        return self.status == PULLED


def keep_outcome(home: Home, cluster_id: str, outcome: PullOutcome) -> None:
    """Remember how a pull of a home's cluster ended."""
    from orchestration.pull.files import replace_file
    from orchestration.upkeep.permissions import private_files

    if outcome.status == BUSY:
        return
    if outcome.pulled_to is None and (before := last_outcome(home, cluster_id)) is not None:
        outcome = replace(outcome, pulled_to=before.pulled_to)
    outcome = _without_names(home, cluster_id, outcome)
    with private_files():
        replace_file(home.pulls / f"{cluster_id}.json", json.dumps(asdict(outcome), indent=1).encode())


def last_outcome(home: Home, cluster_id: str) -> PullOutcome | None:
    """Return how the last pull of a cluster ended; None if there was none, or nothing legible is known of it."""
    try:
        stored = json.loads((home.pulls / f"{cluster_id}.json").read_text(encoding="utf-8"))
        outcome = PullOutcome(**stored)
        for moment in (outcome.ended_at, outcome.pulled_to):
            if moment is not None:
                datetime.fromisoformat(moment)
    except (OSError, ValueError, TypeError):
        return None
    return _without_names(home, cluster_id, outcome)


def is_pseudonymous(home: Home, cluster_id: str) -> bool:
    """Return whether no name of a cluster is to be kept."""
    from assets.sources.settings import read_settings

    return read_settings(home.sources / cluster_id, cluster_id)[0].is_pseudonymous


def _without_names(home: Home, cluster_id: str, outcome: PullOutcome) -> PullOutcome:
    if outcome.reason is None or not is_pseudonymous(home, cluster_id):
        return outcome
    return replace(outcome, reason=REASON_WITH_NAMES)


def record_pulls(con: duckdb.DuckDBPyConnection, run_id: str, outcomes: Mapping[str, PullOutcome | None]) -> None:
    """Replace the rows of `ops.pulls` by what is known now; a cluster that was never pulled has none."""
    con.execute("delete from ops.pulls")
    for cluster_id, outcome in outcomes.items():
        if outcome is not None:
            ended_at, pulled_to = _in_utc(outcome.ended_at), _in_utc(outcome.pulled_to)
            con.execute(
                "insert into ops.pulls values (?, ?, ?, ?, ?, ?, ?)",
                [cluster_id, run_id, outcome.status, ended_at, pulled_to, outcome.reason, outcome.next_step],
            )


def _in_utc(moment: str | None) -> datetime | None:
    return None if moment is None else datetime.fromisoformat(moment).astimezone(UTC).replace(tzinfo=None)


def in_words(moment: str | None) -> str:
    """Write a moment to the minute.

    >>> in_words("2026-11-25T01:38:52+00:00")
    '2026-11-25 01:38 UTC'
    """
    return f"{moment[:16].replace('T', ' ')} UTC" if moment else "never"
