"""How attempts ended and how large they were, each by count and by GPU time."""

from __future__ import annotations

import pandas as pd

from assets.report.blocks import Block, Figure, Pair, Section, Table, Text, columns, row
from assets.report.figures.shares import MEASURES
from assets.report.figures.shares import shares as draw
from assets.report.numbers import gpus, share, short, whole
from assets.report.queries import Frames, Row, of_cluster


def states(frames: Frames, cluster: Row) -> Section:
    """Build the section on how attempts ended."""
    rows = of_cluster(frames, "states", cluster["cluster_id"])
    plain = [each for each in rows if not each["is_infrastructure"]]
    infrastructure = [each for each in rows if each["is_infrastructure"]]
    if not plain:
        return Section("states", "States", "How attempts ended", (Text("No ended attempt was recorded.", "note"),))
    drawn = [(each["state"], each) for each in plain] + [("infrastructure", each) for each in infrastructure]
    table = Table(
        "Attempts by final state",
        columns("State", "#Attempts", "#Share of attempts", "#GPU-hours", "#Share of GPU time"),
        tuple(
            row(
                name,
                whole(each["attempt_count"]),
                share(each["attempt_ratio"]),
                short(each["gpu_hours"]),
                share(each["gpu_time_ratio"]),
            )
            for name, each in drawn
        ),
        note="Infrastructure failures stand apart: the row counts NODE_FAIL and every FAILED or REQUEUED attempt with "
        "evidence against a node, which the rows above count under their own state.",
    )
    figure = _figure("states", "How attempts ended", drawn, "attempt")
    return Section("states", "States", "How attempts ended", (Pair(figure, table),))


def sizes(frames: Frames, cluster: Row) -> Section:
    """Build the section on job sizes."""
    rows = of_cluster(frames, "sizes", cluster["cluster_id"])
    if not rows:
        return Section("sizes", "Sizes", "Job sizes", (Text("No ended attempt was recorded.", "note"),))
    drawn = [(gpus(each["gpu_size_bin"]), each) for each in rows]
    table = Table(
        "Attempts by size",
        columns("Size", "#Attempts", "#Share of attempts", "#GPU-hours", "#Share of GPU time"),
        tuple(
            row(
                name,
                whole(each["job_count"]),
                share(each["job_ratio"]),
                short(each["gpu_hours"]),
                share(each["gpu_time_ratio"]),
            )
            for name, each in drawn
        ),
        note="Allocated GPUs rounded up to the next power of two.",
    )
    figure = _figure("sizes", "Job sizes", drawn, "job")
    blocks: list[Block] = [Pair(figure, table)]
    if any(each["gpu_size_bin"] is None for each in rows):
        blocks.append(
            Text(
                "Attempts whose GPU count is unknown have no GPU time here; they are not attempts without GPUs.", "note"
            )
        )
    return Section("sizes", "Sizes", "Job sizes", tuple(blocks))


def _figure(key: str, title: str, drawn: list[tuple[str, Row]], unit: str) -> Figure:
    """Draw named rows as paired bars; a share that is unknown gets no bar and says so.

    `unit` is what the table calls an attempt in its columns `<unit>_count` and `<unit>_ratio`.
    """
    ratio, count = f"{unit}_ratio", f"{unit}_count"
    frame = pd.DataFrame(
        [
            {
                "name": name,
                "measure": measure,
                "percent": None if each[column] is None else 100 * each[column],
                "at": 100 * (each[column] or 0.0),
                "text": share(each[column]),
            }
            for name, each in drawn
            for measure, column in zip(MEASURES, (ratio, "gpu_time_ratio"), strict=True)
        ]
    ).astype({"percent": "float64"})
    largest = max(drawn, key=lambda pair: pair[1][count])
    return Figure(
        key,
        f"{title}: share of attempts and of GPU time",
        "Paired bars: share of attempts and share of GPU time. "
        f"Most attempts: {largest[0]}, {share(largest[1][ratio])}. The table beside it holds every value.",
        draw(frame),
    )
