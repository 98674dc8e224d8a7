"""Why attempts failed: rates by cause with intervals, and how much of it could be attributed at all."""

from __future__ import annotations

import pandas as pd

from assets.report import palette
from assets.report.addresses import of_cause
from assets.report.blocks import Block, Cell, Figure, Section, Table, Text, columns, row
from assets.report.figures.causes import causes as draw
from assets.report.numbers import confidence, share, short, whole
from assets.report.queries import Frames, Row, of_cluster
from assets.report.sections.attribution import cooccurrence
from assets.report.wording import loss_rule, plural, rate, span

MILLION = 1e6

KINDS = {
    "attributed": ("Attributed", "evidence on the failed attempt's node, inside the attribution window"),
    "unexplained": ("Unexplained", "checks were arriving from the node, and none of them showed a fault"),
    "no_coverage": ("No coverage", "nothing was heard from the node, so nothing can be said; silence is not health"),
}


def causes(frames: Frames, cluster: Row) -> Section:
    """Build the section on failure causes."""
    rows = of_cluster(frames, "causes", cluster["cluster_id"])
    seen = [cause for cause in rows if cause["failure_count"]]
    blocks: list[Block] = []
    if not seen:
        blocks.append(Text("No infrastructure failure was found, so there is no cause to rank.", "note"))
    drawable = [cause for cause in seen if cause["failures_per_gpu_hour"]]
    if drawable:
        blocks.append(_figure(drawable))
    if rows:
        blocks.append(_table(rows))
    unseen = of_cluster(frames, "cause_bounds", cluster["cluster_id"])
    if unseen:
        blocks.append(_unseen(unseen))
    blocks.extend(_attribution(frames, cluster))
    blocks.append(cooccurrence(frames, cluster["cluster_id"]))
    return Section("causes", "Why attempts failed", tuple(blocks))


def _figure(rows: list[Row]) -> Figure:
    frame = pd.DataFrame(
        [
            {
                "label": cause["label"],
                "group": palette.group_of(cause["failure_category"]),
                "rate": MILLION * cause["failures_per_gpu_hour"],
                "low": _scaled(cause.get("failures_per_gpu_hour_low")),
                "high": _scaled(cause.get("failures_per_gpu_hour_high")),
                "right": MILLION * (cause.get("failures_per_gpu_hour_high") or cause["failures_per_gpu_hour"]),
                "k": f"k = {whole(cause['failure_count'])}",
                "text": f"{short(MILLION * cause['failures_per_gpu_hour'])} ({_interval(cause)})",
                "link": of_cause(cause["cluster_id"], cause["label"]),
            }
            for cause in rows
        ]
    ).astype({"low": "float64", "high": "float64"})
    leader = rows[0]
    return Figure(
        "causes",
        "Failure rate by cause",
        f"One dot per cause with its interval, on a logarithmic axis. Most frequent: {leader['label']}, "
        f"{short(MILLION * leader['failures_per_gpu_hour'])} per million GPU-hours "
        f"(k = {whole(leader['failure_count'])}). The table below holds every value.",
        draw(frame),
    )


def _table(rows: list[Row]) -> Table:
    return Table(
        "Failure rate by cause",
        columns("Cause", "#Failed attempts (k)", "#GPU-hours", "#Per million GPU-hours", f"#{_level(rows)} interval"),
        tuple(
            row(
                Cell(
                    cause["label"],
                    swatch=palette.colour_of(cause["failure_category"]),
                    link=of_cause(cause["cluster_id"], cause["label"]) if cause["failure_count"] else "",
                ),
                whole(cause["failure_count"]),
                short(cause["gpu_hours"]),
                rate(
                    cause["failure_count"],
                    cause["failures_per_gpu_hour"],
                    cause.get("failures_per_gpu_hour_high"),
                    cause.get("confidence_level"),
                    MILLION,
                ),
                _interval(cause) if cause["failure_count"] else "",
            )
            for cause in rows
        ),
        note="Each failed attempt counts once, under its primary cause. Exposure: all GPU time of ended attempts.",
    )


def _unseen(rows: list[Row]) -> Table:
    """Causes without a failure: how frequent they can be at most."""
    return Table(
        "Causes that were never seen",
        columns("Cause", "#At most, per million GPU-hours"),
        tuple(
            row(
                Cell(cause["label"], swatch=palette.colour_of(cause["failure_category"])),
                short(MILLION * cause["failures_per_gpu_hour_high"]),
            )
            for cause in rows
        ),
        note=f"The cluster's checks and logs could have shown them in {short(rows[0]['gpu_hours'])} GPU-hours. Upper "
        f"limits of the {_level(rows)} interval.",
        is_collapsed=True,
    )


def _attribution(frames: Frames, cluster: Row) -> list[Block]:
    found = {
        attribution["kind"]: attribution for attribution in of_cluster(frames, "attribution", cluster["cluster_id"])
    }
    total = sum(attribution["failure_count"] for attribution in found.values())
    if not total:
        return []
    table = Table(
        "How many failures have a known cause",
        columns("Kind", "Meaning", "#Failed attempts", "#Share", "#Lost GPU-hours"),
        tuple(
            row(
                name,
                meaning,
                whole(found.get(kind, {}).get("failure_count", 0)),
                share(found.get(kind, {}).get("failure_count", 0) / total),
                short(found[kind]["lost_gpu_hours"]) if kind in found else "0",
            )
            for kind, (name, meaning) in KINDS.items()
        ),
        note=f"Of {plural(total, 'infrastructure-failed attempt')}. Lost: {loss_rule(cluster['checkpoint_minutes'])}",
    )
    return [table]


def _scaled(value: float | None) -> float | None:
    return None if value is None else MILLION * value


def _interval(cause: Row) -> str:
    return span(cause.get("failures_per_gpu_hour_low"), cause.get("failures_per_gpu_hour_high"), MILLION)


def _level(rows: list[Row]) -> str:
    return confidence(next((cause["confidence_level"] for cause in rows if cause.get("confidence_level")), None))
