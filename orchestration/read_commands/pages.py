"""The pages of docs/, which a wheel brings along: their names and titles, the text of one, and the questions in SQL."""

from __future__ import annotations

import difflib
import re
import sysconfig
from pathlib import Path

from orchestration import terminal
from orchestration.home import PROJECT
from orchestration.read_commands.published import ReadingError

_QUESTION = re.compile(r"^## \d+\. ([^\n]+)\n(?:(?!^## ).)*?^```sql\n(.*?)\n^```", re.MULTILINE | re.DOTALL)
INSTALLED = Path(sysconfig.get_path("data"), "share", "doc", "faultline")


def pages_folder() -> Path:
    """Return the folder of the pages: that of a checkout, or that of an installed copy."""
    return PROJECT / "docs" if (PROJECT / "pyproject.toml").exists() else INSTALLED


def list_pages() -> dict[str, str]:
    """Give the title of each page by its name: its path below the folder, without the ending."""
    folder = pages_folder()
    files = {file.relative_to(folder).with_suffix("").as_posix(): file for file in folder.rglob("*.md")}
    return {name: file.open(encoding="utf-8").readline().strip("# \n") for name, file in sorted(files.items())}


def show_pages(as_json: bool) -> None:
    """Print the names, titles and folder of the pages."""
    pages = list_pages()
    if as_json:
        terminal.say_json(
            [{"page": name, "title": title, "file": str(page_file(name))} for name, title in pages.items()]
        )
        return
    terminal.print_table(["page", "about"], [*pages.items()])
    terminal.say(f"\nin {pages_folder()}; `faultline docs PAGE` prints one")


def page_file(name: str) -> Path:
    """Return the file of a page, which may be named as messages do: docs/forms.md.

    Raises
    ------
    ReadingError
        There is no such page.
    """
    page = name.removeprefix("docs/").removesuffix(".md")
    if page not in (pages := list_pages()):
        # A page is often named without its folder.
        close = [other for other in pages if page in other.split("/")] or difflib.get_close_matches(page, pages)
        hint = f"did you mean {' or '.join(close)}? " if close else ""
        raise ReadingError(f"there is no page {name}; {hint}`faultline docs` lists the pages")
    return pages_folder() / f"{page}.md"


def show_page(name: str) -> None:
    """Print a page."""
    terminal.say(page_file(name).read_text(encoding="utf-8").rstrip("\n"))


def ready_questions() -> dict[str, str]:
    """Give the query of each question of docs/questions.md; none where the pages are not installed."""
    page = pages_folder() / "questions.md"
    return dict(_QUESTION.findall(page.read_text(encoding="utf-8"))) if page.exists() else {}
