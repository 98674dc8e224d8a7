"""The pages that are generated from the code, by file name, each with the function that returns its text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from tests.docs.writers import commands_page, configuration_page, statistics_page, tables_page

Pages = Mapping[str, Callable[[], str]]
KEPT = {"commands.md": commands_page.page, "configuration.md": configuration_page.page}
BUILT = {"statistics.md": cache(statistics_page.page), "tables.md": cache(tables_page.page)}
"""Pages that git does not track: `make docs` and `make wheel` write them. They take seconds, hence the cache."""


def write_pages(pages: Pages, folder: Path) -> None:
    """Write pages into a folder."""
    for name, page in pages.items():
        (folder / name).write_text(page(), encoding="utf-8")
