"""The folders of publications, and the link to the one that readers see.

    HOME/publications/<run>/faultline.duckdb        the file for readers
    HOME/publications/<run>/report/index.html       the report made with it
    HOME/publications/<run>/publication.json        its number, its run, when it was made and by which code
    HOME/publications/current -> <run>              the only change when something is published
    HOME/warehouse/faultline.duckdb -> ../publications/current/faultline.duckdb
    HOME/reports/latest -> ../publications/current/report

A folder is written under a hidden name, flushed to disk and renamed before the link points to it. Whenever the process
is killed, readers see the warehouse and the report of the same run. Publications are ordered by their numbers, not by
the clock.
"""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from orchestration.settings.home import Home
from orchestration.upkeep.disk import (
    flush,
    flush_if_possible,
    flush_tree,
    place_link,
    remove,
    replace_file,
)
from orchestration.upkeep.healing import MARK, make_accessible, problem_of, set_aside
from orchestration.upkeep.permissions import WrongGroup, open_publication, set_permissions

DESCRIPTION = "publication.json"
WAREHOUSE = "faultline.duckdb"
REPORT = "report"
PIN = "pinned.json"
"""Written by a rollback; valid only while the link points to the publication that it names."""


class NoSuchPublication(Exception):
    """There is no such publication; the text says which there are."""


@dataclass(frozen=True)
class Publication:
    """A kept publication; a higher number is newer."""

    number: int
    run_id: str
    published_at: str
    code_version: str
    folder: Path

    @property
    def file(self) -> Path:
        """The DuckDB file for readers."""
        return self.folder / WAREHOUSE

    @property
    def report(self) -> Path:
        """The first page of the report."""
        return self.folder / REPORT / "index.html"

    @property
    def made_at(self) -> datetime:
        """When it was made; without a description, when its file was written."""
        try:
            moment = datetime.fromisoformat(self.published_at)
        except ValueError:
            return datetime.fromtimestamp(self.file.stat().st_mtime, UTC)
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def current_publication(home: Home) -> Publication | None:
    """Return the publication that readers see; None if nothing is published in this layout."""
    if not home.current.is_dir():
        return None
    found = _read(home.current)
    if found is not None:
        return replace(found, folder=home.current.resolve())
    highest = max((publication.number for publication in _described(home)), default=0)
    return Publication(highest + 1, home.current.resolve().name, "", "", home.current.resolve())


def kept_publications(home: Home) -> list[Publication]:
    """List the current publication and those that a rollback can choose, the newest first."""
    last = _last_number(home)
    found = {publication.run_id: publication for publication in _described(home) if publication.number <= last}
    current = current_publication(home)
    if current is not None:
        found.setdefault(current.run_id, current)
    return sorted(found.values(), key=lambda publication: -publication.number)


def newest_publication(home: Home) -> Publication | None:
    """Return the last publication; after a rollback, readers see an earlier one."""
    return next(iter(kept_publications(home)), None)


def pinned_publication(home: Home) -> Publication | None:
    """Return the publication that a rollback has pinned."""
    current = current_publication(home)
    return current if current is not None and _pinned_at(home, current) is not None else None


