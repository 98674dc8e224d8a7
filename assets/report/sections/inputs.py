"""The input files with hashes and line counts, the lines skipped, and the lines kept out with examples."""

from __future__ import annotations

from collections import defaultdict

from assets.report.blocks import Block, Cell, Column, Table, columns, row
from assets.report.numbers import UNKNOWN, printable, whole
from assets.report.queries import Frames, Row

OPEN_FILE_LIST = 20
LISTED_FILES = 2000


def inputs(frames: Frames) -> list[Block]:
    """Build the tables on what went in."""
    blocks: list[Block] = []
    if frames["files"]:
        blocks += [_totals(frames["files"]), _files(frames["files"])]
    if frames["skips"]:
        blocks.append(_skips(frames["skips"]))
    if frames["quarantine"]:
        blocks.append(_quarantine(frames["quarantine"]))
    return blocks


LINE_COLUMNS: tuple[Column, ...] = columns("#Lines in", "#Loaded", "#Skipped", "#Quarantined")
_LINES = ("lines_in", "loaded", "skipped", "quarantined")


def _totals(files: list[Row]) -> Table:
    groups: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for each in files:
        groups[(each["cluster_id"], each["kind"])].append(each)
    rows = [
        row(
            printable(cluster_id),
            printable(kind),
            whole(len(group)),
            *(whole(sum(each[key] for each in group)) for key in _LINES),
        )
        for (cluster_id, kind), group in sorted(groups.items())
    ]
    rows.append(row("all", "", whole(len(files)), *(whole(sum(each[key] for each in files)) for key in _LINES)))
    return Table(
        "Input lines by cluster and kind",
        columns("Cluster", "Kind", "#Files") + LINE_COLUMNS,
        tuple(rows),
        note="Every line is accounted for: lines in = loaded + skipped + quarantined.",
    )


def _files(files: list[Row]) -> Table:
    shown = files[:LISTED_FILES]
    caption = f"Input files ({whole(len(files))})" + (
        f", the first {whole(LISTED_FILES)}" if len(files) > LISTED_FILES else ""
    )
    return Table(
        caption,
        columns("File", "SHA-256", "Kind", "Dialect") + LINE_COLUMNS,
        tuple(
            row(
                Cell(
                    printable(each["path"], 120),
                    detail="cut off at its end, read again when it grows" if each["is_partial"] else "",
                ),
                Cell((each["sha256"] or UNKNOWN)[:12], is_code=True),
                printable(each["kind"]),
                printable(each["dialect"]),
                *(whole(each[key]) for key in _LINES),
            )
            for each in shown
        ),
        is_collapsed=len(files) > OPEN_FILE_LIST,
    )


def _skips(skips: list[Row]) -> Table:
    return Table(
        "Lines skipped, by reason",
        columns("Cluster", "Reason", "#Lines", "#Files"),
        tuple(
            row(
                printable(each["cluster_id"]),
                printable(each["reason"].replace("_", " ")),
                whole(each["line_count"]),
                whole(each["file_count"]),
            )
            for each in skips
        ),
    )


def _quarantine(quarantine: list[Row]) -> Table:
    return Table(
        "Lines quarantined, by reason",
        columns("Cluster", "Reason", "#Lines", "#Files", "First example", "As read"),
        tuple(
            row(
                printable(each["cluster_id"]),
                Cell(
                    printable(each["reason"].replace("_", " ")),
                    detail=printable(each["example_detail"], 120) if each["example_detail"] else "",
                ),
                whole(each["line_count"]),
                whole(each["file_count"]),
                f"{printable(each['example_path'], 80)}, line {whole(each['example_line_number'])}",
                Cell(printable(each["example_raw"], 160), is_code=True),
            )
            for each in quarantine
        ),
        note="Kept in ops.quarantine, counted nowhere else.",
    )
