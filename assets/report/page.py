"""Frames to HTML: builds every page, then fills the template, with styles, scripts and charts inside the one file.

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

import vl_convert

from assets.report.actions import actions_of
from assets.report.addresses import anchor_of
from assets.report.answers import UNEXPECTED_ROWS, not_computed
from assets.report.answers import Page as Answer
from assets.report.blocks import Chapter, Figure, Leaf, Markup, Multiples, Page, Pair, Section, Text, section
from assets.report.changes import Change
from assets.report.earlier import EarlierReport
from assets.report.explained.details import failure_details
from assets.report.figures import FIGURES
from assets.report.filling import TEMPLATES, environment
from assets.report.folder import FRESH_HOURS
from assets.report.names import hide_names
from assets.report.numbers import moment, printable
from assets.report.queries import Frames, Own
from assets.report.sections.checkpoints import checkpoints
from assets.report.sections.comparison import comparison, since_last_report
from assets.report.sections.constant import constant
from assets.report.sections.delivered import delivered
from assets.report.sections.ettr import ettr
from assets.report.sections.failures import preemptions
from assets.report.sections.first_screen import first_screen
from assets.report.sections.headline import has_enough, headline
from assets.report.sections.hidden import hidden
from assets.report.sections.lemons import lemons, nodes
from assets.report.sections.losses import losses
from assets.report.sections.mttf import mttf
from assets.report.sections.places import places
from assets.report.sections.repairs import repairs
from assets.report.sections.shares import sizes, states
from assets.report.what_if import start_of, what_if, what_if_script, what_if_styles
from assets.report.wording import MAX_REASON_CHARACTERS, plural, stale

_log = logging.getLogger(__name__)
SCRIPTS = ("watch.js", "report.js")
VEGA = f"vega-of-vl-convert-{version('vl-convert-python')}.js"
"""Name of the script that draws the charts, in the version of the library that has it."""


def what_to_expect(own: Own) -> Section:
    """Build the sliders."""
    html = what_if(start_of(own), anchor_of(own.cluster["cluster_id"]))
    return section("what-if", "What would another run meet?", Markup(html))


Builder = Callable[[Own], Section | None]
PAGES: tuple[tuple[str, str, tuple[Builder, ...] | str], ...] = (
    ("", "Overview", (headline,)),
    ("failures", "Failures", "failures"),
    ("nodes", "Nodes", (lemons, places, hidden, delivered, repairs, nodes)),
    ("jobs", "Jobs and MTTF", (mttf, states, sizes, constant, preemptions)),
    ("ettr", "ETTR and checkpoints", (what_to_expect, ettr, checkpoints)),
    ("losses", "Losses", (losses,)),
    ("quality", "Data quality", "quality"),
)
"""Address, name and sections of the pages that each cluster has."""
WITHOUT_JOBS = {repairs, nodes, what_to_expect}
"""Sections that say something of a cluster of which records of failures alone are known."""


def render(page: Page, bundle: str, only: Leaf | None = None) -> str:
    """Fill the template with a page and return one HTML document that needs nothing beside it.

    The bundle is what `vega_bundle` returned. Of `only` one page the document holds that page alone, and links to the
    others lead to their files.
    """
    watch, *own = ((TEMPLATES / name).read_text(encoding="utf-8") for name in SCRIPTS)
    own.append(what_if_script())
    leaves = page.leaves if only is None else (only,)
    needed = bundle if only is None or only.first or any(True for _ in figures_in(only)) else ""
    return (
        environment()
        .get_template("page.html.j2")
        .render(
            page=page,
            leaves=leaves,
            # With one cluster and nothing to warn of, the report begins where that cluster does.
            first=page.chapters[0].anchor
            if only is None and len(page.chapters) == 1 and not page.warnings
            else leaves[0].address,
            files=[] if only is None else [leaf.address for leaf in page.leaves],
            styles=(TEMPLATES / "page.css").read_text(encoding="utf-8") + what_if_styles(),
            scripts={"watch": watch, "bundle": needed, "own": own},
            script_hashes=[script_hash(script) for script in (watch, needed, *own)],
        )
    )


def render_files(page: Page, bundle: str) -> dict[str, str]:
    """Render each page as a document of its own, by file name."""
    return {f"{leaf.address.replace('/', '~')}.html": render(page, bundle, leaf) for leaf in page.leaves}


def vega_bundle() -> str:
    """Bundle Vega, Vega-Lite and Vega-Embed into one script, which takes a second or two and is the same for `VEGA`."""
    return vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")


def build(
    frames: Frames,
    made_at: dt.datetime,
    changes: Sequence[Change] | None = None,
    earlier: Sequence[EarlierReport] = (),
    fresh_hours: float = FRESH_HOURS,
    *,
    sources: str = "sources",
) -> Page:
    """Arrange everything the page says, without any markup.

    `changes` since the report before are None where there is none; `earlier` reports are kept beside this one. Data
    that ends more than `fresh_hours` before is called old; `sources` is the path of the folder where newer logs go.
    """
    frames = hide_names(frames)
    # Clusters of which too little was seen come last: what they say of rates is next to nothing.
    owns = sorted(
        (Own(frames, cluster, sources) for cluster in frames["clusters"]), key=lambda own: not has_enough(own)
    )
    chapters = tuple(chapter(own, made_at, fresh_hours) for own in owns)
    whole = Own(frames, {}, sources)
    methods = Answer(whole).write("methods", clusters=[own.cluster for own in owns])
    return Page(
        title="Cluster reliability",
        subtitle=f"{plural(len(owns), 'cluster')}, made {moment(made_at)} UTC. All times are UTC.",
        index=Leaf(
            "index", "Clusters", "Cluster reliability", (*comparison(owns, chapters), *since_last_report(changes))
        ),
        chapters=chapters,
        closing=(
            Leaf("methods", "Methods", "Methods", methods),
            Leaf(
                "provenance",
                "Provenance",
                "Provenance",
                Answer(whole).write("provenance", earlier=[*map(vars, earlier)]),
            ),
        ),
        warnings=(
            *(f"{each.cluster_id}: {each.stale}" for each in chapters if each.stale),
            *(
                f"{printable(cluster['cluster_id'])} is not in this report, as it could not be built: "
                f"{printable('; '.join(cluster['reasons']), MAX_REASON_CHARACTERS)}"
                for cluster in frames["clusters_without_numbers"]
            ),
            *map(not_computed, frames["not_computed"]),
        ),
    )


def chapter(own: Own, made_at: dt.datetime, fresh_hours: float) -> Chapter:
    """Build all pages of one cluster."""
    cluster, cluster_id = own.cluster, own.cluster["cluster_id"]
    bare = Chapter(printable(cluster_id), anchor_of(cluster_id), bool(cluster["is_simulated"]), stale(cluster))
    leaves = []
    not_made: list[str] = []
    built = {
        builder: _section(builder, own, not_made)
        for _, _, builders in PAGES
        for builder in builders
        if not isinstance(builder, str)
    }
    for key, name, builders in PAGES:
        if isinstance(builders, str):
            answer = Answer(own, f"{bare.anchor}-")
            sections = (*answer.write(builders), *_takes_accounting(answer.needy))
            not_made += answer.not_made
        else:
            made = {builder: found for builder in builders if (found := built[builder])}
            sections = _without_jobs(made) if cluster["has_records_alone"] else tuple(made.values())
        address = f"{bare.anchor}/{key}" if key else bare.anchor
        leaf = Leaf(address, name, f"{bare.cluster_id}: {name}", sections, cluster=bare)
        try:
            if not key:
                course = section("drawn", "", FIGURES["over-time"](own))
                leaf = replace(leaf, first=first_screen(own, made_at, actions_of(own), course, fresh_hours))
            elif key == "failures":
                leaf = replace(leaf, details=failure_details(own))
        except UNEXPECTED_ROWS:
            _log.exception("a part of the page %s of the report could not be made", name)
            not_made.append(f"a part of the page {name}")
        leaves.append(leaf)
    return replace(bare, leaves=tuple(leaves), not_made=tuple(not_made))


def _without_jobs(built: dict[Builder, Section]) -> tuple[Section, ...]:
    """Take out the sections that nothing can be said in without accounting, and name them."""
    kept = [found for builder, found in built.items() if builder in WITHOUT_JOBS]
    needy = [found.title.rstrip("?") for builder, found in built.items() if builder not in WITHOUT_JOBS]
    return (*kept, *_takes_accounting(needy))


def _takes_accounting(needy: Sequence[str]) -> tuple[Section, ...]:
    said = f"No accounting. An export of sacct (docs/logs.md) would tell: {'; '.join(filter(None, needy))}."
    return (section("without-jobs", "What takes accounting", Text(said, "note")),) if needy else ()


def _section(builder: Builder, own: Own, not_made: list[str]) -> Section | None:
    """Build a section; where rows of the cluster make it fail, say so in its place and go on with the others.

    The page tells only the kind of error: its words may hold a name that is to be hidden.
    """
    own = replace(own, frames_read=set())
    try:
        return _with_not_computed(builder(own), builder, own)
    except UNEXPECTED_ROWS as error:
        _log.exception("section %s of the report could not be made", builder.__name__)
        name = builder.__name__.replace("_", " ").capitalize()
        not_made.append(name)
        said = f"This section could not be made of the rows of this cluster ({type(error).__name__}): please report it."
        return section(builder.__name__.replace("_", "-"), f"{name}: not made", Text(said, "warning"))


def _with_not_computed(made: Section | None, builder: Builder, own: Own) -> Section | None:
    """Begin a section with the estimates that could not be computed, in place of its other reasons for gaps."""
    failed = own.not_computed(*own.frames_read)
    if not failed:
        return made
    name = builder.__name__.replace("_", " ")
    made = made or section(name.replace(" ", "-"), name.capitalize())
    shown = (block for block in made.blocks if not isinstance(block, Text) or block.tone != "note")
    return replace(made, blocks=(*(Text(not_computed(row), "warning") for row in failed), *shown))


def figures_of(page: Page) -> Iterator[tuple[str, Figure]]:
    """List every figure with the id of the element it is drawn into."""
    return ((f"{leaf.prefix}{figure.key}-chart", figure) for leaf in page.leaves for figure in figures_in(leaf))


def figures_in(leaf: Leaf) -> Iterator[Figure]:
    """List the figures of one page."""
    for part in leaf.sections:
        for block in part.blocks:
            if isinstance(block, Markup):
                yield from (part for part in block.parts if isinstance(part, Figure))
            pair = (block.left, block.right) if isinstance(block, Pair) else (block,)
            parts = block.figures if isinstance(block, Multiples) else pair
            yield from (figure for figure in parts if isinstance(figure, Figure))


def script_hash(script: str) -> str:
    """Hash a script as a content security policy names it."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
