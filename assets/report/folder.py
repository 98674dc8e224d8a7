"""The folder of the report. A file is replaced in one step, so that nobody reads half of it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import dagster as dg

from assets.report.earlier import EarlierReport, earlier_reports

FRESH_HOURS = 36
"""The default age in hours from which data is old."""


class ReportFolder(dg.ConfigurableResource):
    """Folder of the report."""

    path: str
    """Absolute path; the page becomes `latest/index.html` below it."""
    parts: str = ""
    """Absolute path of the folder of parts that all reports share; empty: `path`."""
    publications: str = ""
    """Absolute path of the folder of kept publications; empty if none are kept."""
    keep: int = 0
    """How many publications are kept at most, including the next one."""
    fresh_hours: int = FRESH_HOURS
    """The age in hours from which data is called old."""
    sources: str = "sources"
    """Path of the folder where newer logs go."""

    @property
    def page(self) -> Path:
        """Path of the page."""
        return Path(self.path) / "latest" / "index.html"

    @property
    def published(self) -> Path:
        """The warehouse of the report that readers see."""
        return Path(self.publications or self.path) / "current" / "faultline.duckdb"

    @property
    def earlier(self) -> list[EarlierReport]:
        """The reports that stay when the next one is published."""
        return earlier_reports(Path(self.publications), max(0, self.keep - 1)) if self.publications else []

    def replace_page(self, html: str) -> Path:
        """Write the page to a draft, rename the draft, and return the path."""
        _replace(self.page, html)
        return self.page

    def replace_beside(self, name: str, content: bytes) -> None:
        """Write a file next to the page, in one step as well."""
        _replace(self.page.with_name(name), content)

    def kept(self, name: str, make: Callable[[], str]) -> str:
        """Return a constant text by its name: made once, then read from a file of `parts`."""
        file = Path(self.parts or self.path) / name
        if not file.exists():
            _replace(file, make())
        return file.read_text(encoding="utf-8")


def _replace(file: Path, content: str | bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_name(f".{file.name}.{os.getpid()}.tmp")
    try:
        draft.write_bytes(content) if isinstance(content, bytes) else draft.write_text(content, encoding="utf-8")
        draft.replace(file)
    finally:
        draft.unlink(missing_ok=True)
