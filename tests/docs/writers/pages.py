"""Commands that print a page of the docs, or write it to a file with `--write FILE`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path

from orchestration.terminal.output import write


def page_options(module: str, description: str | None) -> argparse.ArgumentParser:
    """Return the parser of `python -m MODULE`; a page may add options."""
    parser = argparse.ArgumentParser(
        prog=f"python -m {module}", description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the page there instead of printing it")
    return parser


def put_page(text: str, file: Path | None) -> None:
    """Write a page to a file, or print it."""
    if file is None:
        write(text)
    else:
        file.write_text(text, encoding="utf-8")


def run_page_command(module: str, description: str | None, page: Callable[[], str]) -> None:
    """Run the command of a page without options."""
    options = page_options(module, description).parse_args()
    put_page(page(), options.write)


def table(header: Sequence[str], rows: Iterable[Sequence[str]], words: Collection[str] | None = None) -> str:
    """Return a Markdown table; the columns in `words` (default: the first one) are left-aligned."""
    left = header[:1] if words is None else words
    lines = [
        header,
        ["---" if name in left else "---:" for name in header],
        *([cell.replace("|", "\\|") for cell in row] for row in rows),
    ]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
