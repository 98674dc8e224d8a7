"""How the failure rate went over time, by cause, and what was introduced, noted or changed on the way."""

from __future__ import annotations

import datetime as dt

import pandas as pd

from assets.model.failure_rate import garwood_interval
from assets.report import palette
from assets.report.blocks import Block, Cell, Figure, Section, Table, Text, columns, row
from assets.report.figures.over_time import over_time as draw
from assets.report.numbers import UNKNOWN, printable, short, whole
from assets.report.queries import Frames, Row, of_cluster
from assets.report.sections.rate_changes import change_blocks
from assets.report.wording import exposure, plural, span

TITLE = "Failure rate over time"
WINDOW_DAYS = 30
MIN_DAYS = 7
MIN_POINTS = 7
CAUSES_SHOWN = 7
OTHER = "Other causes"


def over_time(frames: Frames, cluster: Row) -> Section:
    """Build the section on the failure rate over time."""
    cluster_id = cluster["cluster_id"]
    daily = of_cluster(frames, "daily_rates", cluster_id)
    marks = _marks(frames, cluster_id)
    blocks: list[Block] = []
    figure = _figure(daily, marks)
    if figure:
        blocks.append(figure)
    else:
        blocks.append(Text(_explain_missing_figure(daily), "note"))
    if daily:
        blocks.append(_by_window(daily))
    noted = [mark for mark in marks if mark["kind"] != "change"]
    if noted:
        blocks.append(_noted(noted))
    blocks.append(Text(_words_on_checks(frames, cluster)))
    blocks.extend(change_blocks(frames, cluster_id))
    return Section("over-time", TITLE, tuple(blocks))


def _drawable(daily: list[Row]) -> list[Row]:
    return [
        rate
        for rate in daily
        if rate["window_day_count"] >= MIN_DAYS and rate["failures_per_1000_node_days_30d"] is not None
    ]


def _explain_missing_figure(daily: list[Row]) -> str:
    if not daily:
        return "No infrastructure failure was found, so there is no failure rate by cause to follow over time."
    days = len({rate["day_date"] for rate in daily})
    drawable = len({rate["day_date"] for rate in _drawable(daily)})
    if days < MIN_DAYS + MIN_POINTS - 1:
        return (
            f"The records span {plural(days, 'day')}. A rolling rate takes {MIN_DAYS} days to begin, and "
            f"{MIN_DAYS + MIN_POINTS - 1} days to show a course: none is drawn."
        )
    return (
        f"The node-days of the trailing {WINDOW_DAYS} days are known on {plural(drawable, 'day')} only: none is drawn."
    )


