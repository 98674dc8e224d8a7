"""`faultline forget`: delete what was read of files that are gone from the sources folder.

Rows of a file that vanished stay until somebody says otherwise. What is still in the folder would be read again by the
next refresh, so it cannot be forgotten: it has to be taken out first.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import duckdb

from assets.sources.batch import transaction
from assets.sources.formats import READERS
from assets.sources.loading import forget_files
from assets.warehouse import Warehouse
from orchestration.home import Home
from orchestration.lock import RefreshLock


class NothingToForget(Exception):
    """No file that is gone is meant; its text says what is and what to do next."""


@dataclass(frozen=True)
class Forgettable:
    """A file that is gone, and how many of its lines count."""

    path: str
    kind: str
    loaded: int


def forget(home: Home, cluster_id: str, paths: Sequence[str], *, is_meant: bool) -> list[Forgettable]:
    """Delete what was read of files of a cluster that are gone; without `is_meant`, only list them.

    Parameters
    ----------
    home
        The home.
    cluster_id, paths
        The cluster, and paths below the sources folder or below the cluster's own, with `*` for any text; without any,
        all its files that are gone.
    is_meant
        Delete, and have the next refresh publish without them.

    Raises
    ------
    NothingToForget
        None of the cluster's files that are gone is meant.
    RefreshRunning
        A refresh is under way.
    """
    if not home.working_file.exists():
        raise NothingToForget(f"nothing was read yet: there is no {home.working_file}; run `faultline refresh` first")
    lock = RefreshLock(home.lock_file)
    lock.acquire()
    try:
        with Warehouse(path=str(home.working_file)).writing() as con:
            found = _meant(con, home, cluster_id, paths)
            if is_meant:
                _delete(con, cluster_id, found)
                home.forgotten.write_text("".join(f"{file.path}\n" for file in found), encoding="utf-8")
    finally:
        lock.release()
    return found


def _meant(con: duckdb.DuckDBPyConnection, home: Home, cluster_id: str, paths: Sequence[str]) -> list[Forgettable]:
    rows = con.execute(
        "select path, kind, loaded from ops.files where cluster_id = ? order by path", [cluster_id]
    ).fetchall()
    if not rows:
        raise NothingToForget(f"nothing was read of a cluster {cluster_id!r}; `faultline status` names the clusters")
    patterns = [pattern for path in paths for pattern in (path, f"{cluster_id}/{path}")] or ["*"]
    meant = [row for row in rows if any(fnmatchcase(row[0], pattern) for pattern in patterns)]
    found = [Forgettable(*row) for row in meant if not os.path.lexists(home.sources / row[0])]
    if found:
        return found
    if meant and paths:
        raise NothingToForget(
            f"{meant[0][0]} is in the sources folder and would be read again; take it out of there first"
        )
    raise NothingToForget(f"no file of {cluster_id} that is gone is meant; `faultline status` counts them")


def _delete(con: duckdb.DuckDBPyConnection, cluster_id: str, files: Sequence[Forgettable]) -> None:
    with transaction(con):
        for kind in sorted({file.kind for file in files}):
            keys = [(cluster_id, file.path) for file in files if file.kind == kind]
            forget_files(con, READERS[kind], keys)
