"""Mean time to failure by job size, against the theory line, and what it projects to."""

from __future__ import annotations

import pandas as pd

from assets.report.blocks import Block, Cell, Figure, Pair, Section, Table, Text, columns, row
from assets.report.figures.mttf import mttf as draw
from assets.report.numbers import confidence, duration, gpus, short, whole
from assets.report.queries import Frames, Row, of_cluster
from assets.report.wording import POPULATIONS, exposure, hours_span
from assets.report.wording import mttf as mttf_words

TITLE = "Mean time to failure by job size"


def mttf(frames: Frames, cluster: Row) -> Section:
    """Build the section on MTTF."""
    cluster_id = cluster["cluster_id"]
    rows = [size for size in of_cluster(frames, "mttf", cluster_id) if size["gpu_size_bin"]]
    projections = of_cluster(frames, "projections", cluster_id)
    blocks: list[Block] = []
    if not rows:
        blocks.append(Text("No ended attempt has a known number of GPUs, so there is no MTTF by size.", "note"))
    else:
        figure = _figure(rows, projections, cluster["gpu_count"])
        blocks.extend([figure] if figure else [])
        blocks.extend(_outliers(rows))
    tables = ([_by_size(rows)] if rows else []) + ([_projections(projections)] if projections else [])
    blocks.extend([Pair(tables[0], tables[1], is_left_wider=True)] if len(tables) == 2 else tables)
    return Section("mttf", TITLE, tuple(blocks))


def _outliers(rows: list[Row]) -> list[Block]:
    """Say which sizes one constant rate does not explain; the line of that rate lies outside of their limits."""
    said = []
    for size in rows:
        low, high, line = size["mttf_hours_low"], size["mttf_hours_high"], size["mttf_theory_hours"]
        if not size["failure_count"] or line is None or low is None or high is None or low <= line <= high:
            continue
        way = "later" if line < low else "sooner"
        said.append(
            f"jobs of {gpus(size['gpu_size_bin'])} fail {way}, after {duration(size['mttf_hours'])} "
            f"({hours_span(low, high)}, k = {whole(size['failure_count'])}) in place of {duration(line)}"
        )
    if not said:
        return []
    return [Text(f"Off the line of one constant rate: {'; '.join(said)}. Of ten sizes, one is off by chance at 90%.")]


def _figure(rows: list[Row], projections: list[Row], own_gpu_count: int | None) -> Figure | None:
    measured = pd.DataFrame([_point(size) for size in rows]).astype(
        {name: "float64" for name in ("mttf", "low", "high", "bound", "at")}
    )
    theory = _theory(rows, projections, own_gpu_count)
    if measured["at"].isna().all() and theory.empty:
        return None
    failed = sum(bool(size["failure_count"]) for size in rows)
    return Figure(
        "mttf",
        "MTTF by job size",
        f"Points at {failed} sizes where attempts failed, with intervals; open triangles mark sizes where none failed, "
        "at the lower bound of their MTTF. The dashed line is what one constant rate per node-day gives. The table "
        "below holds every value.",
        draw(measured, theory, own_gpu_count),
        note="Dots: measured, with interval and failure count k. Open triangles: no failure seen, the MTTF lies above. "
        "Dashed: 1 / (nodes × failure rate), the band from the limits of that rate.",
    )


def _point(size: Row) -> dict[str, object]:
    failed = bool(size["failure_count"])
    value = size["mttf_hours"] if failed else None
    bound = None if failed else size["mttf_hours_low"]
    return {
        "gpus": size["gpu_size_bin"],
        "size": gpus(size["gpu_size_bin"]),
        "mttf": value,
        "low": size["mttf_hours_low"] if failed else None,
        "high": size["mttf_hours_high"] if failed else None,
        "bound": bound,
        "at": value if failed else bound,
        "k": f"k={whole(size['failure_count'])}",
        "text": _value(size),
    }


def _theory(rows: list[Row], projections: list[Row], own_gpu_count: int | None) -> pd.DataFrame:
    """Join the theory values at the measured sizes with the projections up to the cluster's own size."""
    right = max([own_gpu_count or 0, *(size["gpu_size_bin"] for size in rows)])
    line = {
        size["gpu_size_bin"]: (size["mttf_theory_hours"], size["mttf_theory_hours_low"], size["mttf_theory_hours_high"])
        for size in rows
    } | {
        projection["gpu_count"]: (projection["mttf_hours"], projection["mttf_hours_low"], projection["mttf_hours_high"])
        for projection in projections
        if projection["gpu_count"] <= right
    }
    names = ("gpus", "theory", "theory_low", "theory_high")
    frame = pd.DataFrame([(size, *values) for size, values in sorted(line.items())], columns=list(names)).astype(
        "float64"
    )
    return frame.dropna(subset="theory")


def _value(estimate: Row) -> str:
    return mttf_words(
        estimate.get("event_count"), estimate["mttf_hours"], estimate["mttf_hours_low"], estimate["confidence_level"]
    )


def _cell(estimate: Row) -> Cell:
    if estimate["event_count"] == 0 and estimate["mttf_hours_low"] is not None:
        return Cell(
            f"above {duration(estimate['mttf_hours_low'])}",
            detail=f"none failed ({confidence(estimate['confidence_level'])})",
        )
    return Cell(_value(estimate))


def _interval(estimate: Row) -> str:
    return hours_span(estimate["mttf_hours_low"], estimate["mttf_hours_high"]) if estimate["event_count"] else ""


def _by_size(rows: list[Row]) -> Table:
    return Table(
        "MTTF measured",
        columns(
            "Size",
            "#Failures (k)",
            "#Runtime",
            "#MTTF",
            f"#{confidence(rows[0]['confidence_level'])} interval",
            "#Theory",
        ),
        tuple(
            row(
                gpus(size["gpu_size_bin"]),
                whole(size["failure_count"]),
                f"{short(size['runtime_hours'])} h",
                _cell(size),
                _interval(size),
                duration(size["mttf_theory_hours"]),
            )
            for size in rows
        ),
        note="Runtime inside the study period over expected infrastructure failures; every other end, and an attempt "
        "that still runs, adds runtime and no failure.",
    )


def _projections(rows: list[Row]) -> Table:
    first = rows[0]
    rests_on = exposure(first["event_count"], first["exposure"], "node-days")
    largest = max((projection["gpu_count"] for projection in rows if projection["is_largest_job"]), default=0)
    population = POPULATIONS.get(first["population"], "no population")
    return Table(
        "MTTF projected",
        columns("Size", "#MTTF", f"#{confidence(first['confidence_level'])} interval", "Meaning"),
        tuple(
            row(gpus(projection["gpu_count"]), _cell(projection), _interval(projection), _mark(projection, largest))
            for projection in rows
        ),
        note=f"1 / (nodes × failure rate of {population}), {rests_on}. It takes "
        "a node to fail as often in a large job as in a small one.",
    )


def _mark(projection: Row, largest: int) -> str:
    marks = [
        name
        for flag, name in (("is_cluster_size", "whole cluster"), ("is_largest_job", "largest run"))
        if projection[flag]
    ]
    if not marks and projection["gpu_count"] > largest:
        marks = ["extrapolated"]
    return ", ".join(marks)
