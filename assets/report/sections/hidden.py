"""Failures that Slurm does not call so: suspects of black holes and hangs, and GPUs held without use."""

from __future__ import annotations

from math import isfinite

from assets.model.power import LARGEST_ODDS
from assets.report.blocks import Section, Text, note, section
from assets.report.numbers import printable, share, short, whole
from assets.report.queries import Own, Row
from assets.report.tables import Col, table
from assets.report.wording import plural, span

ENDS = {
    "failed_early": "FAILED within 5 minutes",
    "timeout": "TIMEOUT",
}
MIN_SHARE = 0.001
SUSPECTS = (
    Col("Node", lambda row: printable(row["node_name"] or row["node_id"])),
    Col("Ends", lambda row: ENDS[row["kind"]]),
    Col("May be", "note"),
    Col("#Attempts", "attempt_count", whole, detail=lambda row: plural(row["user_count"], "user")),
    Col("#Jobs", "event_count", short, detail=lambda row: f"{short(row['expected_count'])} expected"),
    Col("#Times the odds ({level})", "odds_ratio", short, detail=lambda row: span(row["low"], row["high"]),
        unknown="no upper limit"),
    Col("#False discovery rate", "q_value", lambda q: share(q) if q >= MIN_SHARE else f"below {share(MIN_SHARE)}"),
)  # fmt: skip
HOLDERS = (
    Col("Account", "account"),
    Col("User", "user_name"),
    Col("#Attempts", "attempt_count", whole),
    Col("#GPU-hours without use", "held_gpu_hours", short),
)


def hidden(own: Own) -> Section:
    """Build the section on what no log calls a failure of a node."""
    rows = own.rows("hidden_failures")
    suspects = [row for row in rows if row["is_suspect"] and row["has_enough_data"]]
    return section(
        "hidden",
        "Failures that Slurm does not call so",
        _found(rows, suspects),
        table(
            "Nodes with more bad ends than users explain",
            suspects,
            SUSPECTS,
            "Against the same users' jobs of the same size elsewhere; attempts under one name on one node and day are "
            "one job, and failures of a single user are not enough. What is attributed to infrastructure already is "
            "left out. False discovery rate: the share that is expected to be wrong of the rows with this value or a "
            "lower one. Run a burn-in before such a node gets jobs again.",
        ),
        _idle(next((row for row in rows if row["kind"] == "idle_gpus"), None)),
        table(
            "Who held GPUs without using them",
            own.rows("idle_users"),
            HOLDERS,
            "The first 20 by GPU-hours of attempts whose GPUs were used for less than 5% of their time.",
            is_collapsed=True,
        ),
    )


def _found(rows: list[Row], suspects: list[Row]) -> Text:
    compared = rows[0]["compared_count"] if rows else 0
    if rows and not rows[0]["has_enough_data"]:
        return note(f"Whether jobs fail unnoticed on some node cannot be told: {printable(rows[0]['note'], 200)}.")
    if suspects:
        where = f"{plural(len({row['node_id'] for row in suspects}), 'node')} of {whole(compared)}"
        return Text(f"Jobs end badly far more often than the same users' other jobs on {where}.", "warning")
    if compared:
        effect = rows[0]["median_effect"]
        would_be = f"{short(effect)} times the odds elsewhere" if isfinite(effect) else "no excess, however large,"
        seen = (
            f"{would_be} would have been found on the median node, and {short(LARGEST_ODDS)} times on "
            f"{share(rows[0]['found_share'])} of the nodes"
        )
        if effect > LARGEST_ODDS:
            return note(
                f"Whether jobs fail at once or time out more often on some of {plural(compared, 'node')} is "
                f"unknown: {seen}."
            )
        return note(
            f"On none of {plural(compared, 'node')} do jobs fail at once or time out more often than the "
            f"same users' jobs elsewhere, beyond chance: {seen}."
        )
    return note("Accounting with users, of jobs that end differently, would tell nodes on which jobs fail unnoticed.")


def _idle(row: Row | None) -> Text:
    if row is None:
        return note("Accounting with jobstats' summaries (AdminComment) would tell GPUs that are held without use.")
    ratio = row["held_gpu_hours"] / row["exposure"]
    return note(
        f"{short(row['held_gpu_hours'])} GPU-hours were held without use, {share(ratio)} of the "
        f"{short(row['exposure'])} of which the use is known: {plural(row['attempt_count'], 'attempt')} of "
        f"{plural(row['user_count'], 'user')}."
    )