def _figure(daily: list[Row], marks: list[Row]) -> Figure | None:
    rows = _drawable(daily)
    days = sorted({rate["day_date"] for rate in rows})
    if len(days) < MIN_POINTS:
        return None
    totals: dict[str, int] = {}
    labels = {rate["failure_category"]: rate["label"] for rate in daily}
    for rate in daily:
        totals[rate["failure_category"]] = totals.get(rate["failure_category"], 0) + rate["failure_count"]
    ranked = sorted((name for name, count in totals.items() if count), key=lambda name: (-totals[name], name))
    # One cause too many takes the place that a layer of others would take.
    shown = ranked if len(ranked) == CAUSES_SHOWN + 1 else ranked[:CAUSES_SHOWN]
    shown = sorted(shown, key=lambda name: (list(palette.GROUP_COLOURS).index(palette.group_of(name)), -totals[name]))
    shades = palette.shades_of(shown)
    colours = {labels[name]: shades[name] for name in shown}
    if len(shown) < len(ranked):
        colours[OTHER] = palette.OTHER_CAUSES
    unknown = len({rate["day_date"] for rate in daily if rate["window_day_count"] >= MIN_DAYS}) - len(days)
    leader = ranked[0]
    drawn = [mark for mark in marks if days[0] <= mark["day"] <= days[-1]]
    # Where labels compete for room, changes come first.
    drawn.sort(key=lambda mark: mark["kind"] != "change")
    frame = pd.DataFrame(drawn, columns=["day", "kind", "label"])
    frame = frame.assign(day=pd.to_datetime(frame["day"]), foot=0.0)
    gap = f" On {plural(unknown, 'day')} the node-days are unknown and nothing is drawn." if unknown else ""
    return Figure(
        "over-time",
        "Failure rate over time, by cause",
        f"Layers, one for each cause, of failures per 1,000 node-days over the trailing {WINDOW_DAYS} days, from "
        f"{days[0]} to {days[-1]}. Most failures: {labels[leader]} (k = {whole(totals[leader])}). "
        f"{plural(len(drawn), 'vertical line')} for checks, notes and changes. The tables below hold the values.",
        draw(_stacks(rows, colours), _totals(rows), colours, frame),
        note=f"Trailing {WINDOW_DAYS} days; until {WINDOW_DAYS} days are on record, all there are, {MIN_DAYS} at "
        "least. Line and band: all causes, with the 90% limits of their count. "
        f"Hue: part of the machine; shade: cause. Dashed: a check first reported. Dotted: noted by the site. "
        f"Solid: change of the rate of incidents.{gap}",
    )


def _stacks(rows: list[Row], colours: dict[str, str]) -> pd.DataFrame:
    """Pile the causes of each day up, those of the legend's end lowest, and number the runs of days without a gap."""
    frame = pd.DataFrame(
        [
            (
                rate["day_date"],
                rate["label"] if rate["label"] in colours else OTHER,
                rate["failures_per_1000_node_days_30d"],
            )
            for rate in rows
        ],
        columns=["day", "label", "rate"],
    )
    wide = frame[frame["label"].isin(colours)].pivot_table(index="day", columns="label", values="rate", aggfunc="sum")
    wide = wide.reindex(columns=list(colours)).fillna(0.0)
    wide.index = pd.to_datetime(wide.index)
    days = wide.index.to_series()
    run = (days.diff() > pd.Timedelta(days=1)).cumsum()
    high = wide.iloc[:, ::-1].cumsum(axis=1).iloc[:, ::-1]
    layers = [
        pd.DataFrame({
            "day": days,
            "label": label,
            "low": (high[label] - wide[label]).round(4),
            "high": high[label].round(4),
            "rate": wide[label].round(4),
            "span": run,
        })
        for label in colours
    ]  # fmt: skip
    return pd.concat(layers, ignore_index=True)


def _totals(rows: list[Row]) -> pd.DataFrame:
    """Give the rate of all causes together on each day, with Garwood's limits of the count of its 30 days."""
    by_day: dict[dt.date, list[Row]] = {}
    for rate in rows:
        by_day.setdefault(rate["day_date"], []).append(rate)
    days = sorted(by_day)
    counts = [sum(rate["failure_count_30d"] for rate in by_day[day]) for day in days]
    found = garwood_interval(counts, [by_day[day][0]["node_days_30d"] for day in days])
    values = {"rate": found.value, "low": found.low, "high": found.high}
    frame = pd.DataFrame({"day": pd.to_datetime(pd.Series(days))} | {name: 1000 * at for name, at in values.items()})
    said = zip(counts, frame["rate"], frame["low"], frame["high"], strict=True)
    return frame.assign(
        **{name: frame[name].round(4) for name in values},
        text=[f"{short(rate)} ({span(low, high)}), k = {whole(count)}" for count, rate, low, high in said],
        span=(frame["day"].diff() > pd.Timedelta(days=1)).cumsum(),
    )


