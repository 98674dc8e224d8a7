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
    plain = [state for state in rows if not state["is_infrastructure"]]
    infrastructure = [state for state in rows if state["is_infrastructure"]]
    if not plain:
        return Section("states", "How attempts ended", (Text("No ended attempt was recorded.", "note"),))
    drawn = [(state["state"], state) for state in plain] + [("infrastructure", state) for state in infrastructure]
    table = Table(
        "Attempts by final state",
        columns("State", "#Attempts", "#Share of attempts", "#GPU-hours", "#Share of GPU time"),
        tuple(
            row(
                name,
                whole(state["attempt_count"]),
                share(state["attempt_ratio"]),
                short(state["gpu_hours"]),
                share(state["gpu_time_ratio"]),
            )
            for name, state in drawn
        ),
        note="Infrastructure failures stand apart: the row counts NODE_FAIL and every FAILED or REQUEUED attempt with "
        "evidence against a node, which the rows above count under their own state.",
    )
    # The infrastructure's attempts are among the states already: a bar of their own would count them twice.
    figure = _figure("states", "How attempts ended", [(state["state"], state) for state in plain], "attempt")
    return Section("states", "How attempts ended", (Pair(figure, table),))


def sizes(frames: Frames, cluster: Row) -> Section:
    """Build the section on job sizes."""
    rows = of_cluster(frames, "sizes", cluster["cluster_id"])
    if not rows:
        return Section("sizes", "Job sizes", (Text("No ended attempt was recorded.", "note"),))
    drawn = [(gpus(size["gpu_size_bin"]), size) for size in rows]
    table = Table(
        "Attempts by size",
        columns("Size", "#Attempts", "#Share of attempts", "#GPU-hours", "#Share of GPU time"),
        tuple(
            row(
                name,
                whole(size["job_count"]),
                share(size["job_ratio"]),
                short(size["gpu_hours"]),
                share(size["gpu_time_ratio"]),
            )
            for name, size in drawn
        ),
        note="Allocated GPUs rounded up to the next power of two.",
    )
    figure = _figure("sizes", "Job sizes", drawn, "job")
    blocks: list[Block] = [Pair(figure, table)]
    if any(size["gpu_size_bin"] is None for size in rows):
        blocks.append(
            Text(
                "Attempts whose GPU count is unknown have no GPU time here; they are not attempts without GPUs.", "note"
            )
        )
    return Section("sizes", "Job sizes", tuple(blocks))


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
                "percent": None if group[column] is None else 100 * group[column],
                "at": 100 * (group[column] or 0.0),
                "text": share(group[column]),
            }
            for name, group in drawn
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
