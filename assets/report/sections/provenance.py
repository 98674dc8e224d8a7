"""Where the page comes from: the run, the input files with hashes and line counts, and the checks that judged them."""

from __future__ import annotations

from collections import defaultdict

from assets.report.blocks import Block, Section, Table, Text, columns, row
from assets.report.numbers import moment, printable, whole
from assets.report.queries import Frames, Row
from assets.report.sections.inputs import inputs
from assets.report.wording import plural


def provenance(frames: Frames) -> Section:
    """Build the closing section on the page's own origin."""
    blocks: list[Block] = [Text(_run_sentence(frames["run"]))]
    blocks.extend(_checks(frames["checks"]))
    blocks.extend(inputs(frames))
    return Section("provenance", "Provenance", tuple(blocks))


def _run_sentence(runs: list[Row]) -> str:
    if not runs:
        return "No run is recorded: this page was made outside of a refresh."
    run = runs[0]
    ended = (
        f", ended {moment(run['ended_at'], seconds=True)} UTC"
        if run["ended_at"]
        else "; the page is written before it ends"
    )
    return (
        f"Made by run {printable(run['run_id'])}, started {moment(run['started_at'], seconds=True)} UTC{ended}. "
        f"Code version {printable(run['code_version'])}."
    )


def _checks(checks: list[Row]) -> list[Block]:
    if not checks:
        return [Text("No check of this run was recorded before the page was written.", "warning")]
    failed = [check for check in checks if not check["passed"]]
    by_table: dict[str, list[Row]] = defaultdict(list)
    for check in checks:
        by_table[check["table_name"]].append(check)
    passed = whole(len(checks) - len(failed))
    verdict = f"{plural(len(checks), 'check')} of this run: {passed} passed, {whole(len(failed))} failed."
    blocks: list[Block] = [Text(verdict, "warning" if failed else "good")]
    if failed:
        blocks.append(
            Table(
                "Failed checks",
                columns("Table", "Check", "Stops publication", "Observed", "Expected"),
                tuple(
                    row(
                        printable(check["table_name"]),
                        printable(check["check_name"]),
                        "yes" if check["is_blocking"] else "no",
                        printable(check["observed"], 160),
                        printable(check["expected"], 160),
                    )
                    for check in failed
                ),
            )
        )
    blocks.append(
        Table(
            "Checks by table",
            columns("Table", "#Passed", "#Failed", "#Of them blocking"),
            tuple(
                row(
                    printable(table),
                    whole(sum(bool(check["passed"]) for check in group)),
                    whole(sum(not check["passed"] for check in group)),
                    whole(sum(bool(check["is_blocking"]) for check in group)),
                )
                for table, group in sorted(by_table.items())
            ),
            is_collapsed=True,
        )
    )
    return blocks
