"""Where the report goes, and how a page gets there: in one step, so that nobody reads half of it."""

from __future__ import annotations

import os
from pathlib import Path

import dagster as dg


class ReportFolder(dg.ConfigurableResource):
    """Folder of the report.

    Attributes
    ----------
    path
        Absolute path; the page becomes `latest/index.html` below it.
    """

    path: str

    @property
    def page(self) -> Path:
        """Path of the page."""
        return Path(self.path) / "latest" / "index.html"

    def replace_page(self, html: str) -> Path:
        """Write the page beside its place, then rename it into place, and return its path."""
        self.page.parent.mkdir(parents=True, exist_ok=True)
        beside = self.page.with_name(f".{self.page.name}.{os.getpid()}.tmp")
        try:
            beside.write_text(html, encoding="utf-8")
            beside.replace(self.page)
        finally:
            beside.unlink(missing_ok=True)
        return self.page
