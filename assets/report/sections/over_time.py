"""How the failure rate went over time, by cause, what was introduced or noted on the way, and when the rate changed."""

from __future__ import annotations

import datetime as dt
from itertools import groupby

from assets.model.change_effects import CHANGE_DAYS
from assets.model.failure_rate import dispersed_interval
from assets.report import palette
from assets.report.blocks import Figure, Section, Text, note, section
from assets.report.charts import INK, PICKED, RIM, SOFT, Spec, at, colours, figure, hover, layer, name, pick, zoom
from assets.report.first_screen import change_of
from assets.report.numbers import printable, share, short, whole
from assets.report.observed import has_enough
from assets.report.queries import Own, Row, grouped
from assets.report.sections.causes import cause_figure
from assets.report.tables import Col, ends, table
from assets.report.wording import LITTLE, exposure, plural, rate, sentence, span

WINDOW_DAYS = 30
MIN_DAYS = 7
MIN_POINTS = 7
CAUSES_SHOWN = 7
OTHER = "Other causes"
PER_1000 = f"per {whole(1000)} node-days"
RATE_30D = "failures_per_1000_node_days_30d"
CHARACTER_SHARE = 1 / 150
"""Of the width of the chart, for a label's letter."""
LANES = 6
SHOWN = {"helped", "hurt"}
TOGETHER = {"all": "incidents of all causes"}
MARKS: dict[str, tuple[str, Spec]] = {
    "check": ("Check first reported", {"color": SOFT, "strokeDash": [5, 3], "strokeWidth": 1.4}),
    "annotation": ("Noted by the site", {"color": SOFT, "strokeDash": [1, 3], "strokeWidth": 1.6}),
    "version": ("Version rolled out", {"color": SOFT, "strokeDash": [8, 3], "strokeWidth": 1.4}),
    "change": ("Change of the rate", {"color": INK, "strokeWidth": 2.2}),
}
"""Kinds of what happened: in words, and the look of their lines."""
LOOKS = {"check": "Dashed", "annotation": "Dotted", "version": "Long dashes", "change": "Thick upright line"}
Days = dict[dt.date, list[Row]]


def drawn(own: Own) -> Section:
    """Build the section that shows the failure rate: over time, which the first screen shows too, and by cause."""
    daily, all_days = own.rows("daily_rates"), own.row("rates", population="all", counted_as="attempts")
    course = _figure(daily, _marks(own), all_days) or note(_explain_missing_figure(daily))
    course = course if has_enough(own) else note(sentence(f"{LITTLE} of the rate over time"))
    return section("drawn", "What fails, and when", course, cause_figure(own))


def over_time(own: Own) -> Section:
    """Build the section on what came when, and on changes of the rate."""
    marks, changes, known = _marks(own), own.rows("rate_changes"), own.rows("known_changes")
    tests = _first_of_groups(known)
    return section(
        "over-time",
        "Failure rate over time",
        table(
            "What was introduced or noted",
            [mark for mark in marks if mark["kind"] != "change"],
            (Col("Day", "day", str), Col("Kind", lambda mark: MARKS[mark["kind"]][0]), Col("What", "text", str)),
            "A new check finds faults nobody looked for before: the rate may rise while no machine fails more often.",
        ),
        _words_on_checks(own),
        _words_on_known(known, tests),
        table(
            "What each change did to the rate of incidents",
            [row for row in tests if row["failure_category"] == "all" or row["verdict"] in SHOWN],
            KNOWN,
            f"After to before, up to {CHANGE_DAYS} days each. Where some nodes had not changed, over the same ratio of "
            "theirs; else all that came at the same time is part of it. Inseparable changes share one row. "
            "Helped, hurt: fewer, more incidents came after it, and at most 1 in 20 such verdicts is wrong, also where "
            "months differ by themselves. No change shown: a fall to half of the rate would show. Detectable fall: the "
            "smallest that 4 of 5 such changes would show. Causes have rows where something is shown.",
        ),
        f"{_words_on_changes(own.rows('rate_changes', failure_category='all'))} The last month: {change_of(own).said}"
        if changes
        else note("Changes of the rate were not looked for: no estimate of them."),
        table(
            "Changes of the rate of incidents",
            [series for series in changes if series["changed_at"]],
            CHANGES,
            f"Incidents {PER_1000}, limits at {{level}}. The day was chosen where the rates differ most, so the ratio "
            "is a little too far from 1. What came at the same time need not be the reason.",
        ),
    )


