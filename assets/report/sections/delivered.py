"""What the nodes delivered by month, the error budget, why nodes were out of service, and who is not back yet."""

from __future__ import annotations

from datetime import datetime

from assets.report import palette
from assets.report.addresses import of_node
from assets.report.blocks import Figure, Section, note, section
from assets.report.charts import FLAT_AXIS, INK, at, colours, figure, hover, layer, name
from assets.report.numbers import duration, moment, percent, printable, share, short, whole
from assets.report.queries import Own, Row
from assets.report.tables import Col, ends, flag, table
from assets.report.wording import plural

SHADES = {
    "failed": palette.CAUSES["gpu_nvlink"],
    "planned out": palette.CAUSES["planned"],
    "unknown": palette.OTHER,
}
"""What takes node-hours out of service, or hides whether they were in service."""
BURN_DAYS = {"fast": 3, "medium": 7, "slow": 28}
"""The longer window of each pace."""
WINDOWS = (28, 7, 3, 1)
"""Days over which the budget burns; those that are longer than the data are unknown."""


def limits(row: Row, stem: str) -> str:
    """Write the limits where hours are unknown; elsewhere they are the value."""
    return ends(row, stem, percent) if row["unknown_node_hours"] and row[f"{stem}_high"] is not None else ""


def counted(row: Row) -> str:
    """Say whether an outage counts against the objective, and whether a rule knows its reason."""
    if row["is_planned"]:
        return "planned" if row["failure_category"] == "planned" else "no machine: counts as planned"
    return "failed: no rule knows the reason" if row["failure_category"] == "unmapped" else "failed"


def hours_of(row: Row, kind: str) -> float:
    """Look up the node-hours of a kind."""
    return float(row[f"{kind.replace(' ', '_')}_node_hours"])


MONTHS = (
    Col("Month", lambda row: f"{row['month_date']:%Y-%m}"),
    *(
        Col(f"#{kind.capitalize()}", f"{kind.replace(' ', '_')}_node_hours", short)
        for kind in ("allocated", "idle", *SHADES, "total")
    ),
    Col("#Availability", "availability", percent, detail=lambda row: limits(row, "availability")),
)  # fmt: skip
BUDGET = Col("#Error budget left", "error_budget_left", percent, detail=lambda row: limits(row, "error_budget_left"))
REASONS = (
    Col("Reason", lambda row: printable(row["unmapped_reason"] or row["label"])),
    Col("Counts as", counted),
    Col("#Outages", "outage_count", whole),
    Col("#Nodes", "node_count", whole),
    Col("#Node-hours", "node_hours", short),
    Col("Last reason given", lambda row: printable(row["last_reason"] or "none")),
)


def delivered(own: Own) -> Section:
    """Build the section on node-hours by what nodes did in them."""
    title, months, nodes = "What was delivered, and the error budget", own.rows("availability"), own.rows("nodes")
    if not months:
        return section("delivered", title, "Accounting covers no time, so nothing can be said of node-hours.")
    last_at = own.cluster["last_at"]
    away = sorted((row for row in nodes if row["open_since"] is not None), key=lambda row: row["open_since"])
    return section(
        "delivered",
        title,
        _summary(months),
        _figure(months),
        table(
            "Node-hours by month",
            months[::-1],
            MONTHS if months[-1]["objective"] is None else (*MONTHS, BUDGET),
            "Failed is what was out of service for anything but planned work; it alone counts against the objective. "
            "A machine that a cloud could not give or took back counts as planned. "
            "Availability is a share of hours without planned work; in its limits all unknown hours failed, or none.",
        ),
        table(
            "Time out of service by reason",
            own.rows("out_of_service"),
            REASONS,
            "Over all records; what a node was out for two reasons at once counts under both. A rule under "
            "[[node_reasons]] of cluster.toml gives a reason its meaning.",
        ),
        table(
            f"Nodes that are out of service ({whole(len(away))})",
            away,
            (
                Col("Node", "node_name", link=of_node),
                Col("Since (UTC)", "open_since", moment),
                Col("#For", lambda row: duration(_hours_out(row, last_at))),
                Col("Reason given", lambda row: printable(row["open_reason"] or "none")),
                Col("Repair", _repair) if own.cluster["has_tickets"] else flag("Planned", "open_is_planned"),
            ),
            f"At the end of the records, {moment(last_at)} UTC, the longest first.",
        )
        or note("No node is out of service at the end of the records."),
    )  # fmt: skip


