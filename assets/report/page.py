"""Frames to HTML: builds every chapter, then fills the template, with styles, scripts and charts inside the one file.

Pure. Strings from the logs are hostile input: the template escapes all of them, chart data stands in JSON blocks that
no parser runs, and the page's own policy lets only the known scripts execute and nothing load from anywhere.
"""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
import logging
import re
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path

import vl_convert
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from assets.report.blocks import Block, Chapter, Figure, Page, Pair, Section, Text
from assets.report.names import hide_names
from assets.report.numbers import gpus, moment, printable, whole
from assets.report.queries import Frames, Row
from assets.report.sections.causes import causes
from assets.report.sections.checkpoints import checkpoints
from assets.report.sections.comparison import comparison
from assets.report.sections.constant import constant
from assets.report.sections.ettr import ettr
from assets.report.sections.forecasts import forecasts
from assets.report.sections.gaps import gaps
from assets.report.sections.headline import headline
from assets.report.sections.lemons import lemons
from assets.report.sections.losses import losses
from assets.report.sections.mttf import mttf
from assets.report.sections.nodes import nodes
from assets.report.sections.over_time import over_time
from assets.report.sections.preemptions import preemptions
from assets.report.sections.provenance import provenance
from assets.report.sections.shares import sizes, states

_log = logging.getLogger(__name__)
MAX_REASON_CHARACTERS = 600
TEMPLATES = Path(__file__).parent / "templates"
VEGA = f"vega-of-vl-convert-{version('vl-convert-python')}.js"
"""Name of the script that draws the charts, in the version of the library that has it."""
BUILDERS = (
    headline, nodes, lemons, causes, over_time, forecasts, mttf, constant,
    ettr, checkpoints, states, sizes, preemptions, losses, gaps,
)  # fmt: skip


def render(page: Page, bundle: str) -> str:
    """Fill the template with a page and return one HTML document that needs nothing beside it.

    Parameters
    ----------
    page
        What `build` returned.
    bundle
        What `vega_bundle` returned.
    """
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    scripts = {
        "watch": (TEMPLATES / "watch.js").read_text(encoding="utf-8"),
        "bundle": bundle,
        "charts": (TEMPLATES / "charts.js").read_text(encoding="utf-8"),
    }
    return environment.get_template("page.html.j2").render(
        page=page,
        figures=list(figures_of(page)),
        styles=(TEMPLATES / "page.css").read_text(encoding="utf-8"),
        scripts=scripts,
        script_hashes=[script_hash(script) for script in scripts.values()],
    )


def vega_bundle() -> str:
    """Bundle Vega, Vega-Lite and Vega-Embed into one script, which takes a second or two and is the same for `VEGA`."""
    return vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")


def build(frames: Frames, made_at: dt.datetime) -> Page:
    """Arrange everything the page says, without any markup.

    Parameters
    ----------
    frames
        What `queries.read_frames` returned.
    made_at
        UTC time written into the page's header.
    """
    frames = hide_names(frames)
    simulated = tuple(printable(cluster["cluster_id"]) for cluster in frames["clusters"] if cluster["is_simulated"])
    return Page(
        title="Cluster reliability",
        subtitle=f"{whole(len(frames['clusters']))} cluster{'' if len(frames['clusters']) == 1 else 's'}, "
        f"made {moment(made_at)} UTC. All times are UTC.",
        simulated_clusters=simulated,
        comparison=comparison(frames),
        chapters=tuple(chapter(frames, cluster) for cluster in frames["clusters"]),
        closing=(provenance(frames),),
        warnings=(
            *(
                f"{printable(cluster['cluster_id'])}: {stale(cluster)}"
                for cluster in frames["clusters"]
                if cluster["is_stale"]
            ),
            *(
                f"{printable(cluster['cluster_id'])} is not in this report, as it could not be built: "
                f"{printable(cluster['reason'], MAX_REASON_CHARACTERS)}"
                for cluster in frames["clusters_without_numbers"]
            ),
        ),
    )


def stale(cluster: Row) -> str:
    """Say of which time a stale cluster's numbers are, and why there are no newer ones; empty for any other cluster."""
    if not cluster["is_stale"]:
        return ""
    reason = printable("; ".join(cluster["stale_reason"].splitlines()), MAX_REASON_CHARACTERS)
    return f"stale, as of {moment(cluster['built_at'])} UTC. Newer numbers could not be built: {reason}"


def chapter(frames: Frames, cluster: Row) -> Chapter:
    """Build all sections of one cluster."""
    cluster_id = cluster["cluster_id"]
    return Chapter(
        cluster_id=printable(cluster_id),
        anchor=anchor_of(cluster_id),
        subtitle=f"{whole(cluster['node_count'])} nodes, {gpus(cluster['gpu_count'])}",
        is_simulated=bool(cluster["is_simulated"]),
        sections=tuple(_section(builder, frames, cluster) for builder in BUILDERS),
        stale=stale(cluster),
    )


def _section(builder: Callable[[Frames, Row], Section], frames: Frames, cluster: Row) -> Section:
    """Build a section; where rows of the cluster make it fail, say so in its place and go on with the others.

    The page tells only the kind of error: its words may hold a name that is to be hidden.
    """
    try:
        return builder(frames, cluster)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        _log.exception("section %s of the report could not be made", builder.__name__)
        name = builder.__name__.replace("_", " ").capitalize()
        said = f"This section could not be made of the rows of this cluster ({type(error).__name__}): please report it."
        return Section(builder.__name__.replace("_", "-"), name, f"{name}: not made", (Text(said, "warning"),))


def anchor_of(cluster_id: str) -> str:
    """Make an element id of a cluster's name that no other cluster's name can give.

    >>> anchor_of("rsc1")
    'rsc1'
    >>> anchor_of("a b").startswith("a-b-")
    True
    """
    plain = re.sub(r"[^A-Za-z0-9_-]", "-", cluster_id)
    return plain if plain == cluster_id else f"{plain}-{hashlib.sha256(cluster_id.encode()).hexdigest()[:8]}"


def figures_of(page: Page) -> Iterator[tuple[str, Figure]]:
    """List every figure with the id of the element it is drawn into."""
    for cluster_chapter in page.chapters:
        for section in cluster_chapter.sections:
            for block in section.blocks:
                for figure in _figures_in(block):
                    yield f"{cluster_chapter.anchor}-{figure.key}-chart", figure


def script_hash(script: str) -> str:
    """Hash a script as a content security policy names it."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _figures_in(block: Block) -> Iterator[Figure]:
    for part in (block.left, block.right) if isinstance(block, Pair) else (block,):
        if isinstance(part, Figure):
            yield part
