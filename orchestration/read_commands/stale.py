"""Whether a night passed without a new publication, and why: for `faultline status --alert` and the sensor."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from orchestration.publication.folders import newest_publication, pinned_publication
from orchestration.read_commands.published import ReadingError
from orchestration.read_commands.status import status
from orchestration.settings.home import Home


@dataclass(frozen=True)
class Stale:
    """A newest publication that is too old: its run and time, and why there is no newer one."""

    run_id: str
    since: datetime
    line: str


def stale(home: Home, hours: int) -> Stale | None:
    """Return whether a home is stale; None while its newest publication is new enough, and if there is no home."""
    newest, pinned = newest_publication(home), pinned_publication(home)
    if newest is not None:
        run_id, since = newest.run_id, newest.made_at
        line = f"the newest publication is of {since:%Y-%m-%d %H:%M} UTC, more than {hours} hours ago"
    else:
        # The first refresh or web server of a home makes Dagster's folder.
        made = next((folder for folder in (home.dagster, home.root) if folder.is_dir()), None)
        if made is None:
            return None
        run_id, since = "never", datetime.fromtimestamp(made.stat().st_ctime, UTC)
        line = f"nothing was ever published, and the home was made more than {hours} hours ago"
    if datetime.now(UTC) - since <= timedelta(hours=hours):
        return None
    line += f"; {_why(home)}"
    if pinned is not None:
        line += f"; publication {pinned.number} is pinned by `faultline rollback`"
    return Stale(run_id, since, line)


def last_run(home: Home) -> dict[str, Any] | None:
    """Return the last run as `faultline status` shows it; None if it is unknown, or while a refresh runs."""
    try:
        found = status(home)
    except ReadingError:
        return None
    return None if found["running"] else found["last_run"]


def _why(home: Home) -> str:
    run = last_run(home)
    if run is None:
        return "`faultline status` says more"
    if run["status"] != "succeeded":
        started = run["started_at"][:16].replace("T", " ")
        return f"the last run, started {started} UTC, failed; `faultline status` says why"
    return (
        "no run failed: no new logs came, or no refresh was started; look at the exports, and whether"
        " `faultline ui` or the timer runs"
    )