def _marks(frames: Frames, cluster_id: str) -> list[Row]:
    """List what happened when, the checks of one day together."""
    checks: dict[dt.date, list[str]] = {}
    for introduction in of_cluster(frames, "check_introductions", cluster_id):
        if introduction["is_introduction"]:
            checks.setdefault(introduction["first_reported_at"].date(), []).append(introduction["check_name"])
    marks = [
        {
            "day": day,
            "kind": "check",
            "label": f"check {printable(names[0], 24)}" if len(names) == 1 else plural(len(names), "check"),
            "text": ", ".join(printable(name) for name in names),
        }
        for day, names in checks.items()
    ]
    marks += [
        {
            "day": annotation["annotated_date"],
            "kind": "annotation",
            "label": printable(annotation["annotation"], 32),
            "text": printable(annotation["annotation"], 200),
        }
        for annotation in of_cluster(frames, "annotations", cluster_id)
        if annotation["annotated_date"]
    ]
    marks += [
        {
            "day": change["changed_at"].date(),
            "kind": "change",
            "label": "rate changed" if change["ratio"] is None else f"rate × {short(change['ratio'], 2)}",
            "text": "",
        }
        for change in of_cluster(frames, "rate_changes", cluster_id)
        if change["changed_at"] and change["failure_category"] == "all"
    ]
    return sorted(marks, key=lambda mark: (mark["day"], mark["kind"], mark["label"]))


def _by_window(daily: list[Row]) -> Table:
    """Show every 30th window, counted back from the last day, so that no failure is in two of them."""
    by_day: dict[dt.date, list[Row]] = {}
    for rate in daily:
        by_day.setdefault(rate["day_date"], []).append(rate)
    last = max(by_day)
    ends = [day for day in sorted(by_day) if (last - day).days % WINDOW_DAYS == 0]
    return Table(
        f"Failure rate by {WINDOW_DAYS} days",
        columns(
            "Days to", "#Days", "#Failed attempts (k)", "#Node-days", f"#Per {whole(1000)} node-days", "Most frequent"
        ),
        tuple(_window_row(day, by_day[day]) for day in ends),
        note=f"Rate: k over node-days of the {WINDOW_DAYS} days that end with the day named, in UTC.",
    )


def _window_row(day: dt.date, causes: list[Row]) -> tuple[Cell, ...]:
    leader = max(causes, key=lambda cause: (cause["failure_count_30d"], cause["failure_category"]))
    count, node_days = sum(cause["failure_count_30d"] for cause in causes), leader["node_days_30d"]
    value = UNKNOWN if node_days is None else short(1000 * count / node_days) if node_days else "no exposure"
    if count == 0 and node_days:
        value = "none seen"
    return row(
        str(day),
        whole(leader["window_day_count"]),
        whole(count),
        short(node_days),
        Cell(value, detail=exposure(count, node_days, "node-days") if count and node_days else ""),
        Cell(
            f"{leader['label']} (k = {whole(leader['failure_count_30d'])})" if count else "",
            swatch=palette.colour_of(leader["failure_category"]) if count else "",
        ),
    )


def _noted(marks: list[Row]) -> Table:
    kinds = {"check": "Check first reported", "annotation": "Noted by the site"}
    return Table(
        "What was introduced or noted",
        columns("Day", "Kind", "What"),
        tuple(row(str(mark["day"]), kinds[mark["kind"]], mark["text"]) for mark in marks),
        note="A new check finds faults nobody looked for before: the rate may rise while no machine fails more often.",
    )


def _words_on_checks(frames: Frames, cluster: Row) -> str:
    if not cluster["has_health_checks"]:
        return "Without health checks nobody can say when a check was introduced."
    rows = of_cluster(frames, "check_introductions", cluster["cluster_id"])
    silent = sum(introduction["is_introduction"] is None for introduction in rows)
    new = sum(bool(introduction["is_introduction"]) for introduction in rows)
    words = f"{plural(new, 'check') if new else 'No check'} first reported a day or more after the first of all did."
    if silent:
        words += f" When {plural(silent, 'other check')} began is unknown: nothing but failures was logged."
    return words
