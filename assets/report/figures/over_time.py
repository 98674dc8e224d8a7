"""The failure rate over time, by cause, with marks for new checks, notes, versions and changes of the rate."""

from __future__ import annotations

import datetime as dt
from itertools import groupby

from assets.model.failure_rate import dispersed_interval
from assets.report import palette
from assets.report.blocks import Figure
from assets.report.charts import INK, PICKED, RIM, SOFT, Spec, at, colours, figure, hover, layer, name, pick, zoom
from assets.report.numbers import printable, short, whole
from assets.report.observed import has_enough
from assets.report.queries import ClusterData, Row, grouped
from assets.report.wording import plural, span

WINDOW_DAYS = 30
MIN_DAYS = 7
MIN_POINTS = 7
CAUSES_SHOWN = 7
OTHER = "Other causes"
PER_1000 = f"per {whole(1000)} node-days"
RATE_30D = "failures_per_1000_node_days_30d"
CHARACTER_SHARE = 1 / 150
"""Share of the width of the chart for one letter of a label."""
LANES = 6
MARKS: dict[str, tuple[str, Spec]] = {
    "check": ("Check first reported", {"color": SOFT, "strokeDash": [5, 3], "strokeWidth": 1.4}),
    "annotation": ("Noted by the site", {"color": SOFT, "strokeDash": [1, 3], "strokeWidth": 1.6}),
    "version": ("Version rolled out", {"color": SOFT, "strokeDash": [8, 3], "strokeWidth": 1.4}),
    "change": ("Change of the rate", {"color": INK, "strokeWidth": 2.2}),
}
"""Kinds of marks: in words, and the look of their lines."""
LOOKS = {"check": "Dashed", "annotation": "Dotted", "version": "Long dashes", "change": "Thick upright line"}
Days = dict[dt.date, list[Row]]


def _drawable(daily: list[Row]) -> Days:
    known = [row for row in daily if row["window_day_count"] >= MIN_DAYS and row[RATE_30D] is not None]
    return grouped(known, "day_date")


def over_time(data: ClusterData) -> Figure | None:
    """Draw the failure rate over time by cause; None if too little was seen for a rate or for a chart of it."""
    daily, marks = data.rows("daily_rates"), marks_of(data)
    days, causes = _drawable(daily), grouped(daily, "failure_category")
    if len(days) < MIN_POINTS or not has_enough(data):
        return None
    all_days = data.row("rates", population="all", counted_as="attempts")
    labels = {name: rows[0]["label"] for name, rows in causes.items()}
    totals = {name: sum(row["failure_count"] for row in rows) for name, rows in causes.items()}
    ranked = sorted((name for name, count in totals.items() if count), key=lambda name: (-totals[name], name))
    # A single cause above the maximum is shown in place of a layer of others.
    shown = ranked if len(ranked) == CAUSES_SHOWN + 1 else ranked[:CAUSES_SHOWN]
    shades = {labels[name]: palette.colour_of(name) for name in palette.in_order(shown)}
    shades |= {OTHER: palette.OTHER} if len(shown) < len(ranked) else {}
    first, last = min(days), max(days)
    # Where labels compete for room, changes come first.
    drawn = sorted((mark for mark in marks if first <= mark["day"] <= last), key=lambda mark: mark["kind"] != "change")
    unknown = len({row["day_date"] for row in daily if row["window_day_count"] >= MIN_DAYS}) - len(days)
    gap = f" On {plural(unknown, 'day')} the node-days are unknown and nothing is drawn." if unknown else ""
    whole_rate, drawn = _totals(days, all_days), with_lanes(drawn, first, last)
    top = max(row["high"] for row in whole_rate) or 1.0
    lanes = max((mark["lane"] for mark in drawn), default=-1) + 1
    lines = [
        {key: mark[key] for key in ("kind", "label", "shown", "is_leftward")}
        | {"day": _time(mark["day"]), "foot": 0.0, "at": top * (1.06 + 0.09 * mark["lane"])}
        for mark in drawn
    ]
    return figure(
        "over-time",
        "Failure rate over time, by cause",
        f"Layers, one for each cause, of failures {PER_1000} over the trailing {WINDOW_DAYS} days, from {first} to "
        f"{last}. Most failures: {labels[ranked[0]]} ({plural(totals[ranked[0]], 'failure')}). "
        f"{plural(len(drawn), 'vertical line')} for checks, notes and changes. The tables below hold the values.",
        _stacks(days, shades),
        {"day": "30 days to", "label": "Cause", "rate": f"Failures {PER_1000}"},
        _layers(shades, top, lanes, {mark["kind"] for mark in drawn}),
        300 + 22 * lanes,
        f"Thick line: all causes; thin lines: the 90% limits of their count.{_key(drawn)} Until {WINDOW_DAYS} days are "
        f"on record, rates use all days, at least {MIN_DAYS}.{gap} Figure 5 of the paper.",
        totals=whole_rate,
        marks=lines,
    )