def _drawable(daily: list[Row]) -> Days:
    known = [row for row in daily if row["window_day_count"] >= MIN_DAYS and row[RATE_30D] is not None]
    return grouped(known, "day_date")


def _explain_missing_figure(daily: list[Row]) -> str:
    if not daily:
        return "No infrastructure failure was found, so there is no failure rate by cause to follow over time."
    days, needed = len(grouped(daily, "day_date")), MIN_DAYS + MIN_POINTS - 1
    if days < needed:
        return (
            f"The records span {plural(days, 'day')}. A rolling rate takes {MIN_DAYS} days to begin, and {needed} days "
            "to show a course: none is drawn."
        )
    known = plural(len(_drawable(daily)), "day")
    return f"The node-days of the trailing {WINDOW_DAYS} days are known on {known} only: none is drawn."


def _figure(daily: list[Row], marks: list[Row], all_days: Row) -> Figure | None:
    days, causes = _drawable(daily), grouped(daily, "failure_category")
    if len(days) < MIN_POINTS:
        return None
    labels = {name: rows[0]["label"] for name, rows in causes.items()}
    totals = {name: sum(row["failure_count"] for row in rows) for name, rows in causes.items()}
    ranked = sorted((name for name, count in totals.items() if count), key=lambda name: (-totals[name], name))
    # One cause too many takes the place that a layer of others would take.
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
        f"on record: all there are, {MIN_DAYS} at least.{gap}",
        totals=whole_rate,
        marks=lines,
    )


def _key(marks: list[Row]) -> str:
    """Say what the upright lines are, of the kinds that there are."""
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
    """Give each run of days without a gap a number."""
    spans: dict[dt.date, int] = {}
    for day in days:
        before = max(spans, default=day)
        spans[day] = spans.get(before, 0) + (day - before > dt.timedelta(days=1))
    return spans


