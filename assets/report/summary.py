"""The report for mail and chat, in ten lines of Markdown and as a picture: what the first screen of each cluster says.

Strings from the logs are escaped, so that they are text in Markdown and in the picture too.
"""

from __future__ import annotations

import datetime as dt
import re
import textwrap
from collections.abc import Callable, Sequence

import vl_convert

from assets.report.blocks import Chapter, FirstScreen, Page
from assets.report.changes import Change
from assets.report.filling import environment
from assets.report.numbers import moment, printable
from assets.report.wording import plural

MAX_LINES = 10
FIXED_LINES = 4
MAX_NAMES = 4
MAX_PICTURED = 4
MAX_TILES = 4
TILE_CHARACTERS = 38
_SPECIAL = re.compile(r"([!-+./:-@\[-`{-~])")
"""ASCII punctuation but comma and hyphen, which mean nothing inside a line."""
_ACTIVE = re.compile(r"([\\`*_<>#@|~&]|\](?=\()|(?<=www)\.|:(?=//))")
_FULL = "* All of it: `index.html` beside this file. Intervals are in brackets; times are UTC."

Screens = list[tuple[Chapter, FirstScreen]]


def screens_of(page: Page) -> Screens:
    """List the clusters that have a first screen, in the order of the report."""
    found = ((chapter, leaf.first) for chapter in page.chapters for leaf in chapter.leaves)
    return [(chapter, first) for chapter, first in found if first is not None]


def most_urgent_first(screens: Screens) -> Screens:
    """Sort by nodes to take out, then by other actions (exports do not count), then by lost GPU-hours."""

    def urgency(screen: tuple[Chapter, FirstScreen]) -> tuple[int, int, float]:
        actions = screen[1].actions
        out = sum(len(action.node_names) for action in actions if action.takes_out)
        return out, sum(action.kind != "source" for action in actions), screen[1].lost_gpu_hours

    return sorted(screens, key=urgency, reverse=True)


def escape(text: str) -> str:
    r"""Keep foreign text from being Markdown, a link or HTML.

    >>> print(escape("<b>*x*</b> [a](http://b)"))
    \<b\>\*x\*\<\/b\> \[a\]\(http\:\/\/b\)
    """
    return _SPECIAL.sub(r"\\\1", printable(text, 1000))


def escape_lightly(sentence: str) -> str:
    r"""Keep a sentence of the report from being a link or HTML, and its numbers as they are read.

    >>> print(escape_lightly("18.0 failures [13.3, 24.0] by <b> [a](http://b) www.c"))
    18.0 failures [13.3, 24.0] by \<b\> [a\](http\://b) www\.c
    """
    return _ACTIVE.sub(r"\\\1", printable(sentence, 1000))


def write_summary(page: Page, changes: Sequence[Change] | None, made_at: dt.datetime) -> str:
    """Write at most ten lines of Markdown; without a report before, `changes` is None."""
    room, screens = MAX_LINES - FIXED_LINES, most_urgent_first(screens_of(page))
    shown = screens if len(screens) <= room else screens[: room - 1]
    lines = [f"# Cluster reliability, {moment(made_at)} UTC"]
    if 2 * len(screens) <= room:
        for chapter, first in screens:
            lines += [f"* {_about(chapter, first)}", f"  To do: {to_do(first, 3, escape)}"]
    else:
        lines += [f"* {_about(chapter, first)} To do: {to_do(first, 1, escape)}" for chapter, first in shown]
        if len(shown) < len(screens):
            more = plural(len(screens) - len(shown), "more cluster")
            lines.append(f"* and {more} in the report, with less to do or less lost")
    if not screens:
        lines.append("* No cluster is in the warehouse.")
    ages = (f"{escape(chapter.cluster_id)} {_until(chapter, first)}" for chapter, first in shown)
    until = ", ".join(ages) or "nothing"
    lines += [f"* Since the report before: {_changed(changes)}", f"* Data until: {until}", _FULL]
    return "\n".join(lines) + "\n"


def _until(chapter: Chapter, first: FirstScreen) -> str:
    return first.until + (" (stale)" if chapter.stale else "")


def _about(chapter: Chapter, first: FirstScreen) -> str:
    simulated = " (simulated)" if chapter.is_simulated else ""
    return f"**{escape(chapter.cluster_id)}**{simulated}: {escape_lightly(first.sentence)}"


def to_do(first: FirstScreen, count: int, written: Callable[[str], str] = printable) -> str:
    """Name the nodes to take out, then the other actions, as many as fit."""
    lemons = [name for action in first.actions if action.takes_out for name in action.node_names]
    others = [action for action in first.actions if not action.takes_out]
    said = []
    if lemons:
        more = f" and {len(lemons) - MAX_NAMES} more" if len(lemons) > MAX_NAMES else ""
        said.append(f"take out {', '.join(map(written, lemons[:MAX_NAMES]))}{more}")
    shown = max(0, count - bool(lemons))
    said += [written(action.title) for action in others[:shown]]
    left = len(others) - shown
    return ("; ".join(said) or "nothing") + (f"; {left} more in the report." if left > 0 else ".")


def _changed(changes: Sequence[Change] | None) -> str:
    if changes is None:
        return "there is none."
    if not changes:
        return "no number moved by more than its interval."
    said = [f"{escape(change.cluster_id)}: {escape(change.said)}" for change in changes[:2]]
    return "; ".join(said) + (f"; {len(changes) - 2} more." if len(changes) > 2 else ".")


def draw_summary(page: Page, made_at: dt.datetime) -> bytes:
    """Draw a PNG of the first clusters, the same on every machine: no browser takes part."""
    screens = most_urgent_first(screens_of(page))
    rows = [
        {
            "name": printable(chapter.cluster_id, 40) + (" (simulated)" if chapter.is_simulated else ""),
            "about": f"{first.period}; data until {_until(chapter, first)}",
            "tiles": [(textwrap.wrap(tile.label, TILE_CHARACTERS)[:2], tile) for tile in first.tiles[:MAX_TILES]],
            "to_do": printable(f"To do: {to_do(first, 1)}", 150),
        }
        for chapter, first in screens[:MAX_PICTURED]
    ]
    template, title = environment().get_template("summary.svg.j2"), f"{page.title}, {moment(made_at)} UTC"
    svg = template.render(title=title, rows=rows, hidden=len(screens) - len(rows))
    return bytes(vl_convert.svg_to_png(svg, scale=1.5))
