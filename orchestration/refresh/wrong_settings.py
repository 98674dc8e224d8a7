"""Mistakes in `cluster.toml`, reported before a refresh loads its libraries.

A cluster with wrong settings keeps its last good numbers, and the others are built: the survey of the sources decides
that. This module reports all mistakes together, and a refresh ends here if no cluster is left.
"""

from __future__ import annotations

from contextlib import suppress

from orchestration.settings.home import Home
from orchestration.upkeep.healing import Say


def tell_wrong_settings(home: Home, say: Say) -> str | None:
    """Report every mistake and removed key of every cluster; return all mistakes if no cluster has usable settings."""
    from assets.sources.intake.find.candidates import is_utf8, visible_folders
    from assets.sources.settings import read_settings, warnings_of

    folders = []
    with suppress(OSError):  # The survey says why the sources cannot be listed.
        folders = [folder for folder in visible_folders(home.sources) if is_utf8(folder.name)]
    found = {folder.name: read_settings(folder, folder.name) for folder in folders}
    wrong = {name: errors for name, (_, errors) in found.items() if errors}
    lines = [str(error) for errors in wrong.values() for error in errors]
    if wrong and len(wrong) == len(found):
        return "\n".join(lines)
    lines += [str(warning) for cluster, _ in found.values() for warning in warnings_of(cluster)]
    for line in lines:
        say(line)
    for name in wrong:
        say(f"{name} is left out until that is corrected; if it has numbers, they stay as they are, marked as stale")
    return None