def _stacks(days: Days, shades: dict[str, str]) -> list[Row]:
    """Pile the causes of each day up, those of the legend's end lowest."""
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
    """Give the rate of all causes together on each day, with limits at the dispersion of the whole study period."""
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
    """Put every label into the lowest lane where it covers no other one; those near the right end run leftwards.

    A label that no lane has room for is not written: its line stays, and the table beside the chart names it.

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


def _marks(own: Own) -> list[Row]:
    """List what happened when, the checks of one day together."""
    marks = []
    introduced = own.rows("check_introductions", is_introduction=True)
    for day, rows in groupby(introduced, key=lambda row: row["first_reported_at"].date()):
        names = [row["check_name"] for row in rows]
        label = f"check {printable(names[0], 24)}" if len(names) == 1 else plural(len(names), "check")
        marks.append((day, "check", label, ", ".join(map(printable, names))))
    for row in own.rows("annotations"):
        if row["annotated_date"]:
            label, text = (printable(row["annotation"], length) for length in (32, 200))
            marks.append((row["annotated_date"], "annotation", label, text))
    for row in own.rows("known_changes", failure_category="all"):
        if row["change_kind"] not in MARKS:
            label, text = (printable(row["change"], length) for length in (32, 200))
            marks.append((row["changed_at"].date(), "version", label, text))
    for row in own.rows("rate_changes", failure_category="all"):
        if row["changed_at"]:
            label = "rate changed" if row["ratio"] is None else f"rate × {short(row['ratio'], 2)}"
            marks.append((row["changed_at"].date(), "change", label, ""))
    return [dict(zip(("day", "kind", "label", "text"), mark, strict=True)) for mark in sorted(marks)]


def _words_on_checks(own: Own) -> str:
    if not own.cluster["has_health_checks"]:
        return "Without health checks nobody can say when a check was introduced."
    rows = own.rows("check_introductions")
    silent = sum(row["is_introduction"] is None for row in rows)
    new = sum(bool(row["is_introduction"]) for row in rows)
    said = f"{plural(new, 'check') if new else 'No check'} first reported a day or more after the first of all did."
    if silent:
        said += f" When {plural(silent, 'other check')} began is unknown: nothing but failures was logged."
    return said


CHANGES = (
    Col("Incidents", "label", str, has_swatch=True),
    Col("Changed on", lambda row: str(row["changed_at"].date()),
        detail=lambda row: ends(row, "changed_at", lambda at: str(at.date())) if row["changed_at_low"] else ""),
    Col("#Before", "rate_before", short, limits="rate_before"),
    Col("#After", "rate_after", short, limits="rate_after"),
    Col("#Ratio", "ratio", short, unknown="no incident before", detail=lambda row: ends(row, "ratio")),
    Col("#Rests on", lambda row: exposure(row["event_count"], row["exposure"], event="incident")),
    Col("At the same time", lambda row: printable(row["annotation"] or "nothing known within 7 days", 200)),
)  # fmt: skip


def _until(row: Row) -> str:
    """Say how many nodes changed, and until when."""
    if row["changed_node_count"] is None:
        return ""
    nodes, last = (
        f"{whole(row['changed_node_count'])} of {whole(row['node_count'])} nodes",
        row["last_changed_at"].date(),
    )
    return nodes if last == row["changed_at"].date() else f"{nodes}, until {last}"


def _names(row: Row, length: int) -> str:
    """Name a change with all that are inseparable from it."""
    others = f"; {row['inseparable_from']}" if row["inseparable_from"] else ""
    return printable(f"{row['change']}{others}", length)


def _first_of_groups(known: list[Row]) -> list[Row]:
    """Keep one row of each test."""
    return [rows[0] for rows in grouped(known, "failure_category", "change_group").values()]


KNOWN = (
    Col("What changed", lambda row: _names(row, 200), detail="note"),
    Col("On", lambda row: str(row["changed_at"].date()), detail=_until),
    Col("Incidents", "label", str, has_swatch=True),
    Col("#Ratio ({level})", "ratio", short, unknown="no incident before",
        detail=lambda row: "" if row["low"] is None else span(row["low"], row["high"])),
    Col("#Before", "incident_count_before", short, detail=lambda row: f"{short(row['node_days_before'])} node-days"),
    Col("#After", "incident_count_after", short, detail=lambda row: f"{short(row['node_days_after'])} node-days"),
    Col("#Ratio of unchanged nodes", "unchanged_ratio", short, unknown=""),
    Col("#Detectable fall", "smallest_ratio", lambda ratio: f"to {share(ratio)}", unknown="none"),
    Col("Verdict", "verdict"),
)  # fmt: skip
RATES = {"helped": "fewer", "hurt": "more"}


def _words_on_known(known: list[Row], tests: list[Row]) -> Text | str:
    """Say after which changes there were fewer or more incidents, or how large a change would have been seen."""
    if not known:
        return note(
            "No change is known to ask about. Boot lines of kernel logs, inventories and the controller's log tell of "
            "versions, and [[annotations]] in cluster.toml of anything else."
        )
    shown = [
        f"{RATES[row['verdict']]} {TOGETHER.get(row['label'], 'failures of ' + row['label'])} after {_names(row, 120)}"
        + (", which are inseparable" if row["inseparable_from"] else "")
        for row in tests
        if row["verdict"] in SHOWN
    ]
    count = plural(len({(row["change_kind"], row["changed_at"]) for row in known}), "known change")
    if shown:
        return f"Of {count}: {'; '.join(shown)}."
    falls = [row["smallest_ratio"] for row in tests if row["failure_category"] == "all" and row["smallest_ratio"]]
    seen = f"a fall of all incidents to {share(max(falls))} would be shown" if falls else "too little was seen for any"
    return f"Of {count} none is shown to have changed a rate; {seen}."


def _words_on_changes(series: list[Row]) -> str:
    first, changed = series[0], [str(row["changed_at"].date()) for row in series if row["changed_at"]]
    if changed:
        return f"The rate of all incidents changed on {', '.join(changed)}.{_trend(first)}"
    said = f"Change of the rate of incidents: {first['note'] or 'none found'}."
    if first["exposure"]:
        limits = f" ({ends(first, 'rate_before')})" if first["event_count"] else ""
        said += f" Over all days: {rate(first, 'rate_before', 'event_count')}{limits} {PER_1000}, "
        said += f"{exposure(first['event_count'], first['exposure'], event='incident')}."
    return f"{said}{_trend(first)}"


def _trend(series: Row) -> str:
    p_value = series["trend_p_value"]
    if p_value is None:
        return ""
    way = {"rises": "incidents become more frequent", "falls": "incidents become less frequent"}
    if series["trend_verdict"] == "cannot tell":
        why = f": {series['note'].rpartition('; ')[2]}" if series["changed_at"] else ""
        return f" Whether incidents become more or less frequent over the whole study cannot be told{why}."
    found = way.get(series["trend_verdict"], "no drift is shown")
    return f" Over the whole study {found} (Laplace's test, p = {short(p_value, 2)}; below 0.02 is called a drift)."
