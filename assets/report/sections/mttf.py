"""MTTF at the sizes that the failure rate is projected to."""

from __future__ import annotations

from assets.report.blocks import Cell, Table
from assets.report.numbers import confidence, duration, gpus
from assets.report.queries import Own, Row
from assets.report.tables import Col, interval, table
from assets.report.wording import POPULATIONS, event_of, exposure, extrapolation
from assets.report.wording import mttf as mttf_words


def _value(row: Row) -> Cell:
    if row["event_count"] == 0 and row["mttf_hours_low"] is not None:
        detail = f"none failed ({confidence(row['confidence_level'])})"
        return Cell(f"above {duration(row['mttf_hours_low'])}", detail=detail)
    return Cell(mttf_words(row))


def _meaning(row: Row) -> str:
    flags = {"is_cluster_size": "whole cluster", "is_largest_job": "largest run", "is_extrapolated": "extrapolated"}
    return ", ".join(words for flag, words in flags.items() if row[flag])


PROJECTED = (
    Col("Size", "gpu_count", gpus),
    Col("#MTTF", _value),
    interval("mttf_hours", duration, unless="event_count"),
    Col("Meaning", _meaning),
)


def projected(caption: str, rows: list[Row], own: Own) -> Table | None:
    """Build a table of MTTF at sizes that the failure rate is projected to."""
    largest = own.row("projections", is_largest_job=True).get("gpu_count")
    beyond = {row["gpu_count"]: extrapolation(row["gpu_count"], largest) for row in rows}
    warning = next((f" Extrapolated: {text}." for text in beyond.values() if text), "")
    first = rows[0] if rows else {"population": "", "event_count": None, "exposure": None}
    return table(
        caption,
        [row | {"is_extrapolated": bool(beyond[row["gpu_count"]])} for row in rows],
        PROJECTED,
        f"1 / (nodes × failure rate of {POPULATIONS.get(first['population'], 'no population')}), "
        f"{exposure(first['event_count'], first['exposure'], 'node-days', *event_of(first))}. It takes a node to fail "
        f"as often in a large job as in a small one.{warning}",
    )
