"""`faultline refresh --forget`: delete the rows of removed files, of older versions, or all data of a cluster.

The rows of a removed file, and of older versions of a changed file, stay until this command deletes them. The next
refresh reads the present files of the same kind again: their content counts, and nothing that was forgotten. So a file
in the folder cannot be forgotten.

A cluster with changed privacy is forgotten completely, with its files in the folder and everything that runs wrote,
because all of that may hold its names. It stays in `privacy.json` until nothing of it is left, so that an interrupted
run can be repeated.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb

from assets.sources.formats import READERS
from assets.sources.intake.find.candidates import is_utf8, visible_folders
from assets.sources.intake.find.known_files import copy_without, forget_files
from assets.sources.intake.find.privacy import Privacy
from assets.sources.settings import read_settings
from assets.warehouse import Warehouse, transaction
from orchestration.settings.home import Home
from orchestration.upkeep.disk import remove
from orchestration.upkeep.healing import is_damage
from orchestration.upkeep.lock import RefreshLock
from orchestration.upkeep.permissions import private_files


class CannotForget(Exception):
    """No removed file matches, or the working file cannot be opened; the text says what to do next."""


@dataclass(frozen=True)
class Forgettable:
    """A file or an older version of a file, and how many of its lines are loaded."""

    path: str
    kind: str
    loaded: int


def forget(
    home: Home, named: Sequence[str], *, is_confirmed: bool, key_file: Path | None = None
) -> tuple[list[Forgettable], list[str]]:
    """Delete the rows of removed files and of older versions; without `is_confirmed`, only list the files.

    Parameters
    ----------
    home
        The home.
    named
        Clusters, or paths below the sources folder with `*` for any text. The path of a file includes its older
        versions, and a cluster all of its removed files and versions. A cluster with changed privacy stands for all
        of its data.
    is_confirmed
        Delete the rows; the next refresh publishes without them.
    key_file
        The key of pseudonyms.

    Returns
    -------
    The files and versions, and the named clusters with changed privacy.
    """
    if not (home.working_file.exists() or home.privacy.exists()):
        raise CannotForget(f"nothing was read yet: there is no {home.working_file}; run `faultline refresh` first")
    if not home.sources.is_dir():
        # Without the folder, nothing says which files were removed.
        raise CannotForget(f"the sources folder {home.sources} does not exist; name it with --sources")
    try:
        with private_files(), RefreshLock(home.lock_file):
            with Warehouse(path=str(home.working_file)).writing() as con:
                privacy = Privacy.of(con, home.privacy, key_file)
                paths_of = _paths_of(named)
                changed = [name for name, paths in paths_of.items() if not paths and _has_changed(home, privacy, name)]
                by_cluster = {
                    name: _matching(con, home, name, paths, is_whole=name in changed)
                    for name, paths in paths_of.items()
                }
                if is_confirmed:
                    with transaction(con):
                        for name in by_cluster.keys() - changed:
                            _delete(con, name, by_cluster[name])
                    con.execute("checkpoint")
            found = [file for files in by_cluster.values() for file in files]
            if is_confirmed:
                if changed:
                    _delete_everything_of(home, privacy, changed)
                home.forgotten.write_text("".join(f"{file.path}\n" for file in found), encoding="utf-8")
    except duckdb.Error as error:
        next_step = (
            "run `faultline refresh`, which repairs it, and then this again"
            if is_damage(error)
            else "close what else has it open, or free space on its disk, and run this again"
        )
        raise CannotForget(f"{home.working_file} cannot be used ({str(error).splitlines()[0]}); {next_step}") from error
    except OSError as error:
        place, why = error.filename or home.root, error.strerror
        raise CannotForget(f"{place} cannot be changed ({why}); make it writable, and run this again") from error
    return found, changed


def has_logs(home: Home) -> bool:
    """Return whether any cluster has a log in the sources folder."""
    return any(True for folder in visible_folders(home.sources) for _ in folder.glob("*/*"))


def _has_changed(home: Home, privacy: Privacy, cluster_id: str) -> bool:
    folder = home.sources / cluster_id
    if not folder.is_dir():
        return False
    cluster, wrong = read_settings(folder, cluster_id)
    return not wrong and privacy.change_of(cluster) is not None


def _paths_of(named: Sequence[str]) -> dict[str, list[str]]:
    """Return the paths by cluster; an empty list stands for the whole cluster."""
    found: dict[str, list[str]] = {}
    for name in named:
        cluster_id, _, path = name.partition("/")
        found.setdefault(cluster_id, []).append(path)
    return {cluster_id: paths if all(paths) else [] for cluster_id, paths in found.items()}


def _matching(
    con: duckdb.DuckDBPyConnection, home: Home, cluster_id: str, paths: Sequence[str], *, is_whole: bool
) -> list[Forgettable]:
    rows = (
        con.execute(
            "select path, kind, loaded, version_of from ops.files where cluster_id = ? order by path", [cluster_id]
        ).fetchall()
        if is_utf8(cluster_id)
        else []
    )
    if is_whole:
        return [Forgettable(*row[:3]) for row in rows]
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


def _delete_everything_of(home: Home, privacy: Privacy, clusters: Collection[str]) -> None:
    """Replace the working file by a copy without these clusters, and delete everything else that runs wrote."""
    privacy.record(privacy.read_with)
    with TemporaryDirectory(prefix="scratch-", dir=home.work) as scratch:
        copy = Path(scratch, home.working_file.name)
        with Warehouse(path=str(copy)).writing() as con:
            copy_without(con, home.working_file, clusters)
        copy.replace(home.working_file)
    _wipe_other_storage(home)
    kept = (home.working_file, home.lock_file, home.dagster / "dagster.yaml")
    of_files = (home.alerts, home.metrics, home.published_file, home.report.parent)
    for folder in (home.work, home.dagster, home.publications, *(file.parent for file in of_files)):
        for path in sorted(folder.iterdir()) if folder.is_dir() else []:
            if path not in kept:
                remove(path, is_required=True)
    privacy.record({name: how for name, how in privacy.read_with.items() if name not in clusters})


def _wipe_other_storage(home: Home) -> None:
    """Empty Dagster's history if dagster.yaml keeps it in a database outside the home."""
    settings = home.dagster / "dagster.yaml"
    if not settings.is_file() or "postgres" not in settings.read_text(encoding="utf-8").lower():
        return
    from orchestration.runs.instance import open_storage

    with open_storage(home) as instance:
        instance.wipe()
        if instance.schedule_storage is not None:
            instance.schedule_storage.wipe()
