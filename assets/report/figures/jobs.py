"""MTTF by job size, how attempts ended and how large they were, and whether one failure rate holds."""

from __future__ import annotations

import math

from assets.report import palette
from assets.report.blocks import Figure
from assets.report.charts import (
    INK,
    NAMES_AXIS,
    SOFT,
    Spec,
    at,
    colours,
    decade_ticks,
    dots,
    figure,
    hover,
    intervals,
    labelled,
    layer,
    log_axis,
    name,
    zoom,
)  # fmt: skip
from assets.report.numbers import gpus, printable, share, whole
from assets.report.queries import ClusterData, Row
from assets.report.tables import level_of
from assets.report.wording import POPULATIONS, bounded, number, plural

SHADES = {"attempts": palette.ATTEMPTS, "GPU time": palette.GPU_TIME}
SHARES = {"states": "How attempts ended", "sizes": "Job sizes"}
COMPARED = {"months": "last 30 days", "halves": "later half"}


def mttf(data: ClusterData) -> Figure | None:
    """Draw the MTTF measured at each size, and the line of one failure rate up to the size of the cluster."""
    sizes, own_gpu_count = data.rows("mttf_by_size"), data.cluster["gpu_count"]
    measured = [_point(row) for row in sizes if row["is_measured"]]
    right = max([own_gpu_count or 0, *(row["gpus"] for row in measured)])
    theory = [
        {"gpus": row["gpu_count"], "rate": row["projected_hours"], "low": row["projected_hours_low"],
         "high": row["projected_hours_high"]}
        for row in sizes
        if row["projected_hours"] is not None and row["gpu_count"] <= right
    ]  # fmt: skip
    if not measured or (not theory and all(row["at"] is None for row in measured)):
        return None
    failed = sum(bool(row["failure_count"]) for row in sizes)
    return figure(
        "mttf",
        "MTTF by job size",
        f"Points at {plural(failed, 'size')} where attempts failed, with intervals; open triangles mark sizes where "
        "none failed, at the lower bound of their MTTF. The dashed line is what one constant rate per node-day gives. "
        "The table below holds every value.",
        measured,
        {"size": "Size", "mttf": "MTTF (h)", "low": "Lower limit (h)", "high": "Upper limit (h)",
         "bound": "Lower bound, none failed (h)", "rests": "Failures"},
        _layers(measured, theory, own_gpu_count),
        340,
        f"Figure 7 of the paper. Dots: measured. Upright lines: {level_of(sizes)} limits. Numbers, on a wide screen: "
        "failures. Open triangles: none seen, the MTTF lies above. Dashed: projected, 1 / (nodes × failure rate), thin "
        "lines: from the limits of that rate." + (" Dotted, upright: the whole cluster." if own_gpu_count else ""),
        theory=theory,
        cluster=[{"gpus": own_gpu_count, "label": "whole cluster"}] if own_gpu_count else [],
    )  # fmt: skip


def _point(row: Row) -> Row:
    failed = bool(row["failure_count"])
    value, bound = row["measured_hours"], None if failed else row["measured_hours_low"]
    return {
        "gpus": row["gpu_count"],
        "size": gpus(row["gpu_count"]),
        "mttf": value,
        "low": row["measured_hours_low"] if failed else None,
        "high": row["measured_hours_high"] if failed else None,
        "bound": bound,
        "at": value if failed else bound,
        "rests": whole(row["failure_count"]),
        "text": f"{bounded(row, 'measured_hours')} h",
    }


def _layers(measured: list[Row], theory: list[Row], own_gpu_count: int | None) -> list[Spec]:
    hours = [row[end] for row in measured for end in ("mttf", "low", "high", "bound")] + [row["rate"] for row in theory]
    known = [value for value in hours if value is not None]
    least, most = min(known) / 2, max(known) * 3
    y = log_axis("MTTF in hours", decade_ticks(least, most), least, most)
    sizes = [row["gpus"] for row in (*measured, *theory)] + ([own_gpu_count] if own_gpu_count else [])
    low, high = min(sizes) / 1.4, max(sizes) * 1.6
    ticks = [2**power for power in range(20) if low <= 2**power <= high]
    x = at(
        "gpus",
        scale={"type": "log", "base": 2, "domain": [low, high], "nice": False},
        title="GPUs of the job (log scale)",
        axis={"values": ticks, "format": "d", "labelOverlap": "greedy", "grid": False},
    )
    # On a phone, the points of neighbouring sizes may be closer than a number is wide, 32 pixels.
    where_wide = {"condition": {"test": f"width < {32 * math.log2(high / low):.0f}", "value": 0}, "value": 1}
    tooltip, high_end = hover(size="size", text="MTTF"), {"field": "high"}
    point: Spec = {"filled": True, "opacity": 1, "x": x, "tooltip": tooltip}
    layers: list[Spec] = [
        *(
            layer("line", "theory", f"isValid(datum.{end})", strokeWidth=0.8, color=palette.THEORY, x=x, y=at(end, y))
            for end in ("low", "high")
        ),
        layer("line", "theory", strokeDash=[6, 4], strokeWidth=2, color=palette.THEORY, x=x, y=at("rate", y)),
        layer("rule", where="isValid(datum.low) && isValid(datum.high)", strokeWidth=1.5, color=palette.MEASURED, x=x,
              y=at("low", y), y2=high_end),
        layer("point", where="isValid(datum.mttf)", params=[zoom("x", "y")], size=70, color=palette.MEASURED,
              y=at("mttf", y), **point),
        layer("point", where="isValid(datum.bound)", shape="triangle-up", fill="white", size=110,
              stroke=palette.MEASURED, y=at("bound", y), **point),
        *labelled("rests", dx=8, dy=-8, x=x, y=at("at", y), opacity=where_wide),
    ]  # fmt: skip
    if own_gpu_count:
        layers += [
            layer("rule", "cluster", color=SOFT, strokeDash=[2, 3], x=x),
            layer("text", "cluster", align="right", dx=-6, fontSize=11, color=SOFT, baseline="top", x=x,
                  y={"value": 4}, text=name("label")),
        ]  # fmt: skip
    return layers


