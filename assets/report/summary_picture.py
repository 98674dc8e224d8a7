"""The summary as a picture for mail and chat: a row of numbers and the trend of each cluster.

Vega draws it without a browser, so that it is the same on every machine.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

import vl_convert

from assets.report.numbers import moment, printable
from assets.report.queries import Frames, Row, of_cluster
from assets.report.summary import Facts

MAX_CLUSTERS = 4
WIDTH, ROW_HEIGHT = 1100, 150
INK, SOFT, ACCENT = "#1f2328", "#57606a", "#0072b2"
TEXT_WIDTH = 760
COLUMNS = (0, 255, 510)
Spec = dict[str, Any]


def draw_summary(facts: Sequence[Facts], frames: Frames, made_at: dt.datetime) -> bytes:
    """Draw a PNG of the first clusters.

    Parameters
    ----------
    facts
        What `summary.facts_of` returned.
    frames
        What `queries.read_frames` returned: the trends.
    made_at
        UTC time of the report.
    """
    shown = facts[:MAX_CLUSTERS]
    hidden = len(facts) - len(shown)
    title = f"Cluster reliability, {moment(made_at)} UTC"
    rows = [_row(cluster, of_cluster(frames, "summary_trend", cluster.cluster_id)) for cluster in shown]
    return vl_convert.vegalite_to_png(
        {
            "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
            "background": "white",
            "padding": 24,
            "title": {
                "text": title,
                "subtitle": f"and {hidden} more in the report" if hidden else "",
                "anchor": "start",
                "fontSize": 22,
                "color": INK,
            },
            "vconcat": rows or [_texts([_text((0, 20), "No cluster is in the warehouse.", 16, INK)])],
            "spacing": 26,
            "config": {"view": {"stroke": None}, "font": "sans-serif"},
        },
        scale=1.5,
    )


def _row(facts: Facts, trend: list[Row]) -> Spec:
    name = printable(facts.cluster_id, 40) + (" (simulated)" if facts.is_simulated else "")
    words = [
        _text((0, 14), name, 17, INK, is_bold=True),
        _text((0, 34), f"{facts.size}, data until {facts.last_at}", 12, SOFT),
    ]
    lemons = [printable(name, 24) for action in facts.actions if action.takes_out for name in action.node_names]
    costly = f"most by {facts.costly_label} ({facts.costly_share})" if facts.costly_label else ""
    tiles = [
        ("Failures per 1,000 node-days", facts.rate, facts.rate_span),
        ("A job on the whole cluster lasts", facts.mttf or "cannot tell", facts.mttf_span),
        (f"Lost in {facts.lost_in}", facts.lost, costly),
    ]
    for left, (label, value, detail) in zip(COLUMNS, tiles, strict=True):
        words += [
            _text((left, 62), label, 12, SOFT),
            _text((left, 86), value, 20 if len(value) < 20 else 15, INK, is_bold=True),
            _text((left, 106), detail, 12, SOFT),
        ]
    doing = f"Take out {', '.join(lemons[:6])}{' ...' if len(lemons) > 6 else ''}" if lemons else "No node to take out"
    others = sum(not action.takes_out for action in facts.actions)
    doing += f"; {others} more to do" if others else ""
    words.append(_text((0, 134), f"{doing}. {facts.change[:1].upper()}{facts.change[1:]}".strip(), 12, INK))
    return {"hconcat": [_texts(words), _trend(trend)], "spacing": 20}


def _text(place: tuple[int, int], text: str, size: int, colour: str, is_bold: bool = False) -> Row:
    look = {"size": size, "colour": colour, "weight": "bold" if is_bold else "normal"}
    return {"x": place[0], "y": place[1], "text": text, **look}


def _texts(words: list[Row]) -> Spec:
    """Set words at their places; a layer for each look, as Vega-Lite has no weight by data."""
    looks = sorted({(word["size"], word["colour"], word["weight"]) for word in words})
    return {
        "width": TEXT_WIDTH,
        "height": ROW_HEIGHT,
        "layer": [
            {
                "data": {"values": [word for word in words if (word["size"], word["colour"], word["weight"]) == look]},
                "mark": {
                    "type": "text", "align": "left", "baseline": "middle", "limit": TEXT_WIDTH,
                    "fontSize": look[0], "color": look[1], "fontWeight": look[2],
                },
                "encoding": {
                    "x": {"field": "x", "type": "quantitative", "scale": {"domain": [0, TEXT_WIDTH]}, "axis": None},
                    "y": {"field": "y", "type": "quantitative", "scale": {"domain": [ROW_HEIGHT, 0]}, "axis": None},
                    "text": {"field": "text"},
                },
            }
            for look in looks
        ],
    }  # fmt: skip


def _trend(trend: list[Row]) -> Spec:
    values = [
        {"day": f"{row['day_date']:%Y-%m-%d}", "rate": row["failures_per_1000_node_days_30d"]}
        for row in trend
        if row["failures_per_1000_node_days_30d"] is not None
    ]
    if len(values) < 2:
        return _texts([_text((0, 90), "no trend yet", 12, SOFT)]) | {"width": WIDTH - TEXT_WIDTH}
    return {
        "width": WIDTH - TEXT_WIDTH,
        "height": ROW_HEIGHT - 40,
        "data": {"values": values},
        "title": {
            "text": "Failures per 1,000 node-days, trailing 30 days",
            "anchor": "start", "fontSize": 12, "color": SOFT, "fontWeight": "normal",
        },
        "mark": {"type": "line", "color": ACCENT, "strokeWidth": 2},
        "encoding": {
            "x": {
                "field": "day", "type": "temporal", "title": None,
                "axis": {"grid": False, "tickCount": 4, "format": "%-d %b", "labelColor": SOFT},
            },
            "y": {
                "field": "rate", "type": "quantitative", "title": None, "scale": {"zero": True},
                "axis": {"tickCount": 3, "labelColor": SOFT, "domain": False},
            },
        },
    }  # fmt: skip
