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
    for file in files:
        groups[(file["cluster_id"], file["kind"])].append(file)
    rows = [
        row(
            printable(cluster_id),
            printable(kind),
            whole(len(group)),
            *(whole(sum(file[key] for file in group)) for key in _LINES),
        )
        for (cluster_id, kind), group in sorted(groups.items())
    ]
    rows.append(row("all", "", whole(len(files)), *(whole(sum(file[key] for file in files)) for key in _LINES)))
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
                    printable(file["path"], 120),
                    detail="cut off at its end, read again when it grows" if file["is_partial"] else "",
                ),
                Cell((file["sha256"] or UNKNOWN)[:12], is_code=True),
                printable(file["kind"]),
                printable(file["dialect"]),
                *(whole(file[key]) for key in _LINES),
            )
            for file in shown
        ),
        is_collapsed=len(files) > OPEN_FILE_LIST,
    )


def _skips(skips: list[Row]) -> Table:
    return Table(
        "Lines skipped, by reason",
        columns("Cluster", "Reason", "#Lines", "#Files"),
        tuple(
            row(
                printable(skip["cluster_id"]),
                printable(skip["reason"].replace("_", " ")),
                whole(skip["line_count"]),
                whole(skip["file_count"]),
            )
            for skip in skips
        ),
    )


def _quarantine(quarantine: list[Row]) -> Table:
    return Table(
        "Lines quarantined, by reason",
        columns("Cluster", "Reason", "#Lines", "#Files", "First example", "As read"),
        tuple(
            row(
                printable(quarantined["cluster_id"]),
                Cell(
                    printable(quarantined["reason"].replace("_", " ")),
                    detail=printable(quarantined["example_detail"], 120) if quarantined["example_detail"] else "",
                ),
                whole(quarantined["line_count"]),
                whole(quarantined["file_count"]),
                f"{printable(quarantined['example_path'], 80)}, line {whole(quarantined['example_line_number'])}",
                Cell(printable(quarantined["example_raw"], 160), is_code=True),
            )
            for quarantined in quarantine
        ),
        note="Kept in ops.quarantine, counted nowhere else.",
    )
