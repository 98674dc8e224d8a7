"""`faultline report`: the published report as separate files, and the reports of earlier publications."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Annotated

import typer

from orchestration.cli.options import HomeOption, answer, fail, settings_of
from orchestration.settings.home import Home
from orchestration.terminal.output import say

UNKNOWN_TIME = "unknown time"
EXAMPLES = "Examples: `faultline report` lists what is kept; `faultline report --out /srv/www/faultline` writes files"


def report(
    out: Annotated[Path | None, typer.Option("--out", help="Write each page as a file of its own into DIR.")] = None,
    home: HomeOption = None,
) -> None:
    """List the reports that are kept, or write the newest one as separate files for a web server."""
    settings = settings_of(home)
    chosen = settings.home
    if out is None:
        _list(chosen)
        return
    try:
        say(str(answer(lambda: write_files(chosen, out, settings.freshness_hours), writes=True)))
    except OSError as error:
        fail(f"{out} cannot be written: {error.strerror or error}; name another folder")


def _list(home: Home) -> None:
    from orchestration.publication.folders import kept_publications

    kept = kept_publications(home)
    if not kept:
        fail("no report is published yet; `faultline refresh` makes one")
    for publication in kept:
        say(f"{publication.published_at or UNKNOWN_TIME}  {publication.report}")


def write_files(home: Home, out: Path, fresh_hours: float) -> Path:
    """Write every page of the published report into a folder, and return the path of the first.

    Data that ends more than `fresh_hours` ago is called old.
    """
    from assets.report.folder import ReportFolder
    from assets.report.page import VEGA, build, render_files, vega_bundle
    from assets.report.queries import read_queries
    from orchestration.read_commands.published import published
    from orchestration.settings.code_cache import cache_folder

    with published(home.published_file) as con:
        query_rows = read_queries(con)
    bundle = ReportFolder(path=str(out), parts=str(cache_folder(home))).kept(VEGA, vega_bundle)
    built = build(query_rows, dt.datetime.now(dt.UTC), fresh_hours=fresh_hours, sources=str(home.sources))
    out.mkdir(parents=True, exist_ok=True)
    for name, html in render_files(built, bundle).items():
        (out / name).write_text(html, encoding="utf-8")
    return out / "index.html"
