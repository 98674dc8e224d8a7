"""What is missing from the sources and what that makes unknowable: unknown is said, never shown as zero."""

from __future__ import annotations

from assets.log_kinds import LOG_KINDS, WARNINGS, Gap, missing
from assets.report.blocks import Block, Cell, Section, Table, Text, columns, row
from assets.report.numbers import printable, share
from assets.report.queries import Frames, Row, of_cluster, only_row
from assets.report.sections.spans import spans
from assets.report.wording import plural

NO_GPU_COUNTS = Gap(
    "GPU counts of attempts",
    "Attempts whose GPUs are unknown count among the states, but in no GPU time, no size and no rate.",
    "AccountingStorageTRES=gres/gpu in slurm.conf, and AllocTRES in the sacct export (-o ALL)",
)
NO_USERS = Gap(
    "User names of attempts",
    "Losses of these attempts cannot be put to a user or account.",
    "sacct -a … -o ALL, run as a user who may see all jobs",
)
TIMES = ("time_quality", "kernel_time_quality")
TITLE = "What is missing, and what it makes unknowable"

TIME_QUALITY = {
    "local": "local times read in the configured time zone; wrong if the exporting host kept another one",
    "ambiguous_dst": "local times inside the hour that comes twice in autumn; an hour off at worst",
    "year_inferred": "times without a year, which was inferred from their order and the file's date",
    "local_assumed": "times without a zone, read in the configured one",
    "dmesg_t": "times of dmesg -T, which drift with suspends and clock steps",
    "boot_relative": "seconds since boot, placed by the nearest boot time",
}


def gaps(frames: Frames, cluster: Row) -> Section:
    """Build the section on missing evidence."""
    rows = [_row("missing", gap) for gap in missing_kinds(cluster)]
    rows += _warning_rows(frames, cluster["cluster_id"])
    rows += _count_rows(only_row(frames, "attempts", cluster["cluster_id"]))
    rows += _time_rows(frames, cluster["cluster_id"])
    rows += _quarantine_rows(frames, cluster["cluster_id"])
    blocks: list[Block] = []
    if rows:
        blocks.append(
            Table(
                "Gaps in the sources",
                columns("What", "State", "Consequence", "What fixes it"),
                tuple(rows),
                note=f"FOLDER is the cluster's folder under sources, {printable(cluster['cluster_id'])}; START the "
                "first day wanted.",
            )
        )
    else:
        blocks.append(Text("Nothing is missing: every kind of evidence is there.", "good"))
    if (covered := spans(frames, cluster["cluster_id"])) is not None:
        blocks.append(covered)
    return Section("gaps", TITLE, tuple(blocks))


def missing_kinds(cluster: Row) -> list[Gap]:
    """List the kinds of evidence a cluster lacks."""
    return [missing(folder) for folder, kind in LOG_KINDS.items() if kind.flag in cluster and not cluster[kind.flag]]


def _row(state: str, gap: Gap) -> tuple[Cell, ...]:
    return row(gap.name, state, gap.consequence, Cell(gap.command, is_code=True))


def _warning_rows(frames: Frames, cluster_id: str) -> list[tuple[Cell, ...]]:
    rows = []
    for warning in of_cluster(frames, "file_warnings", cluster_id):
        state = f"{plural(warning['file_count'], 'file')}, such as {printable(warning['example_path'], 60)}"
        if warning["attempt_count"]:
            state = f"{plural(warning['attempt_count'], 'attempt')} in {state}"
        unnamed = Gap(f"Warning: {printable(warning['warning'].replace('_', ' '), 120)}", "", "faultline doctor")
        rows.append(_row(state, WARNINGS.get(warning["warning"], unnamed)))
    return rows


def _count_rows(attempts: Row) -> list[tuple[Cell, ...]]:
    total = attempts.get("attempt_count") or 0
    rows = []
    for key, gap in (("unknown_gpu_count", NO_GPU_COUNTS), ("unknown_user_count", NO_USERS)):
        count = attempts.get(key) or 0
        if count:
            rows.append(_row(f"unknown for {plural(count, 'attempt')} ({share(count / total)})", gap))
    return rows


def _time_rows(frames: Frames, cluster_id: str) -> list[tuple[Cell, ...]]:
    rows = []
    for quality in (row_ for name in TIMES for row_ in of_cluster(frames, name, cluster_id)):
        meaning = TIME_QUALITY.get(quality["time_quality"])
        if meaning:
            noun = "accounting record" if quality["kind"] == "accounting" else "kernel message"
            state = f"{plural(quality['row_count'], noun)} ({share(quality['row_ratio'])})"
            fix = missing("sacct" if quality["kind"] == "accounting" else "kernel").command
            rows.append(
                row(f"Times: {quality['time_quality'].replace('_', ' ')}", state, meaning, Cell(fix, is_code=True))
            )
    return rows


def _quarantine_rows(frames: Frames, cluster_id: str) -> list[tuple[Cell, ...]]:
    return [
        row(
            f"Quarantined: {printable(quarantined['reason'].replace('_', ' '))}",
            f"{plural(quarantined['line_count'], 'line')} in {plural(quarantined['file_count'], 'file')}",
            "These lines were not understood and count nowhere; the example stands under Provenance.",
            Cell("faultline doctor", is_code=True),
        )
        for quarantined in of_cluster(frames, "quarantine", cluster_id)
    ]