def _repair(row: Row) -> str:
    if row["open_is_planned"]:
        return "planned work"
    return "no ticket is open" if row["needs_repair"] else "a ticket is open"


def _hours_out(row: Row, last_at: datetime) -> float:
    """Count the hours until the end of the records, before which an outage may not have begun."""
    return max(0.0, float((last_at - row["open_since"]).total_seconds()) / 3600)


def _summary(months: list[Row]) -> str:
    last = months[-1]
    month, unknown = f"{last['month_date']:%Y-%m}", last["unknown_node_hours"]
    if last["availability_high"] is None:
        return f"In {month} all node-hours were planned work."
    if last["availability"] is None:
        return (
            f"Nothing shows whether nodes without a job were in service in {month}. An export of node events "
            "(sacctmgr show event) or the controller's log would."
        )
    said = (
        f"In {month}, as far as the data go, nodes were in service for {percent(last['availability'])} of the "
        f"node-hours without planned work, and failed for {short(last['failed_node_hours'])} node-hours."
    )
    if unknown:
        said += f" Nothing is known of {share(unknown / last['total_node_hours'])} of the hours."
    if last["objective"] is None:
        return f"{said} There is no error budget, as [availability] objective of cluster.toml is not set."
    left, budget = last["error_budget_left"], "the error budget of these hours"
    said += f" The objective is {percent(last['objective'])}: "
    said += f"{percent(left)} of {budget} is left." if left >= 0 else f"{budget} is overspent by {percent(-left)}."
    windows = (days for days in WINDOWS if last[f"burn_rate_{days}d"] is not None)
    days = BURN_DAYS.get(last["burn_pace"]) or next(windows, None)
    if days is None:
        return said
    burned = f"the budget burned {short(last[f'burn_rate_{days}d'])} times as fast as allowed"
    window = "day" if days == 1 else f"{days} days"
    return f"{said} Over the last {window} {burned}{': too fast' if last['burn_pace'] else ''}."


def _figure(months: list[Row]) -> Figure:
    bars = [
        {
            "month": f"{row['month_date']:%Y-%m}",
            "kind": kind,
            "percent": 100 * hours_of(row, kind) / row["total_node_hours"],
            "allowed": None if row["objective"] is None else 100 * (1 - row["objective"]),
            "text": f"{short(hours_of(row, kind))} node-hours",
        }
        for row in months
        for kind in SHADES
    ]
    known = [row for row in months if row["availability_high"] is not None]
    lowest = min(known, key=lambda row: row["availability_high"], default=None)
    worst = f" Worst month: {lowest['month_date']:%Y-%m}." if lowest else ""
    x = name("month", title=None, axis=FLAT_AXIS)
    y = {"title": "node-hours (%)", "axis": {"tickCount": 5}}
    return figure(
        "delivered",
        "Node-hours not delivered, by month",
        f"Stacked bars of {plural(len(months), 'month')}: share of the node-hours that failed, were planned work, or "
        f"are unknown.{worst} The table below holds the hours.",
        bars,
        {"month": "Month", "kind": "Kind", "percent": "Node-hours (%)"},
        [
            layer("bar", size=28, x=x, y=at("percent", y, stack="zero"), color=colours(SHADES, "kind", title=None),
                  tooltip=hover(month="month", kind="kind", text="hours")),
            layer("rule", where="isValid(datum.allowed)", strokeDash=[4, 3], color=INK, y=at("allowed", y)),
        ],
        160,
        "Dashed: what the objective allows to fail." if months[-1]["objective"] is not None else "",
    )  # fmt: skip
