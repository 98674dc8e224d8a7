"""The layout of a home folder, and the version of the code.

A home holds the logs, the working file, the publications (each a warehouse and a report) and Dagster's storage.
"""

from __future__ import annotations

import hashlib
import os
import sysconfig
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
DBT_PROJECT = PROJECT / "dbt_project"
_IS_CHECKOUT = (PROJECT / "pyproject.toml").exists()
PAGES = PROJECT / "docs" if _IS_CHECKOUT else Path(sysconfig.get_path("data"), "share", "doc", "faultline")
"""The folder of the pages that messages name, such as docs/logs.md."""
_CODE = ("assets", "orchestration", "dbt_project")
_CODE_SUFFIXES = {".py", ".sql", ".yml", ".csv", ".md", ".html", ".css", ".js", ".j2"}


@dataclass(frozen=True)
class Home:
    """The paths of one home; `sources` may be outside `root`."""

    root: Path
    sources: Path

    @classmethod
    def at(cls, root: Path, sources: Path | None = None) -> Home:
        """Return a home with absolute paths; without `sources`, the logs are in its folder `sources`."""
        root = _absolute(root)
        return cls(root, _absolute(sources) if sources else root / "sources")

    @property
    def work(self) -> Path:
        """Folder for everything that is not published yet."""
        return self.root / "work"

    @property
    def working_file(self) -> Path:
        """The DuckDB file that a refresh writes: raw tables, and dbt's tables before the marts."""
        return self.work / "faultline.duckdb"

    @property
    def build_file(self) -> Path:
        """The DuckDB file in which marts and estimates are built; publishing copies it."""
        return self.work / "publication.duckdb"

    @property
    def publications(self) -> Path:
        """Folder of the kept publications."""
        return self.root / "publications"

    @property
    def current(self) -> Path:
        """The link to the publication that readers see; the public paths are links through it."""
        return self.publications / "current"

    @property
    def published_file(self) -> Path:
        """The DuckDB file for readers."""
        return self.root / "warehouse" / "faultline.duckdb"

    @property
    def working_reports(self) -> Path:
        """Where the report is written before it is published."""
        return self.work / "reports"

    @property
    def report(self) -> Path:
        """The published report."""
        return self.root / "reports" / "latest" / "index.html"

    @property
    def forgotten(self) -> Path:
        """A file from `faultline refresh --forget`: the next refresh runs although no log is new."""
        return self.work / "forgotten"

    @property
    def unfinished_run(self) -> Path:
        """A file with the id of the current run; it stays until Dagster knows how the run ended."""
        return self.work / "unfinished-run"

    @property
    def damage_suspected(self) -> Path:
        """A file from a failed run: the next one first reads the DuckDB files from end to end."""
        return self.work / "damage-suspected"

    @property
    def privacy(self) -> Path:
        """How the names of each cluster were read: unchanged, or as pseudonyms with which key."""
        return self.root / "privacy.json"

    @property
    def pulls(self) -> Path:
        """Folder of the last pull's outcome for each cluster."""
        return self.work / "pulls"

    @property
    def other_output(self) -> Path:
        """Output of libraries and child processes on stderr, and tracebacks of tolerated errors."""
        return self.work / "other-output.txt"

    @property
    def dagster(self) -> Path:
        """Dagster's own storage."""
        return self.root / "dagster"

    @property
    def alerts(self) -> Path:
        """The record of sent alerts; it outlives rebuilds and rollbacks."""
        return self.root / "alerts" / "sent.sqlite"

    @property
    def metrics(self) -> Path:
        """The metrics as a textfile for Prometheus' node exporter."""
        return self.root / "metrics" / "faultline.prom"

    @property
    def lock_file(self) -> Path:
        """Held for as long as a refresh runs."""
        return self.work / "refresh.lock"


def _absolute(path: Path) -> Path:
    """Return a path with its links resolved; a link to itself is an error only for the code that opens it."""
    return Path(os.path.realpath(path.expanduser()))


@cache
def code_version() -> str:
    """Return the version with a hash of DuckDB's version and of every file that can change a result."""
    digest = hashlib.sha256(version("duckdb").encode())
    for path in sorted(_code_files()):
        digest.update(path.relative_to(PROJECT).as_posix().encode())
        digest.update(path.read_bytes())
    return f"{version('faultline')}+{digest.hexdigest()[:12]}"


def _code_files() -> list[Path]:
    generated = {"target", "logs", "__pycache__"}
    return [
        path
        for folder in _CODE
        for path in (PROJECT / folder).rglob("*")
        if path.suffix in _CODE_SUFFIXES and not generated.intersection(path.relative_to(PROJECT).parts)
    ]
