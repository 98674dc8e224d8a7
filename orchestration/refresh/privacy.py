"""Bring a home in line with `privacy` in cluster.toml: hash what is stored, delete what holds plain names.

It runs before a refresh looks at the logs. The working file is copied with pseudonyms and replaced in one step, then
everything else that a run has written is deleted, and only then the home's state is written: a refresh that was killed
in between begins again. Nothing is published before.
"""

from __future__ import annotations

from pathlib import Path

import duckdb

from orchestration.disk import remove
from orchestration.environment import HomeSettings
from orchestration.home import Home
from orchestration.upkeep.healing import MARK, Say, heal, is_damage, set_aside_files
from orchestration.upkeep.privacy import Change, change_of, read_state, write_state

KEPT_OF_DAGSTER = ("dagster.yaml",)


def follow_privacy(settings: HomeSettings, say: Say) -> None:
    """Make what the home holds agree with `privacy` in every cluster.toml.

    Parameters
    ----------
    settings
        The home, whose lock this process holds, and where the key is.
    say
        Called with a line for what was done.
    """
    from assets.sources.text.privacy_key import key_id, make_key, read_key, require_outside

    home, key_file = settings.home, settings.privacy_key
    change = change_of(home, key_file)
    if change is None:
        return
    state = {name: key for name, key in read_state(home).items() if name not in change.switched_off}
    if change.to_hash:
        require_outside(key_file, {"home": home.root, "sources folder": home.sources})
        key = read_key(key_file)
        if key is None:
            key = make_key(key_file)
            say(f"the key of pseudonyms was made: {key_file}. Keep a copy apart from the home; without it they change")
        removed_count = _hash_working_file(home, change, key, say)
        deleted = _delete_what_runs_wrote(home)
        write_state(home, {**state, **dict.fromkeys(change.to_hash, key_id(key))})
        say(_done(change, removed_count, deleted))
    if change.switched_off:
        if not change.to_hash:
            write_state(home, state)
        say(
            f"privacy of {', '.join(change.switched_off)} is switched off in cluster.toml: users, accounts, job names"
            " and the text of logs are stored and published from now on"
        )


def _done(change: Change, removed_count: int, deleted: list[str]) -> str:
    """Say in one line what became of what the home held."""
    said = []
    if change.switched_on:
        said.append(f"privacy of {', '.join(change.switched_on)} is switched on")
    if change.rekeyed:
        said.append(f"the key of {', '.join(change.rekeyed)} is another one, so all pseudonyms change")
    said.append(f"deleted: {', '.join(deleted)}" if deleted else "there was nothing to delete")
    if removed_count:
        said.append(
            f"rows of {removed_count} files that are gone from the sources folder keep their earlier pseudonyms"
        )
    return f"{'; '.join(said)}; the logs are read again"


def _hash_working_file(home: Home, change: Change, key: str, say: Say) -> int:
    """Replace the working file by a copy with pseudonyms; return how many files kept those of an earlier key."""
    from assets.raw.pseudonymous_copy import copy_with_pseudonyms
    from assets.sources.formats import PRIVACY
    from assets.sources.text.privacy_key import key_id
    from assets.sources.text.pseudonyms import give_key
    from assets.warehouse import Warehouse, remove_file

    file = home.working_file
    if not file.exists():
        return 0
    unfinished = file.with_name(f".hashing-{file.name}")
    remove_file(unfinished)
    removed_count = 0
    try:
        # The journal of a killed refresh is brought into the file, which then is opened for reading only.
        with Warehouse(path=str(file)).writing() as con:
            con.execute("checkpoint")
            hashed = {name for (name,) in con.execute("select cluster_id from ops.privacy").fetchall()}
        with Warehouse(path=str(unfinished)).writing() as con:
            give_key(con, key)
            to_hash = set(change.to_hash) - hashed
            removed_count = copy_with_pseudonyms(con, file, PRIVACY, to_hash, set(change.to_hash) - to_hash)
            # In the same file as the rows: after an interruption no pseudonym is hashed again.
            con.execute("delete from ops.privacy where list_contains(?, cluster_id)", [change.to_hash])
            con.execute("insert into ops.privacy select unnest(?), ?", [change.to_hash, key_id(key)])
            con.execute("checkpoint")
    except duckdb.Error as error:
        remove_file(unfinished)
        if not (is_damage(error) and heal(home, say, deep=True)):
            raise
        return _hash_working_file(home, change, key, say)
    unfinished.replace(file)
    file.with_name(f"{file.name}.wal").unlink(missing_ok=True)
    return removed_count


def _delete_what_runs_wrote(home: Home) -> list[str]:
    """Delete publications, reports, damaged copies, logs and Dagster's history; return what there was, in words."""
    from orchestration.publication.folders import kept_publications

    count, damaged = len(kept_publications(home)), len(set_aside_files(home))
    logs = [path for path in _children(home.work) if path not in (home.working_file, home.lock_file)]
    history = [path for path in _children(home.dagster) if path.name not in KEPT_OF_DAGSTER]
    _wipe_other_storage(home)
    for path in (
        *(home.published_file, home.report.parent),
        *_children(home.publications),
        *_children(home.report.parent.parent),
        *_children(home.published_file.parent),
        *logs,
        *history,
    ):
        remove(path, is_required=True)
    return [
        *(
            [f"{count} publication{'s' if count > 1 else ''} with the report{'s' if count > 1 else ''}"]
            if count
            else []
        ),
        *([f"{damaged} damaged cop{'ies' if damaged > 1 else 'y'}"] if damaged else []),
        *(["the logs of runs"] if any(MARK not in path.name for path in logs) else []),
        *(["Dagster's history"] if history else []),
    ]


def _wipe_other_storage(home: Home) -> None:
    """Empty Dagster's history where dagster.yaml keeps it in a database outside the home."""
    settings = home.dagster / "dagster.yaml"
    if not settings.is_file() or "postgres" not in settings.read_text(encoding="utf-8").lower():
        return
    from orchestration.instance import open_storage

    with open_storage(home) as instance:
        instance.wipe()
        if instance.schedule_storage is not None:
            instance.schedule_storage.wipe()


def _children(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []
