"""When the rate of incidents changed, by how much, and what is known to have happened then."""

from __future__ import annotations

from assets.report import palette
from assets.report.blocks import Block, Cell, Table, Text, columns, row
from assets.report.numbers import confidence, printable, short, whole
from assets.report.queries import Frames, Row, of_cluster
from assets.report.wording import exposure, rate, span


def change_blocks(frames: Frames, cluster_id: str) -> list[Block]:
    """Say when the rate changed, and why nothing is said where nothing is."""
    rows = of_cluster(frames, "rate_changes", cluster_id)
    if not rows:
        return [Text("Changes of the rate were not looked for: the cluster has no estimate of them.", "note")]
    whole_cluster = [series for series in rows if series["failure_category"] == "all"]
    found = [series for series in rows if series["changed_at"]]
    blocks: list[Block] = [Text(_words(whole_cluster))]
    if found:
        blocks.append(_table(found))
    return blocks


def _words(rows: list[Row]) -> str:
    changed = [series for series in rows if series["changed_at"]]
    if changed:
        days = ", ".join(str(series["changed_at"].date()) for series in changed)
        return f"The rate of all incidents changed on {days}.{_trend(rows[0])}"
    first = rows[0]
    rests_on = ""
    if first["exposure"]:
        value = rate(
            first["event_count"],
            first["rate_before"],
            first["rate_before_high"],
            first["confidence_level"],
        )
        ends = f" ({span(first['rate_before_low'], first['rate_before_high'])})" if first["event_count"] else ""
        rests_on = (
            f" Over all days: {value}{ends} per {whole(1000)} node-days, "
            f"{exposure(first['event_count'], first['exposure'], 'node-days', 'incident')}."
        )
    return f"Change of the rate of incidents: {first['note'] or 'none found'}.{rests_on}{_trend(first)}"


def _trend(series: Row) -> str:
    score, p_value = series["trend_score"], series["trend_p_value"]
    if score is None or p_value is None:
        return ""
    if p_value >= 1 - (series["confidence_level"] or 0.9):
        return f" Laplace's test shows no trend over all days (p = {short(p_value, 2)})."
    way = "more" if score > 0 else "less"
    return f" Laplace's test over all days: incidents become {way} frequent (p = {short(p_value, 2)})."


def _table(rows: list[Row]) -> Table:
    return Table(
        "Changes of the rate of incidents",
        columns("Incidents", "Changed on", "#Before", "#After", "#Ratio", "#Rests on", "At the same time"),
        tuple(_row(series) for series in rows),
        note=f"Incidents per {whole(1000)} node-days, limits at {confidence(rows[0]['confidence_level'])}. The day was "
        "chosen where the rates differ most, so the ratio is a little too far from 1. What came at the same time need "
        "not be the reason.",
    )


def _row(series: Row) -> tuple[Cell, ...]:
    is_all = series["failure_category"] == "all"
    early, late = (series[name].date() if series[name] else None for name in ("changed_at_low", "changed_at_high"))
    ratio = "no incident before" if series["ratio"] is None else short(series["ratio"])
    return row(
        Cell(
            "all" if is_all else series["label"], swatch="" if is_all else palette.colour_of(series["failure_category"])
        ),
        Cell(str(series["changed_at"].date()), detail=f"{early} to {late}" if early and late else ""),
        Cell(short(series["rate_before"]), detail=span(series["rate_before_low"], series["rate_before_high"])),
        Cell(short(series["rate_after"]), detail=span(series["rate_after_low"], series["rate_after_high"])),
        Cell(ratio, detail=span(series["ratio_low"], series["ratio_high"])),
        exposure(series["event_count"], series["exposure"], "node-days", "incident"),
        printable(series["annotation"], 200) if series["annotation"] else "nothing known within 7 days",
    )