def problem_of_current(home: Home) -> str | None:
    """Return the damage of the current publication in one line; None if there is none.

    A file with another size or time than it was written with is read from end to end: a plain copy of a home has other
    times.
    """
    if not home.current.is_dir():
        return problem_of(home.published_file) if home.published_file.is_file() else None
    file, page = home.current / WAREHOUSE, home.current / REPORT / "index.html"
    for path in (home.current, file, page):
        make_accessible(path)
    try:
        found = json.loads((home.current / DESCRIPTION).read_text(encoding="utf-8"))
        written = found["written"]
        is_file_as_written = written.get(file.name) == _written(file)
        is_page_as_written = written.get(page.name) == _written(page) or _sha256(page) == found["report_sha256"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        is_file_as_written, is_page_as_written = False, page.is_file()
    if not is_page_as_written:
        return "the report is not the one that was written"
    return problem_of(file, deep=not is_file_as_written)


def was_published(home: Home, run_id: str) -> bool:
    """Return whether a run was published; it may have been killed just before the link was changed."""
    newest = newest_publication(home)
    return newest is not None and newest.run_id == run_id


def leftovers(home: Home) -> list[Path]:
    """List what a process left when it was killed while it published; readers never saw it."""
    found = []
    if home.publications.is_dir():
        kept = {publication.run_id for publication in kept_publications(home)}
        for path in sorted(home.publications.iterdir()):
            is_folder = path.is_dir() and not path.is_symlink() and path != home.current and MARK not in path.name
            if path.name.startswith(".") or (is_folder and path.name not in kept):
                found.append(path)
    for folder in (home.published_file.parent, home.report.parent, home.report.parent.parent):
        if folder.is_dir():
            found += sorted(folder.glob(".*.tmp"))
    return found


def remove_leftovers(home: Home) -> None:
    """Remove what `leftovers` lists."""
    for path in leftovers(home):
        remove(path)


def publish(
    home: Home, run_id: str, code_version: str, warehouse: Path, report: Path, *, group: str | None = None
) -> Publication:
    """Copy a warehouse and its report into a new publication, and show it to readers.

    Readers see no change before the last copy is on disk.

    Parameters
    ----------
    home
        The home, whose lock this process holds.
    run_id, code_version
        What made the publication.
    warehouse, report
        The finished file, and the folder of the finished report.
    group
        Who may read it besides the owner of the home.
    """
    home.publications.mkdir(parents=True, exist_ok=True)
    remove_leftovers(home)
    number = 1 + max((publication.number for publication in kept_publications(home)), default=0)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    publication = Publication(number, run_id, now, code_version, home.publications / run_id)
    unfinished = home.publications / f".{run_id}"
    replaced = current_publication(home) if problem_of_current(home) else None
    try:
        unfinished.mkdir(mode=0o700)
        shutil.copyfile(warehouse, unfinished / WAREHOUSE)
        shutil.copytree(report, unfinished / REPORT, ignore=shutil.ignore_patterns(".*"))
        _describe(publication, unfinished)
        open_publication(unfinished, group)
        flush_tree(unfinished)
        unfinished.rename(publication.folder)
        flush(home.publications)
        _place_public_links(home)
        set_permissions(home, group)
        place_link(home.current, Path(publication.folder.name))
    except (OSError, WrongGroup):
        remove_leftovers(home)
        raise
    flush_if_possible(home.publications)
    if replaced is not None:
        try:
            # Only the last damaged publication is kept.
            for earlier in home.publications.glob(f"*{MARK}*"):
                remove(earlier)
            set_aside(replaced.folder)
        except OSError as error:
            logging.getLogger(__name__).warning("%s could not be set aside: %s", replaced.folder, error)
    return publication


def put_back_link(home: Home) -> Publication | None:
    """Restore a lost link: show readers the newest publication that they have certainly seen."""
    newest = newest_publication(home)
    if newest is None or home.current.exists() or home.published_file.is_file() or problem_of(newest.file):
        return None
    _place_public_links(home)
    place_link(home.current, Path(newest.folder.name))
    flush_if_possible(home.publications)
    return newest


def remove_old(home: Home, keep: int) -> list[Publication]:
    """Remove all but the newest `keep` publications; the current and the newest one always stay."""
    current = current_publication(home)
    kept = kept_publications(home)
    removed = [
        publication for publication in kept[max(keep, 1) :] if current is None or publication.run_id != current.run_id
    ]
    for publication in removed:
        # If removing it is interrupted, the hidden name makes it a leftover.
        hidden = publication.folder.with_name(f".{publication.folder.name}")
        publication.folder.rename(hidden)
        remove(hidden)
    return removed


def roll_back(home: Home, wanted: str | None = None) -> Publication:
    """Show readers another publication until something new is published.

    Parameters
    ----------
    home
        The home, whose lock this process holds.
    wanted
        The number or the beginning of the run of the publication; by default, the one before the current one.

    Raises
    ------
    NoSuchPublication
        No publication matches, or several do.
    """
    current, kept = current_publication(home), kept_publications(home)
    if current is None:
        raise NoSuchPublication(f"no publication is kept in {home.publications}; run `faultline refresh` first")
    if wanted is None:
        meant = [publication for publication in kept if publication.number < current.number][:1]
        problem = f"no publication before number {current.number} is kept"
    else:
        meant = [publication for publication in kept if str(publication.number) == wanted] or [
            publication for publication in kept if wanted and publication.run_id.startswith(wanted)
        ]
        problem = f"{wanted} means {len(meant) or 'none'} of the publications that are kept"
    if len(meant) != 1:
        raise NoSuchPublication(f"{problem}; `faultline status` lists them")
    (target,) = meant
    if damage := problem_of(target.file):
        raise NoSuchPublication(f"{target.file} is damaged ({damage}); `faultline status` lists the others")
    # The pin is written first: it is valid only once the link points to the publication that it names.
    # Every user who may enter the folder may read it.
    pin = json.dumps({"run_id": target.run_id, "newest": _last_number(home)})
    replace_file(home.publications / PIN, pin.encode(), 0o644)
    _place_public_links(home)
    place_link(home.current, Path(target.folder.name))
    flush_if_possible(home.publications)
    if target.number == kept[0].number:
        (home.publications / PIN).unlink()
    return target


def _place_public_links(home: Home) -> None:
    current = Path("..", home.publications.name, home.current.name)
    for path, target in ((home.published_file, current / WAREHOUSE), (home.report.parent, current / REPORT)):
        if not path.is_symlink() or path.readlink() != target:
            path.parent.mkdir(parents=True, exist_ok=True)
            place_link(path, target)
            flush(path.parent)


def _pinned_at(home: Home, current: Publication) -> int | None:
    """Return the number of the newest publication at the time of a rollback, or None if none is pinned."""
    try:
        pin = json.loads((home.publications / PIN).read_text(encoding="utf-8"))
        return int(pin["newest"]) if pin["run_id"] == current.run_id else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _last_number(home: Home) -> int:
    """Return the number of the last publication; readers never saw a folder with a higher number."""
    current = current_publication(home)
    if current is None:
        # The link is lost. Readers saw each publication before the next one began; for the last one this is unknown.
        return max(sorted(publication.number for publication in _described(home))[:-1], default=0)
    return _pinned_at(home, current) or current.number


def _described(home: Home) -> list[Publication]:
    try:
        entries = [*home.publications.iterdir()]
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        # A reader of the publish group may enter the folder, but not list it.
        return []
    folders = [path for path in entries if path != home.current and not path.name.startswith(".")]
    return [found for folder in folders if (found := _read(folder)) is not None and found.run_id == folder.name]


def _read(folder: Path) -> Publication | None:
    """Return the publication that a folder describes; None if the description is missing or damaged."""
    try:
        found = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
        return Publication(
            int(found["number"]),
            str(found["run_id"]),
            str(found["published_at"]),
            str(found["code_version"]),
            folder,
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _describe(publication: Publication, folder: Path) -> None:
    facts = {name: value for name, value in asdict(publication).items() if name != "folder"}
    page = folder / REPORT / "index.html"
    facts["written"] = {path.name: _written(path) for path in (folder / WAREHOUSE, page)}
    facts["report_sha256"] = _sha256(page)
    (folder / DESCRIPTION).write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")


def _written(path: Path) -> list[int] | None:
    """Return size and modification time of a file, which show a later change."""
    if not path.is_file():
        return None
    found = path.stat()
    return [found.st_size, found.st_mtime_ns]


def _sha256(path: Path) -> str | None:
    if not path.is_file():
        return None
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