def shares(data: ClusterData, key: str) -> Figure | None:
    """Draw the share of attempts and of GPU time by final state, or by size, as paired bars."""
    rows = [
        row | {"name": gpus(row["gpu_size_bin"]) if key == "sizes" else row["state"]}
        for row in data.rows(key)
        if not row.get("is_infrastructure")
    ]
    if not rows:
        return None
    bars = [
        {
            "name": row["name"],
            "measure": measure,
            "percent": None if row[column] is None else 100 * row[column],
            "at": 100 * (row[column] or 0.0),
            "text": share(row[column]),
        }
        for row in rows
        for measure, column in zip(SHADES, ("attempt_ratio", "gpu_time_ratio"), strict=True)
    ]
    top = max(bar["at"] for bar in bars) or 100.0
    x = {"title": "share of the total (%)", "axis": {"tickCount": 6}, "scale": {"domain": [0, top * 1.18]}}
    row_of: Spec = {
        "y": name("name", sort=[row["name"] for row in rows], title=None, axis=NAMES_AXIS),
        "yOffset": name("measure", sort=list(SHADES)),
    }
    largest = max(rows, key=lambda row: row["attempt_ratio"])
    return figure(
        key,
        f"{SHARES[key]}: share of attempts and of GPU time",
        "Paired bars: share of attempts and share of GPU time. "
        f"Most attempts: {largest['name']}, {share(largest['attempt_ratio'])}. The table next to it holds every value.",
        bars,
        {"name": "Name", "measure": "Share of", "percent": "Share (%)"},
        [
            layer("bar", **row_of, x=at("percent", x), color=colours(SHADES, "measure", title=None),
                  tooltip=hover(name="what", measure="share of", text="share")),
            layer("text", align="left", dx=4, fontSize=11, color=INK, **row_of, x=at("at", x), text=name("text")),
        ],
        {"step": 15},
    )  # fmt: skip


def shapes(data: ClusterData) -> Figure | None:
    """Draw the Weibull shape of the time to failure at each size."""
    rows = [row for row in data.rows("time_to_failure") if row["gpu_size_bin"] and row["weibull_shape"] is not None]
    if not rows:
        return None
    drawn = dots(
        rows, "weibull_shape", lambda row: gpus(row["gpu_size_bin"]), lambda row: plural(row["event_count"], "failure")
    )
    return figure(
        "shapes",
        "Weibull shape of the time to failure, by job size",
        f"One dot per job size with its interval, {plural(len(rows), 'size')}, about the line of shape 1, which is a "
        "constant rate. Left of it, attempts fail less the longer they run.",
        drawn,
        {"label": "Size", "value": "Weibull shape", "low": "Lower limit", "high": "Upper limit", "rests": "Failures"},
        intervals(drawn, "Weibull shape", around_one=True),
        {"step": 26},
        f"Dots: shape. Lines: {level_of(rows)} limits. Dashed: shape 1, a constant rate; below, it falls with age, "
        "which a mixture of good and bad nodes also shows; above, it rises.",
    )


def _comparison(row: Row) -> str:
    if row["comparison"] == "clusters":
        return printable(row["clusters_compared"])
    return f"{COMPARED[row['comparison']]}: {POPULATIONS[row['population']]}"


def ratios(data: ClusterData) -> Figure | None:
    """Draw the ratio of the rates of incidents of each comparison."""
    rows = data.rows("compared_rates", is_drawn=True)
    if not rows:
        return None
    counts = ("failure_count", "other_failure_count")
    drawn = dots(rows, "ratio", _comparison, lambda row: " and ".join(number(row[name]) for name in counts))
    differ = sum(row["verdict"] in {"worse", "better"} for row in rows)
    return figure(
        "ratios",
        "Ratios of failure rates, counted as incidents",
        f"One dot per comparison with its interval, about the line where both rates are equal. {whole(differ)} of "
        f"{whole(len(rows))} intervals exclude equality. The table below holds every value.",
        drawn,
        {"label": "Comparison", "value": "Ratio", "low": "Lower limit", "high": "Upper limit", "rests": "Incidents"},
        intervals(drawn, "ratio of the rates", around_one=True),
        {"step": 26},
        f"Dots: ratio. Lines: {level_of(rows)} limits. Numbers: incidents on both sides. Dashed: equal rates; left of "
        "it the rate named first is lower. About one in "
        f"{whole(1 / (1 - (rows[0]['confidence_level'] or 0.9)))} lines misses it by chance.",
    )
