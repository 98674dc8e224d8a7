"""Where the page comes from: the run, the input files with hashes and line counts, and the checks that judged them."""

from __future__ import annotations

from collections.abc import Sequence

from assets.report.blocks import Block, Section, Text, section
from assets.report.earlier import EarlierReport
from assets.report.numbers import UNKNOWN, printable, whole, words
from assets.report.queries import Frames, Row, grouped, summed
from assets.report.tables import Col, flag, second, table
from assets.report.wording import plural

OPEN_FILE_LIST = 20
LISTED_FILES = 2000
LINES = {"lines_in": "Lines in", "loaded": "Loaded", "skipped": "Skipped", "quarantined": "Quarantined"}
LINE_COUNTS = tuple(Col(f"#{heading}", name, whole) for name, heading in LINES.items())
CLUSTER, KIND = Col("Cluster", "cluster_id"), Col("Kind", "kind")
FILES = (
    Col("File", lambda row: printable(row["path"], 120),
        detail=lambda row: "cut off at its end, read again when it grows" if row["is_partial"] else ""),
    Col("SHA-256", lambda row: (row["sha256"] or UNKNOWN)[:12], is_code=True),
    KIND,
    Col("Dialect", "dialect"),
    *LINE_COUNTS,
)  # fmt: skip
REASONS = (
    CLUSTER,
    Col("Reason", "reason", words),
    Col("#Lines", "line_count", whole),
    Col("#Files", "file_count", whole),
)
QUARANTINED = (
    CLUSTER,
    Col("Reason", "reason", words, detail="example_detail"),
    *REASONS[2:],
    Col("First example", lambda row: f"{printable(row['example_path'])}, line {whole(row['example_line_number'])}"),
    Col("As read", lambda row: printable(row["example_raw"], 160), is_code=True),
)
CHECKS = (
    Col("Table", "table_name"),
    Col("Check", "check_name"),
    flag("Stops publication", "is_blocking"),
    Col("Observed", lambda row: printable(row["observed"], 160)),
    Col("Expected", lambda row: printable(row["expected"], 160)),
)
BY_TABLE = (
    Col("Table", "table_name"),
    Col("#Passed", "passed", whole),
    Col("#Failed", "failed", whole),
    Col("#Of them blocking", "blocking", whole),
)
EARLIER = (
    Col("Published (UTC)", "published_at", link=lambda row: row["address"]),
    Col("Run", "run_id"),
    Col("Code version", "code_version"),
)


def provenance(frames: Frames, earlier: Sequence[EarlierReport] = ()) -> Section:
    """Build the closing section on the page's own origin."""
    files = frames["files"]
    listed = f", the first {whole(LISTED_FILES)}" if len(files) > LISTED_FILES else ""
    return section(
        "provenance",
        "Provenance",
        _run_sentence(frames["run"]),
        table(
            "Earlier reports",
            [vars(report) for report in earlier],
            EARLIER,
            "Each stays with its publication, as long as that is kept; `faultline report` lists them too.",
        ),
        *_checks(frames["checks"]),
        table(
            "Input lines by cluster and kind",
            [_counted(of_kind, *key) for key, of_kind in sorted(grouped(files, "cluster_id", "kind").items())],
            (CLUSTER, KIND, Col("#Files", "file_count", whole), *LINE_COUNTS),
            "Every line is accounted for: lines in = loaded + skipped + quarantined.",
            total=_counted(files, "all", ""),
        ),
        table(
            f"Input files ({whole(len(files))}){listed}",
            files[:LISTED_FILES],
            FILES,
            is_collapsed=len(files) > OPEN_FILE_LIST,
        ),
        table("Lines skipped, by reason", frames["skips"], REASONS),
        table(
            "Lines quarantined, by reason",
            frames["quarantine"],
            QUARANTINED,
            "Kept in ops.quarantine, counted nowhere else.",
        ),
    )


def _run_sentence(runs: list[Row]) -> str:
    if not runs:
        return "No run is recorded: this page was made outside of a refresh."
    run = runs[0]
    ended = f", ended {second(run['ended_at'])} UTC" if run["ended_at"] else "; the page is written before it ends"
    started = f"Made by run {printable(run['run_id'])}, started {second(run['started_at'])} UTC{ended}."
    return f"{started} Code version {printable(run['code_version'])}."


def _checks(checks: list[Row]) -> list[Block | None]:
    if not checks:
        return [Text("No check of this run was recorded before the page was written.", "warning")]
    failed = [check for check in checks if not check["passed"]]
    counts = f"{whole(len(checks) - len(failed))} passed, {whole(len(failed))} failed"
    by_table = []
    for name, of_table in sorted(grouped(checks, "table_name").items()):
        passed, blocking = (sum(check[flag] for check in of_table) for flag in ("passed", "is_blocking"))
        by_table.append({"table_name": name, "passed": passed, "failed": len(of_table) - passed, "blocking": blocking})
    return [
        Text(f"{plural(len(checks), 'check')} of this run: {counts}.", "warning" if failed else "good"),
        table("Failed checks", failed, CHECKS),
        table("Checks by table", by_table, BY_TABLE, is_collapsed=True),
    ]


def _counted(files: list[Row], cluster_id: str, kind: str) -> Row:
    return {"cluster_id": cluster_id, "kind": kind, "file_count": len(files), **summed(files, *LINES)}