def _key(marks: list[Row]) -> str:
    """Describe the upright lines of the kinds in use."""
    kinds = {mark["kind"] for mark in marks}
    return "".join(f" {look}: {MARKS[kind][0].lower()}." for kind, look in LOOKS.items() if kind in kinds)


def _layers(shades: dict[str, str], top: float, lanes: int, kinds: set[str]) -> list[Spec]:
    axis = {
        "format": "%Y-%m-%d",
        "labelOverlap": "greedy",
        "labelSeparation": 12,
        "grid": False,
        "tickCount": 8,
        "labelFlush": True,
    }
    x: Spec = {"field": "day", "type": "temporal", "scale": {"nice": False}, "title": None, "axis": axis}
    y: Spec = {"scale": {"domain": [0, top * (1.04 + 0.09 * lanes)], "nice": False}}
    y["title"] = f"failures {PER_1000}, trailing {WINDOW_DAYS} days"
    day = {"field": "day", "type": "temporal", "title": "30 days to", "format": "%Y-%m-%d"}
    fill = colours(shades, "label", title=None, legend={"columns": 4, "labelLimit": 260})
    run = name("span")
    band: Spec = {"y": at("low", y), "y2": {"field": "high"}}
    value = {"field": "rate", "type": "quantitative", "title": PER_1000, "format": ".3~g"}
    layers: list[Spec] = [
        layer("area", stroke="white", strokeWidth=0.6, params=[pick("label"), zoom("x")], opacity=PICKED, x=x, **band,
              detail=run, fill=fill, tooltip=[day, *hover(label="cause"), value]),
        *(
            layer("line", "totals", color=INK, strokeWidth=0.8, opacity=0.7, x=x, detail=run, y=at(end, y))
            for end in ("low", "high")
        ),
        layer("line", "totals", color=INK, strokeWidth=2, x=x, detail=run, y=at("rate", y)),
        layer("point", "totals", opacity=0, filled=True, size=160, x=x, y=at("rate", y),
              tooltip=[day, *hover(text="all causes")]),
    ]  # fmt: skip
    # The lines begin at the foot of the chart and end at their label.
    layers += [
        layer("rule", "marks", f"datum.kind == '{kind}'", x=x, y=at("foot", y), y2={"field": "at"}, **look,
              tooltip=[{**day, "title": "day"}, *hover(label="what")])
        for kind, (_, look) in MARKS.items()
        if kind in kinds
    ]  # fmt: skip
    return layers + [
        layer("text", "marks", f"datum.is_leftward == {leftward}", align=align, dx=dx, fontSize=11, x=x,
              y=at("at", y), text=name("shown"), **ink)
        for leftward, align, dx in (("false", "left", 4), ("true", "right", -4))
        for ink in (RIM, {"color": INK})
        if kinds
    ]  # fmt: skip


def _time(day: dt.date) -> str:
    return f"{day}T00:00:00"


def _spans(days: Days) -> dict[dt.date, int]:
    """Give a number to each run of days without a gap."""
    spans: dict[dt.date, int] = {}
    for day in days:
        before = max(spans, default=day)
        spans[day] = spans.get(before, 0) + (day - before > dt.timedelta(days=1))
    return spans


