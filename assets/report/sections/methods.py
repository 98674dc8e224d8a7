"""The taxonomy of failures, the paper's table I, once for all clusters."""

from __future__ import annotations

from assets.report import palette
from assets.report.blocks import Cell, Section, Table, Text, columns, row
from assets.report.numbers import printable
from assets.report.queries import Frames, Row


def taxonomy(frames: Frames) -> Section:
    """Build the table of the kinds of failure, their domains and their likely causes."""
    kinds = frames["categories"]
    if not kinds:
        return Section("taxonomy", "Kinds of failure", (Text("No kind of failure is declared.", "note"),))
    table = Table(
        "Kinds of failure, and what they may come from",
        columns("Kind", "User program", "System software", "Hardware", "In the paper's table I", "Likely causes"),
        tuple(
            row(
                Cell(printable(kind["label"]), swatch=palette.colour_of(kind["failure_category"])),
                *(
                    _mark(kind[name])
                    for name in ("is_user_program", "is_system_software", "is_hardware", "is_table_one")
                ),
                printable(kind["likely_causes"], 300) if kind["likely_causes"] else "",
            )
            for kind in kinds
        ),
    )
    return Section("taxonomy", "Kinds of failure", (table,))


def _mark(value: Row | bool | None) -> str:
    return {True: "yes", False: "no"}.get(value, "") if isinstance(value, bool) else ""
