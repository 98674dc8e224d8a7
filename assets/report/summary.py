"""The first screens for mail and chat: a few lines of Markdown for each cluster, and a picture.

Strings from the logs are escaped, so that they are text in Markdown and in the picture too.
"""

from __future__ import annotations

import datetime as dt
import re
import textwrap
from collections.abc import Callable, Sequence

import vl_convert

from assets.report.actions import Action
from assets.report.blocks import Chapter, FirstScreen, Report
from assets.report.changes import Change
from assets.report.filling import environment
from assets.report.numbers import moment, printable

MAX_NAMES = 4
MAX_PICTURED = 4
MAX_TILES = 4
TILE_CHARACTERS = 38
_ACTIVE = re.compile(r"([\\`*<>#@|~&]|(?<!\w)_|_(?!\w)|\](?=\()|(?<=www)\.|:(?=//))")
_FULL = "* Full report: `index.html` next to this file. Intervals are in brackets; times are UTC."

Screens = list[tuple[Chapter, FirstScreen]]


def screens_of(report: Report) -> Screens:
    """List the clusters that have a first screen, in the order of the report."""
    found = ((chapter, page.first) for chapter in report.chapters for page in chapter.pages)
    return [(chapter, first) for chapter, first in found if first is not None]


def worst_first(screens: Screens) -> Screens:
    """Sort by nodes to take out, then by lost GPU-hours."""

    def badness(screen: tuple[Chapter, FirstScreen]) -> tuple[int, float]:
        return sum(action.takes_out for action in screen[1].actions), screen[1].lost_gpu_hours

    return sorted(screens, key=badness, reverse=True)


def escape(text: str) -> str:
    r"""Escape links, HTML and active characters of Markdown in a text, and leave the rest as it is.

    >>> print(escape("gpu_01: 18.0 [13.3, 24.0] by <b> [a](http://b) www.c _d_"))
    gpu_01: 18.0 [13.3, 24.0] by \<b\> [a\](http\://b) www\.c \_d\_
    """
    return _ACTIVE.sub(r"\\\1", printable(text, 1000))


def write_summary(report: Report, changes: Sequence[Change] | None, made_at: dt.datetime) -> str:
    """Write one item of Markdown for each cluster; `changes` is None without a previous report."""
    lines = [f"# Cluster reliability, {moment(made_at)} UTC"]
    for chapter, first in worst_first(screens_of(report)):
        simulated = " (simulated)" if chapter.is_simulated else ""
        said = " ".join(filter(None, (first.change.in_words, first.sentence, *_numbers(first))))
        lines += [
            f"* **{escape(chapter.cluster_id)}**{simulated}: {escape(said)}",
            f"  Data until {_until(chapter, first)}. To do: {to_do(first, 3, escape)}",
        ]
    for chapter in report.chapters:
        if not any(page.first for page in chapter.pages):
            lines.append(f"* **{escape(chapter.cluster_id)}**: its first screen could not be made; see the log.")
    if len(lines) == 1:
        lines.append("* No cluster is in the warehouse.")
    lines += [f"* {_changed(changes)}", _FULL]
    return "\n".join(lines) + "\n"


def _numbers(first: FirstScreen) -> list[str]:
    """Write the tiles of the first screen that have limits, with their details."""
    return [f"{'; '.join((f'{t.label}: {t.value} {t.unit}', *t.details))}." for t in first.tiles if t.unit]


def _until(chapter: Chapter, first: FirstScreen) -> str:
    old = f" (old: {first.age.ago} before this report)" if first.age.is_old else ""
    return first.age.until + old + (" (stale)" if chapter.stale else "")


def to_do(first: FirstScreen, count: int, written: Callable[[str], str] = printable) -> str:
    """Name the nodes to take out, then the other actions, as many as fit."""
    lemons = [name for action in first.actions if action.takes_out for name in action.node_names]
    others = [action for action in first.actions if not action.takes_out]
    said = []
    if lemons:
        more = f" and {len(lemons) - MAX_NAMES} more" if len(lemons) > MAX_NAMES else ""
        said.append(f"take out {', '.join(map(written, lemons[:MAX_NAMES]))}{more}")
    shown = max(0, count - bool(lemons))
    said += [written(_inside(action)) for action in others[:shown]]
    left = len(others) - shown
    return ("; ".join(said) or "nothing") + (f"; {left} more in the report." if left > 0 else ".")


def _inside(action: Action) -> str:
    """Write the title of an action inside a sentence; that of a cause begins with a name."""
    title = action.title
    return title if action.kind == "cause" else title[:1].lower() + title[1:]


def _changed(changes: Sequence[Change] | None) -> str:
    if changes is None:
        return "This is the first report."
    if not changes:
        return "Since the report before: no number moved by more than its interval."
    said = [f"{escape(change.cluster_id)}: {escape(change.in_words)}" for change in changes[:2]]
    more = f"; {len(changes) - 2} more." if len(changes) > 2 else "."
    return f"Since the report before: {'; '.join(said)}{more}"


def draw_summary(report: Report, made_at: dt.datetime) -> bytes:
    """Draw a PNG of the first clusters, the same on every machine and without a browser."""
    screens = worst_first(screens_of(report))
    rows = [
        {
            "name": printable(chapter.cluster_id, 40) + (" (simulated)" if chapter.is_simulated else ""),
            "about": f"Data until {_until(chapter, first)}; {first.period}",
            "change": printable(first.change.in_words, 190),
            "tiles": [(textwrap.wrap(tile.label, TILE_CHARACTERS)[:2], tile) for tile in first.tiles[:MAX_TILES]],
            "to_do": printable(f"To do: {to_do(first, 1)}", 150),
        }
        for chapter, first in screens[:MAX_PICTURED]
    ]
    template, title = environment().get_template("summary.svg.j2"), f"{report.title}, {moment(made_at)} UTC"
    svg = template.render(title=title, rows=rows, hidden=len(screens) - len(rows))
    return bytes(vl_convert.svg_to_png(svg, scale=1.5))
