"""Rows to HTML: builds every page, then fills the template, with styles, scripts and charts inside the one file.

Pure. Strings from the logs are hostile input: the template escapes all of them, chart data stands in JSON blocks that
no parser runs, and the page's own policy lets only the known scripts execute and nothing load from anywhere.
"""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import vl_convert

from assets.report import blocks
from assets.report.actions import actions_of
from assets.report.addresses import anchor_of
from assets.report.answers import UNEXPECTED_ROWS, Answer, not_computed
from assets.report.blocks import Age, Chapter, Figure, Page, Report, Tile
from assets.report.changes import Change
from assets.report.earlier import EarlierReport
from assets.report.explained.details import failure_details
from assets.report.filling import TEMPLATES, environment
from assets.report.first_screen import first_screen
from assets.report.folder import FRESH_HOURS
from assets.report.names import hide_names
from assets.report.numbers import UNKNOWN, moment, printable
from assets.report.observed import has_enough, observed, period
from assets.report.queries import ClusterData, QueryRows, Row
from assets.report.what_if import what_if_script, what_if_styles
from assets.report.wording import MAX_REASON_CHARACTERS, plural, stale

_log = logging.getLogger(__name__)
SCRIPTS = ("watch.js", "report.js")
VEGA = f"vega-of-vl-convert-{version('vl-convert-python')}.js"
"""Name of the script that draws the charts, with the version of the library that contains it."""


PAGES = {
    "overview": "Overview",
    "failures": "Failures",
    "nodes": "Nodes",
    "jobs": "Jobs and MTTF",
    "ettr": "ETTR and checkpoints",
    "losses": "Losses",
    "quality": "Data quality",
}
"""The pages of each cluster: their folders in `assets/answers`, and their names."""
NO_TILE, NO_ACCOUNTING = Tile("", UNKNOWN), Tile("", "no accounting")


def render(report: Report, bundle: str, only: Page | None = None) -> str:
    """Return a report as one self-contained HTML document.

    `bundle` is the result of `vega_bundle`. With `only`, render just that page; links to the other pages lead to
    their files.
    """
    watch, *own = ((TEMPLATES / name).read_text(encoding="utf-8") for name in SCRIPTS)
    own.append(what_if_script())
    pages = report.pages if only is None else (only,)
    needed = bundle if only is None or only.first or any(True for _ in figures_in(only)) else ""
    return (
        environment()
        .get_template("page.html.j2")
        .render(
            report=report,
            pages=pages,
            # With one cluster and no warning, the report begins at that cluster.
            first=report.chapters[0].anchor
            if only is None and len(report.chapters) == 1 and not report.warnings
            else pages[0].address,
            files=[] if only is None else [page.address for page in report.pages],
            styles=(TEMPLATES / "page.css").read_text(encoding="utf-8") + what_if_styles(),
            scripts={"watch": watch, "bundle": needed, "own": own},
            script_hashes=[script_hash(script) for script in (watch, needed, *own)],
        )
    )


def render_files(report: Report, bundle: str) -> dict[str, str]:
    """Render each page as a document of its own, by file name."""
    return {f"{page.address.replace('/', '~')}.html": render(report, bundle, page) for page in report.pages}


def vega_bundle() -> str:
    """Bundle Vega, Vega-Lite and Vega-Embed into one script in a second or two; the result depends on `VEGA` alone."""
    return vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")


def build(
    query_rows: QueryRows,
    made_at: dt.datetime,
    changes: Sequence[Change] | None = None,
    earlier: Sequence[EarlierReport] = (),
    fresh_hours: float = FRESH_HOURS,
    *,
    sources: str = "sources",
) -> Report:
    """Return the content of the report, without markup.

    `changes` is None without a previous report; `earlier` lists the kept reports. Data that ended more than
    `fresh_hours` ago is called old; `sources` is the path of the folder for newer logs.
    """
    query_rows = hide_names(query_rows)
    # Clusters with too little data come last: their rates say next to nothing.
    clusters_data = sorted(
        (ClusterData(query_rows, cluster, sources) for cluster in query_rows["clusters"]),
        key=lambda data: not has_enough(data),
    )
    chapters = tuple(chapter(data, made_at, fresh_hours) for data in clusters_data)
    whole = ClusterData(query_rows, {}, sources)
    index = Answer(whole).write("index", **_index_of(clusters_data, chapters, changes))
    methods = Answer(whole).write("methods", clusters=[data.cluster for data in clusters_data])
    origin = Answer(whole).write("provenance", earlier=[*map(vars, earlier)])
    return Report(
        title="Cluster reliability",
        subtitle=f"{plural(len(clusters_data), 'cluster')}, made {moment(made_at)} UTC. All times are UTC.",
        index=Page("index", "Clusters", "Cluster reliability", index),
        chapters=chapters,
        closing=(
            Page("methods", "Methods", "Methods", methods),
            Page("provenance", "Provenance", "Provenance", origin),
        ),
        warnings=(
            *(f"{each.cluster_id}: {each.stale}" for each in chapters if each.stale),
            *(
                f"{printable(cluster['cluster_id'])} is not in this report, because it could not be built: "
                f"{printable('; '.join(cluster['reasons']), MAX_REASON_CHARACTERS)}"
                for cluster in query_rows["clusters_without_numbers"]
            ),
            *map(not_computed, query_rows["not_computed"]),
        ),
    )


