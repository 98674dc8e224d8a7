"""What stands beside the page for mail and chat, `summary.md` and `summary.png`: written by every report."""

from __future__ import annotations

import datetime as dt

from assets.report.changes import NUMBERS, Change, changes_since
from assets.report.folder import ReportFolder
from assets.report.queries import Frames
from assets.report.summary import facts_of, write_summary
from assets.report.summary_picture import draw_summary

TEXT, PICTURE = "summary.md", "summary.png"


def changes_of(report: ReportFolder, frames: Frames) -> list[Change] | None:
    """List what changed since the report that readers see; None where nothing is published yet."""
    return changes_since(report.published, frames[NUMBERS]) if report.published.is_file() else None


def write_summary_files(
    report: ReportFolder, frames: Frames, changes: list[Change] | None, made_at: dt.datetime
) -> None:
    """Write both, each in one step."""
    facts = facts_of(frames)
    report.replace_beside(TEXT, write_summary(facts, changes, made_at).encode())
    report.replace_beside(PICTURE, draw_summary(facts, frames, made_at))
