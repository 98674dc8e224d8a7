"""Effective training time ratio of long runs: measured with bounds, beside what the failure rate lets one expect."""

from __future__ import annotations

import pandas as pd

from assets.report.blocks import Block, Cell, Figure, Section, Table, Text, columns, row
from assets.report.figures.ettr import ettr as draw
from assets.report.numbers import confidence, duration, gpus, printable, short, whole
from assets.report.queries import Frames, Row, of_cluster, only_row
from assets.report.wording import plural, span

TITLE = "Effective training time (ETTR) of long runs"


def ettr(frames: Frames, cluster: Row) -> Section:
    """Build the section on ETTR."""
    cluster_id = cluster["cluster_id"]
    rows = of_cluster(frames, "ettr", cluster_id)
    if not rows:
        return Section(
            "ettr", TITLE, (Text(explain_missing_ettr(only_row(frames, "runs_of_work", cluster_id)), "note"),)
        )
    blocks: list[Block] = [_figure(rows), _table(rows)]
    by_qos = of_cluster(frames, "ettr_by_qos", cluster_id)
    if by_qos:
        blocks.append(_by_qos(by_qos))
    return Section("ettr", TITLE, tuple(blocks))


def explain_missing_ettr(runs: Row) -> str:
    """Say why there is no ETTR.

    >>> explain_missing_ettr({})
    'There is no ETTR: no job run was recorded.'
    """
    if not runs:
        return "There is no ETTR: no job run was recorded."
    return (
        "There is no ETTR: it is measured on runs scheduled for 24 h and more, where restarts and lost work weigh "
        f"something, and the longest of the {plural(runs['run_count'], 'run')} here was scheduled for "
        f"{duration(runs['longest_hours'])}."
    )


def _figure(rows: list[Row]) -> Figure:
    numeric = ("measured", "low", "high", "bound_low", "bound_high", "expected", "at")
    frame = pd.DataFrame([_point(size) for size in rows]).astype({name: "float64" for name in numeric})
    return Figure(
        "ettr",
        "ETTR by run size",
        f"Measured ETTR at {plural(len(rows), 'size')}, each with its interval, the bounds that unknown checkpoints "
        "leave open, and a tick where the failure rate puts it. The table below holds every value.",
        draw(frame),
        note="Dots: mean of the runs, with interval. Wide bars: from every interruption costing a whole checkpoint "
        "interval to none costing any work. Grey ticks: expected from the failure rate.",
    )


def _point(size: Row) -> dict[str, object]:
    low, bound = size["ettr_measured_low"], size["ettr_bound_low"]
    ends = [value for value in (low, bound, size["ettr_measured"], size["ettr_expected"]) if value is not None]
    return {
        "size": gpus(size["gpu_size_bin"]),
        "measured": size["ettr_measured"],
        "low": low,
        "high": size["ettr_measured_high"],
        "bound_low": bound,
        "bound_high": size["ettr_bound_high"],
        "expected": size["ettr_expected"],
        "at": min(ends),
        "k": plural(size["run_count"], "run"),
        "text": f"{short(size['ettr_measured'])} ({span(low, size['ettr_measured_high'])})",
    }


def _table(rows: list[Row]) -> Table:
    first = rows[0]
    level = confidence(first["confidence_level"])
    return Table(
        "ETTR by run size",
        columns(
            "Size",
            "#Runs",
            "#Scheduled hours",
            "#Failures (k)",
            "#Measured",
            f"#{level} interval",
            "#Bounds",
            "#Expected",
            "#Expected, exact form",
            "#Expected, the paper's v2",
        ),
        tuple(
            row(
                gpus(size["gpu_size_bin"]),
                whole(size["run_count"]),
                short(size["exposure"]),
                whole(size["event_count"]),
                short(size["ettr_measured"]),
                Cell(span(size["ettr_measured_low"], size["ettr_measured_high"]), detail=size["note"] or ""),
                span(size["ettr_bound_low"], size["ettr_bound_high"]),
                _expected(size, "ettr_expected"),
                _expected(size, "ettr_expected_exact"),
                _expected(size, "ettr_expected_v2"),
            )
            for size in rows
        ),
        note=f"Checkpoints are not in the logs. Assumed: one every {_minutes(first['checkpoint_minutes'])}, "
        f"{_minutes(first['restart_minutes'])} to restart, {_minutes(first['write_minutes'])} to write one. The "
        "bounds are what the assumption leaves open, the interval what the number of runs does; fewer than ten runs "
        "have no such limits, and the lowest and the highest run stand in their place. The paper's second version "
        "takes 5 minutes to write, 5 to restart, and the interval that is best for them by Young's rule.",
    )


def _by_qos(rows: list[Row]) -> Table:
    level = confidence(rows[0]["confidence_level"])
    return Table(
        "ETTR by QOS and run size",
        columns(
            "QOS", "Size", "#Runs", "#Scheduled hours", "#Failures (k)", "#Measured", f"#{level} interval", "#Bounds"
        ),
        tuple(
            row(
                printable(group["qos"]),
                gpus(group["gpu_size_bin"]),
                whole(group["run_count"]),
                short(group["exposure"]),
                whole(group["event_count"]),
                short(group["ettr_measured"]),
                Cell(span(group["ettr_measured_low"], group["ettr_measured_high"]), detail=group["note"] or ""),
                span(group["ettr_bound_low"], group["ettr_bound_high"]),
            )
            for group in rows
        ),
        note="The paper's figure 9 shows the QOS of the highest priority, whose runs nobody preempts.",
        is_collapsed=True,
    )


def _expected(size: Row, name: str) -> Cell:
    if size[name] is None:
        return Cell("unknown")
    return Cell(short(size[name]), detail=span(size[f"{name}_low"], size[f"{name}_high"]))


def _minutes(value: float | None) -> str:
    return "unknown" if value is None else f"{value:g} min"
