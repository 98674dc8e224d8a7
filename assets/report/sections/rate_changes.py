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
    whole_cluster = [each for each in rows if each["failure_category"] == "all"]
    found = [each for each in rows if each["changed_at"]]
    blocks: list[Block] = [Text(_words(whole_cluster))]
    if found:
        blocks.append(_table(found))
    return blocks


def _words(rows: list[Row]) -> str:
    changed = [each for each in rows if each["changed_at"]]
    if changed:
        days = ", ".join(str(each["changed_at"].date()) for each in changed)
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


def _trend(each: Row) -> str:
    score, p_value = each["trend_score"], each["trend_p_value"]
    if score is None or p_value is None:
        return ""
    if p_value >= 1 - (each["confidence_level"] or 0.9):
        return f" Laplace's test shows no trend over all days (p = {short(p_value, 2)})."
    way = "more" if score > 0 else "less"
    return f" Laplace's test over all days: incidents become {way} frequent (p = {short(p_value, 2)})."


def _table(rows: list[Row]) -> Table:
    return Table(
        "Changes of the rate of incidents",
        columns("Incidents", "Changed on", "#Before", "#After", "#Ratio", "#Rests on", "At the same time"),
        tuple(_row(each) for each in rows),
        note=f"Incidents per {whole(1000)} node-days, limits at {confidence(rows[0]['confidence_level'])}. The day was "
        "chosen where the rates differ most, so the ratio is a little too far from 1. What came at the same time need "
        "not be the reason.",
    )


def _row(each: Row) -> tuple[Cell, ...]:
    is_all = each["failure_category"] == "all"
    early, late = (each[name].date() if each[name] else None for name in ("changed_at_low", "changed_at_high"))
    ratio = "no incident before" if each["ratio"] is None else short(each["ratio"])
    return row(
        Cell("all" if is_all else each["label"], swatch="" if is_all else palette.colour_of(each["failure_category"])),
        Cell(str(each["changed_at"].date()), detail=f"{early} to {late}" if early and late else ""),
        Cell(short(each["rate_before"]), detail=span(each["rate_before_low"], each["rate_before_high"])),
        Cell(short(each["rate_after"]), detail=span(each["rate_after_low"], each["rate_after_high"])),
        Cell(ratio, detail=span(each["ratio_low"], each["ratio_high"])),
        exposure(each["event_count"], each["exposure"], "node-days", "incident"),
        printable(each["annotation"], 200) if each["annotation"] else "nothing known within 7 days",
    )
