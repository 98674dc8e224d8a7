"""`faultline refresh --forget`: delete the rows of files removed from the sources folder, and of older versions.

The rows of a removed file stay until this command deletes them, and so do those of older versions of a file that is
there with other bytes. The next refresh reads the files of the same kind again that are in the folder: what they state
counts, and nothing of what was forgotten. So a file in the folder cannot be forgotten.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import duckdb

from assets.sources.formats import READERS
from assets.sources.intake.find.candidates import is_utf8, visible_folders
from assets.sources.intake.find.known_files import forget_files
from assets.warehouse import Warehouse, transaction
from orchestration.home import Home
from orchestration.upkeep.healing import is_damage
from orchestration.upkeep.lock import RefreshLock


class CannotForget(Exception):
    """There is no such removed file, or the working file cannot be opened; the text says what to do next."""


@dataclass(frozen=True)
class Forgettable:
    """A removed file or an older version of a file, and how many of its lines are loaded."""

    path: str
    kind: str
    loaded: int


def forget(home: Home, named: Sequence[str], *, is_confirmed: bool) -> list[Forgettable]:
    """Delete the rows of removed files of clusters, and of older versions; without `is_confirmed`, only list them.

    Parameters
    ----------
    home
        The home.
    named
        Clusters, or paths below the sources folder with `*` for any text. The path of a file stands for its older
        versions too, and a cluster for all of its removed files and versions.
    is_confirmed
        Delete the rows; the next refresh publishes without them.

    Raises
    ------
    CannotForget
        No removed file matches one of the names, there is no sources folder, or the working file cannot be opened.
    RefreshRunning
        A refresh is under way.
    """
    if not home.working_file.exists():
        raise CannotForget(f"nothing was read yet: there is no {home.working_file}; run `faultline refresh` first")
    if not home.sources.is_dir():
        # Then nobody can tell which files are gone.
        raise CannotForget(f"the sources folder {home.sources} does not exist; name it with --sources")
    try:
        with RefreshLock(home.lock_file), Warehouse(path=str(home.working_file)).writing() as con:
            by_cluster = {
                cluster_id: _matching(con, home, cluster_id, paths) for cluster_id, paths in _paths_of(named).items()
            }
            found = [file for files in by_cluster.values() for file in files]
            if is_confirmed:
                with transaction(con):
                    for cluster_id, files in by_cluster.items():
                        _delete(con, cluster_id, files)
                home.forgotten.write_text("".join(f"{file.path}\n" for file in found), encoding="utf-8")
    except duckdb.Error as error:
        next_step = (
            "run `faultline refresh`, which repairs it, and then this again"
            if is_damage(error)
            else "close what else has it open, or free space on its disk, and run this again"
        )
        raise CannotForget(f"{home.working_file} cannot be used ({str(error).splitlines()[0]}); {next_step}") from error
    return found


def has_logs(home: Home) -> bool:
    """Return whether any cluster has a log in the sources folder."""
    return any(True for folder in visible_folders(home.sources) for _ in folder.glob("*/*"))


def _paths_of(named: Sequence[str]) -> dict[str, list[str]]:
    """Return the paths by cluster; none stands for all of the cluster."""
    found: dict[str, list[str]] = {}
    for name in named:
        cluster_id, _, path = name.partition("/")
        found.setdefault(cluster_id, []).append(path)
    return {cluster_id: paths if all(paths) else [] for cluster_id, paths in found.items()}


def _matching(con: duckdb.DuckDBPyConnection, home: Home, cluster_id: str, paths: Sequence[str]) -> list[Forgettable]:
    rows = (
        con.execute(
            "select path, kind, loaded, version_of from ops.files where cluster_id = ? order by path", [cluster_id]
        ).fetchall()
        if is_utf8(cluster_id)
        else []
    )
    if not rows:
        raise CannotForget(f"nothing was read of a cluster {cluster_id!r}; `faultline status` names the clusters")
    patterns = [pattern for path in paths for pattern in (path, f"{cluster_id}/{path}")] or ["*"]
    matching = [
        row
        for row in rows
        if any(fnmatchcase(name, pattern) for pattern in patterns for name in (row[0], row[3]) if name)
    ]
    found = [Forgettable(*row[:3]) for row in matching if row[3] or not os.path.lexists(home.sources / row[0])]
    if found:
        return found
    if not matching:
        raise CannotForget(f"no file that was read of {cluster_id} is named {' or '.join(paths)}; ops.files lists them")
    if paths:
        raise CannotForget(
            f"{matching[0][0]} is in the sources folder and would be read again; take it out of there first"
        )
    raise CannotForget(
        f"all files that were read of {cluster_id} are in the sources folder; take out first what is to be forgotten"
    )


def _delete(con: duckdb.DuckDBPyConnection, cluster_id: str, files: Sequence[Forgettable]) -> None:
    for kind in sorted({file.kind for file in files}):
        keys = [(cluster_id, file.path) for file in files if file.kind == kind]
        forget_files(con, READERS[kind], keys)
        con.execute(
            "update ops.files set reader = '' where cluster_id = ? and kind = ? and is_present", [cluster_id, kind]
        )
