"""The blocks of code on the pages: their place, their language, and the marks before them.

A mark is an HTML comment, which the site does not show:

* `<!-- needs: slurm, minutes -->`: the commands cannot run here directly. They run with stubs (`shell`).
* `<!-- output -->`: the commands before this text print it. `...` matches anything.
* `<!-- run by: tests/sources/test_extending.py -->`: that test runs the block. Below the title of a page, the mark
  applies to all blocks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

from orchestration.settings.home import PROJECT
from tests.docs.writers.written import BUILT

FOUND = [*PROJECT.glob("*.md"), *(PROJECT / "data").glob("*.md"), *(PROJECT / "docs").rglob("*.md")]
PAGES = sorted(page for page in FOUND if page.name not in BUILT)
"""The pages that git tracks."""
MARK = re.compile(r"<!-- (needs|output|run by)(?:: (.+?))? -->")


@dataclass(frozen=True)
class Block:
    """A block of code."""

    place: str
    """Page and line."""
    language: str
    text: str
    needs: tuple[str, ...] = ()
    is_output: bool = False
    run_by: str = ""


def blocks_of(page: Path) -> Iterator[Block]:
    """Yield the fenced and indented blocks of a page in order."""
    marks: dict[str, str] = {}
    run_by = ""
    name = page.relative_to(PROJECT) if page.is_relative_to(PROJECT) else page.name
    for token in MarkdownIt().parse(page.read_text(encoding="utf-8")):
        if token.type == "html_block":
            marks |= MARK.findall(token.content)
            run_by = marks["run by"] if token.map == [2, 3] and "run by" in marks else run_by
            continue
        if token.type in ("fence", "code_block"):
            yield Block(
                f"{name}:{(token.map or [0])[0] + 1}",
                token.info.strip(),
                token.content,
                tuple(marks["needs"].split(", ")) if "needs" in marks else (),
                "output" in marks,
                marks.get("run by", run_by),
            )
        marks = {}
