"""`faultline docs`: the pages that messages name, also where nothing but the wheel is installed."""

from __future__ import annotations

from typing import Annotated

import typer

from orchestration.cli.options import JsonOption, answer

EXAMPLES = "Example: `faultline docs forms`"


def docs(
    page: Annotated[str | None, typer.Argument(help="The page to print, for instance forms or docs/forms.md.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Print a page of the documentation, or list the pages and where they lie."""
    from orchestration.read_commands.pages import show_page, show_pages

    answer(lambda: show_pages(as_json) if page is None else show_page(page))