def _index_of(
    clusters_data: Sequence[ClusterData], chapters: Sequence[Chapter], changes: Sequence[Change] | None
) -> dict[str, Any]:
    """Return what the index shows: each first screen, all actions, and changes since the previous report."""
    clusters, actions = [], []
    for data, each in zip(clusters_data, chapters, strict=True):
        first = each.pages[0].first if each.pages else None
        row: Row = data.cluster | {
            "name": each.cluster_id,
            "kind": "simulated" if each.is_simulated else "",
            "anchor": each.anchor,
            "to_do": len(first.actions) if first else None,
            "out": sum(action.takes_out for action in first.actions) if first else 0,
            "age": first.age if first else Age(UNKNOWN),
            "change": first.change if first else blocks.Change("", UNKNOWN),
        }
        tiles = first.tiles if first and not data.cluster["has_records_alone"] else ()
        row |= dict.fromkeys(("rate", "mttf", "lost"), NO_ACCOUNTING if first and not tiles else NO_TILE)
        row |= {name: tiles[place] for name, place in (("rate", 0), ("mttf", 1), ("lost", 3)) if tiles}
        clusters.append(row)
        actions += [row | {"action": action, "step": action.step} for action in (first.actions if first else ())]
    return {
        "clusters": clusters,
        "actions": actions,
        "changes": None if changes is None else [vars(change) for change in changes],
    }


def chapter(data: ClusterData, made_at: dt.datetime, fresh_hours: float) -> Chapter:
    """Build all pages of one cluster."""
    cluster_id = data.cluster["cluster_id"]
    bare = Chapter(
        printable(cluster_id), anchor_of(cluster_id), bool(data.cluster["is_simulated"]), stale(data.cluster)
    )
    answers = {key: Answer(data, f"{bare.anchor}-") for key in PAGES}
    sections = {key: answer.write(key, **_seen(data)) for key, answer in answers.items()}
    not_made = [name for answer in answers.values() for name in answer.not_made]
    pages = {
        key: Page(
            bare.anchor if key == "overview" else f"{bare.anchor}/{key}",
            name,
            f"{bare.cluster_id}: {name}",
            sections[key],
            cluster=bare,
        )
        for key, name in PAGES.items()
    }
    # The first screen shows a figure of the page on failures, which holds its data.
    trend = next((figure for figure in figures_in(pages["failures"]) if figure.key == "over-time"), None)
    more: dict[str, Callable[[], dict[str, Any]]] = {
        "overview": lambda: {"first": first_screen(data, made_at, actions_of(data), trend, fresh_hours)},
        "failures": lambda: {"details": failure_details(data)},
    }
    for key, make in more.items():
        try:
            pages[key] = replace(pages[key], **make())
        except UNEXPECTED_ROWS:
            _log.exception("a part of the page %s of the report could not be made", PAGES[key])
            not_made.append(f"a part of the page {PAGES[key]}")
    return replace(bare, pages=tuple(pages.values()), not_made=tuple(not_made))


def _seen(data: ClusterData) -> dict[str, Any]:
    """Return begin, end and length of the observed time of a cluster."""
    from_at, to_at = observed(data.cluster)
    return {"from_at": from_at, "to_at": to_at, "period": period(data.cluster)}


def figures_of(report: Report) -> Iterator[tuple[str, Figure]]:
    """List every figure with the id of its element."""
    return ((f"{page.prefix}{figure.key}-chart", figure) for page in report.pages for figure in figures_in(page))


def figures_in(page: Page) -> Iterator[Figure]:
    """List the figures of one page."""
    return (part for section in page.sections for part in section.parts if isinstance(part, Figure))


def script_hash(script: str) -> str:
    """Hash a script as a content security policy names it."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
