"""Adds to the site of docs/: pages at the top of the repository, the version, and diagrams as tables.

The pages are written for a code host. MkDocs calls these functions while it builds the site.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

PROJECT = Path(__file__).resolve().parents[2]
TOP_PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
}
"""Pages at the top of the repository, with their names on the site."""


def on_config(config: MkDocsConfig) -> None:
    """Name the version on every page."""
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    config.site_name = f"{config.site_name} {project['version']}"


def on_files(files: Files, config: MkDocsConfig) -> None:
    """Add the pages at the top of the repository."""
    for source, name in TOP_PAGES.items():
        text = (PROJECT / source).read_text(encoding="utf-8").replace("](docs/", "](")
        files.append(File.generated(config, name, content=text))


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Correct links to the pages at the top, and rewrite Markdown that code hosts read in another way."""
    for source, name in TOP_PAGES.items():
        markdown = re.sub(rf"\]\((?:\.\./)?((?:\.\./)*){source}", rf"](\1{name}", markdown)
    markdown = re.sub(r"^```mermaid\n(.*?)^```$", _edges, markdown, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"^\|.*", _cells, markdown, flags=re.MULTILINE)


def _edges(diagram: re.Match[str]) -> str:
    """Write the edges of a diagram as a table, because the program that draws them is on another host."""
    edges = re.findall(r"^ +(\w+) -->\|(.*?)\| (\w+)$", diagram[1], re.MULTILINE)
    rows = [f"| [{start}](#{start}) | {columns} | [{end}](#{end}) |" for start, columns, end in edges]
    return "\n".join(["| table | columns | rows of |", "| --- | --- | --- |", *rows])


def _cells(row: re.Match[str]) -> str:
    """Take the backslash from a `|` in code, where Python-Markdown shows it."""
    return re.sub(r"`[^`]+`", lambda code: code[0].replace("\\|", "|"), row[0])
