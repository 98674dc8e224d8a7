"""The taxonomy of failures, the paper's table I, once for all clusters."""

from __future__ import annotations

from assets.report.blocks import Section, note, section
from assets.report.numbers import printable
from assets.report.queries import Frames
from assets.report.tables import Col, table


def _flag(heading: str, name: str) -> Col:
    return Col(heading, lambda row: {True: "yes", False: "no"}.get(row[name], ""))


KINDS = (
    Col("Kind", "label", has_swatch=True),
    _flag("User program", "is_user_program"),
    _flag("System software", "is_system_software"),
    _flag("Hardware", "is_hardware"),
    _flag("In the paper's table I", "is_table_one"),
    Col("Likely causes", lambda row: printable(row["likely_causes"], 300) if row["likely_causes"] else ""),
)


def taxonomy(frames: Frames) -> Section:
    """Build the table of the kinds of failure, their domains and their likely causes."""
    kinds = table("Kinds of failure, and what they may come from", frames["categories"], KINDS)
    return section("taxonomy", "Kinds of failure", kinds or note("No kind of failure is declared."))
