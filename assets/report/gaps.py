"""What is missing from the sources, and what is unknown without it; unknown is never shown as zero."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from assets.log_kinds import IN_SERVICE, LOG_KINDS, WARNINGS, Gap, missing, parts_of
from assets.report.names import HIDDEN
from assets.report.numbers import moment, printable, share, words
from assets.report.queries import ClusterData, Row, grouped
from assets.report.wording import plural
from assets.site_rules import KINDS, Signal, lines_of

COUNTS = {
    "unknown_gpu_count": Gap(
        "GPU counts of attempts",
        "Attempts with unknown GPUs count among the states, but not in GPU time, sizes and rates.",
        "AccountingStorageTRES=gres/gpu in slurm.conf, and AllocTRES in the sacct export (-o ALL)",
    ),
    "refuted_gpu_count": Gap(
        "GPU counts above what the nodes have",
        "The GPUs of these attempts count as unknown: none of their nodes has so many.",
        "look at AllocTRES of these records (gpu_count_source 'refuted' in marts.fct_attempts), and at the inventory",
    ),
    "unknown_user_count": Gap(
        "User names of attempts",
        "Losses of these attempts cannot be assigned to a user or account.",
        f"{LOG_KINDS['sacct'].step.replace('FOLDER', 'FOLDER/sacct')}, run as a user who may see all jobs",
    ),
}
TIMES = {
    "local": "local times read in the configured time zone; wrong if the exporting host used another one",
    "ambiguous_dst": "local times inside the hour that comes twice in autumn; an hour off at worst",
    "year_inferred": "times without a year, which was inferred from their order, accounting and the file's date",
    "local_assumed": "times without a zone, read in the configured one",
    "dmesg_t": "times of dmesg -T, which drift with suspends and clock steps",
    "boot_relative": "seconds since boot, placed by the nearest boot time",
}
TIMED = {"accounting": ("accounting record", "sacct"), "kernel": ("kernel message", "kernel")}
"""Records that have times, and the kind of log they come from."""
DOCTOR = "`faultline doctor`"


def longest_gap(covered: Row) -> str:
    """Write the times of the longest gap; empty if there is none.

    >>> import datetime as dt
    >>> gap = dt.datetime(2026, 9, 1), dt.datetime(2026, 9, 8)
    >>> longest_gap({"gap_count": 1, "longest_gap_from_at": gap[0], "longest_gap_to_at": gap[1]})
    '2026-09-01 00:00 to 2026-09-08 00:00'
    """
    if not covered["gap_count"]:
        return ""
    text = f"{moment(covered['longest_gap_from_at'])} to {moment(covered['longest_gap_to_at'])}"
    return text if covered["gap_count"] == 1 else f"the longest: {text}"


MAX_UNMAPPED = 50
MAX_SINCE = 5


def gaps_of(data: ClusterData) -> list[Row]:
    """List missing or bad sources, the consequence, and the step that fixes it."""
    found = [
        *(("missing", gap) for gap in missing_kinds(data.cluster)),
        *_unread(data.rows("refused_files")),
        *_warnings(data.rows("file_warnings")),
        *_counts(data.row("attempts")),
        *_times(data.rows("time_quality") + data.rows("kernel_time_quality")),
        *_quarantined(data.rows("quarantine")),
    ]
    return [
        vars(gap) | {"state": state, "parts": parts_of(gap.step, data.folder, data.first_day)} for state, gap in found
    ]


def spans_of(data: ClusterData) -> list[Row]:
    """Add the longest gap to what each log covers."""
    return [row | {"longest_gap": longest_gap(row)} for row in data.rows("spans")]


def lines_to_paste(row: Row) -> str:
    """Return the rule to paste, or the command that prints it if its text is hidden."""
    if row["signal"] == HIDDEN:
        return f"faultline doctor {shlex.quote(printable(row['cluster_id']))} --rules"
    return "\n".join(lines_of(Signal.of(row))[1:])


def unmapped_of(data: ClusterData) -> list[Row]:
    """Add to each unmapped signal what it is, an example, and the lines that map it."""
    return [
        row | {"what": KINDS[row["kind"]], "place": Signal.of(row).place, "lines": lines_to_paste(row)}
        for row in data.rows("unmapped_signals")[:MAX_UNMAPPED]
    ]


def missing_kinds(cluster: Row) -> list[Gap]:
    """List the missing kinds of evidence; without accounting only that, as no other log explains a failure then."""
    kinds = [missing(folder) for folder, kind in LOG_KINDS.items() if kind.flag in cluster and not cluster[kind.flag]]
    kinds = kinds[:1] if cluster["has_records_alone"] else kinds
    return [IN_SERVICE, *kinds] if cluster["recorded_count"] and not cluster["unit_days"] else kinds


def _unread(files: list[Row]) -> Iterator[tuple[str, Gap]]:
    """Name by kind the files that were refused, not understood or cut off, and the time after which they are empty."""
    for kind, rows in grouped([row for row in files if row["kind"] in LOG_KINDS], "kind").items():
        example = f"{printable(rows[0]['path'], 60)}: {printable(rows[0]['reason'], 120)}"
        since = [
            f"older versions of {printable(row['path'], 60)} have nothing after {moment(row['since_at'])} UTC"
            for row in rows
            if row["since_at"]
        ]
        gap = missing(kind)
        yield (
            "; ".join([f"{plural(len(rows), 'file')}, such as {example}", *since[:MAX_SINCE]]),
            Gap(f"Not understood: {gap.name}", gap.consequence, gap.step),
        )


def _warnings(warnings: list[Row]) -> Iterator[tuple[str, Gap]]:
    for row in warnings:
        state = f"{plural(row['file_count'], 'file')}, such as {printable(row['example_path'], 60)}"
        if row["attempt_count"]:
            state = f"{plural(row['attempt_count'], 'attempt')} in {state}"
        yield state, WARNINGS.get(row["warning"], Gap(f"Warning: {words(row['warning'])}", "", DOCTOR))


def _counts(attempts: Row) -> Iterator[tuple[str, Gap]]:
    for column, gap in COUNTS.items():
        if count := attempts.get(column):
            yield f"unknown for {plural(count, 'attempt')} ({share(count / attempts['attempt_count'])})", gap


def _times(rows: list[Row]) -> Iterator[tuple[str, Gap]]:
    for row in rows:
        if row["time_quality"] in TIMES:
            noun, kind = TIMED[row["kind"]]
            gap = Gap(f"Times: {words(row['time_quality'])}", TIMES[row["time_quality"]], missing(kind).step)
            yield f"{plural(row['row_count'], noun)} ({share(row['row_ratio'])})", gap


def _quarantined(rows: list[Row]) -> Iterator[tuple[str, Gap]]:
    consequence = "These lines were not understood and count nowhere; Provenance has the example."
    for row in rows:
        counted = f"{plural(row['line_count'], 'line')} in {plural(row['file_count'], 'file')}"
        yield counted, Gap(f"Quarantined: {words(row['reason'])}", consequence, DOCTOR)
