"""`faultline rollback`: show readers an earlier publication until there is something new to publish."""

from __future__ import annotations

from orchestration.publication.folders import NoSuchPublication, pinned_publication, roll_back
from orchestration.settings.home import Home
from orchestration.upkeep.lock import RefreshLock, RefreshRunning
from orchestration.upkeep.permissions import private_files


class RollbackFailed(Exception):
    """The rollback changed nothing; the text says why."""


def run_rollback(home: Home, wanted: str | None) -> str:
    """Go back to a publication and return a message about it."""
    if not home.publications.is_dir():
        raise RollbackFailed(f"no publication is kept in {home.root}; run `faultline refresh` first")
    try:
        with private_files(), RefreshLock(home.lock_file):
            target = roll_back(home, wanted)
    except (NoSuchPublication, RefreshRunning) as error:
        raise RollbackFailed(str(error)) from None
    except OSError as error:
        raise RollbackFailed(f"the publication could not be changed: {error}") from None
    said = f"readers now see publication {target.number}, published {target.published_at} by run {target.run_id}"
    if pinned_publication(home) is None:
        return f"{said}; it is the newest"
    return f"{said}; it stays until new logs come or `faultline refresh --full` is run"
