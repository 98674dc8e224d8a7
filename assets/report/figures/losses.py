"""Lost GPU-hours, stacked by cause at each job size."""

from __future__ import annotations

from assets.report import palette
from assets.report.addresses import of_cause
from assets.report.blocks import Figure
from assets.report.charts import FLAT_AXIS, PICKED, at, colours, figure, hover, layer, name, pick
from assets.report.numbers import gpus, short, whole
from assets.report.queries import ClusterData
from assets.report.wording import money, plural

OTHER = "Other causes"
SECOND_ORDER = "second order"


def losses(data: ClusterData) -> Figure | None:
    """Draw the losses of failed attempts by cause, and the losses in second order."""
    sizes = [row for row in data.rows("losses_by_size", is_total=False) if row["has_loss"]]
    sizes = [row for row in sizes if row["expected_lost_gpu_hours"]]
    if not sizes:
        return None
    causes = data.rows("lost_by_cause")
    labels = {row["failure_category"]: row["label"] for row in causes if row["failure_category"]}
    shades = {labels[category]: palette.colour_of(category) for category in palette.in_order(list(labels))}
    shades |= {OTHER: palette.OTHER} if any(not row["failure_category"] for row in causes) else {}
    parts = [(row["gpu_size_bin"], row["label"] or OTHER, row["gpu_hours"]) for row in causes]
    parts += [(row["gpu_size_bin"], SECOND_ORDER, row["expected_second_order_gpu_hours"] or 0.0) for row in sizes]
    price, currency = data.cluster["price_per_gpu_hour"], data.cluster["currency"]
    bars = [
        {
            "size": whole(size),
            "part": part,
            "hours": hours,
            "link": of_cause(data.cluster | {"label": part}) if part in labels.values() else "",
            "text": f"{short(hours)} GPU-hours",
        }
        | ({"cost": money(hours * price, currency)} if price and currency else {})
        for size, part, hours in parts
    ]
    largest = max(sizes, key=lambda row: row["expected_lost_gpu_hours"])
    y = {"title": "lost GPU-hours", "axis": {"tickCount": 6}}
    x = name("size", sort=[whole(row["gpu_size_bin"]) for row in sizes], title="GPUs of the job", axis=FLAT_AXIS)
    return figure(
        "losses",
        "Lost GPU-hours by job size and cause",
        f"Stacked bars at {plural(len(sizes), 'size')}: GPU-hours lost in failed attempts by cause and in second "
        f"order. Most was lost at {gpus(largest['gpu_size_bin'])}. A table below holds the sums.",
        bars,
        {"size": "GPUs of the job", "part": "Cause", "hours": "Lost GPU-hours"}
        | ({"cost": "Cost"} if price and currency else {}),
        [
            layer("bar", params=[pick("part")], x=x, y=at("hours", y, stack="zero"), opacity=PICKED,
                  color=colours(shades | {SECOND_ORDER: palette.ATTEMPTS}, "part", title=None),
                  tooltip=hover(size="size", part="part", text="lost")),
        ],
        280,
        "Second order: work lost in attempts that a restarting job preempted. Sizes without a loss have no bar.",
    )  # fmt: skip