def _stacks(days: Days, shades: dict[str, str]) -> list[Row]:
    """Stack the causes of each day, the last of the legend lowest."""
    rows, spans = [], _spans(days)
    for day, causes in days.items():
        rates = dict.fromkeys(shades, 0.0)
        for row in causes:
            label = row["label"] if row["label"] in shades else OTHER
            if label in rates:
                rates[label] += row[RATE_30D]
        low = 0.0
        for label in reversed(shades):
            high = low + rates[label]
            rows.append({"day": _time(day), "label": label, "low": round(low, 4), "high": round(high, 4),
                         "rate": round(rates[label], 4), "span": spans[day]})  # fmt: skip
            low = high
    return rows


def _totals(days: Days, all_days: Row) -> list[Row]:
    """Return the rate of all causes together on each day, with limits at the dispersion of the whole study period."""
    seen = all_days.get("failure_count")
    dispersion = max(1.0, (all_days["failure_variance"] or seen) / seen) if seen else 1.0
    counts = [sum(row["failure_count_30d"] for row in causes) for causes in days.values()]
    found = dispersed_interval(counts, [causes[0]["node_days_30d"] for causes in days.values()], dispersion)
    spans = _spans(days)
    return [
        {
            "day": _time(day),
            "rate": round(1000 * value, 4),
            "low": round(1000 * low, 4),
            "high": round(1000 * high, 4),
            "text": f"{short(1000 * value)} ({span(1000 * low, 1000 * high)}), {plural(count, 'failure')}",
            "span": spans[day],
        }
        for day, count, value, low, high in zip(days, counts, found.value, found.low, found.high, strict=True)
    ]


def with_lanes(marks: list[Row], first: dt.date, last: dt.date) -> list[Row]:
    """Put every label into the lowest free lane; labels near the right end run leftwards.

    A label that no lane has room for is not written: its line stays, and the table next to the chart names it.

    >>> days = [{"day": dt.date(2026, 1, 1), "label": "driver"}, {"day": dt.date(2026, 1, 2), "label": "disk"}]
    >>> [mark["lane"] for mark in with_lanes(days, dt.date(2026, 1, 1), dt.date(2026, 2, 1))]
    [0, 1]
    """
    length = max((last - first).days, 1)
    taken: list[list[tuple[float, float]]] = [[] for _ in range(LANES)]
    placed = []
    for mark in marks:
        start, width = (mark["day"] - first).days / length, CHARACTER_SHARE * (len(mark["label"]) + 2)
        runs_left = start + width > 1
        low, high = (start - width, start) if runs_left else (start, start + width)
        lane = next((lane for lane in range(LANES) if all(high < a or low > b for a, b in taken[lane])), None)
        if lane is not None:
            taken[lane].append((low, high))
        place = {"lane": LANES - 1 if lane is None else lane, "shown": "" if lane is None else mark["label"]}
        placed.append(mark | place | {"is_leftward": runs_left})
    return placed


def marks_of(data: ClusterData) -> list[Row]:
    """List the marks of the chart by day; the checks of one day are one mark."""
    marks = []
    introduced = data.rows("check_introductions", is_introduction=True)
    for day, rows in groupby(introduced, key=lambda row: row["first_reported_at"].date()):
        names = [row["check_name"] for row in rows]
        label = f"check {printable(names[0], 24)}" if len(names) == 1 else plural(len(names), "check")
        marks.append((day, "check", label, ", ".join(map(printable, names))))
    for row in data.rows("annotations"):
        if row["annotated_date"]:
            label, text = (printable(row["annotation"], length) for length in (32, 200))
            marks.append((row["annotated_date"], "annotation", label, text))
    for row in data.rows("known_changes", failure_category="all"):
        if row["change_kind"] not in MARKS:
            label, text = (printable(row["change"], length) for length in (32, 200))
            marks.append((row["changed_at"].date(), "version", label, text))
    for row in data.rows("rate_changes", failure_category="all"):
        if row["changed_at"]:
            label = "rate changed" if row["ratio"] is None else f"rate × {short(row['ratio'], 2)}"
            marks.append((row["changed_at"].date(), "change", label, ""))
    named = (dict(zip(("day", "kind", "label", "text"), mark, strict=True)) for mark in sorted(marks))
    return [mark | {"name": MARKS[mark["kind"]][0]} for mark in named]
