"""How far attribution can be trusted: what comes together, what chance would explain, what another window would."""

from __future__ import annotations

from assets.report import palette
from assets.report.blocks import Block, Cell, Section, Table, Text, columns, row
from assets.report.numbers import confidence, duration, printable, share, whole
from assets.report.queries import Frames, Row, of_cluster

NAMES = {
    "any other category": "any other cause",
    "any gpu category": "any GPU cause",
    "xid 79": "Xid 79 (fell off the bus)",
    "xid 79 with ipmi critical interrupt": "Xid 79 and IPMI critical interrupt",
}


def cooccurrence(frames: Frames, cluster_id: str) -> Block:
    """Build the table of causes that come together, or say why there is none."""
    pairs = of_cluster(frames, "cooccurrence", cluster_id)
    if not pairs:
        return Text("Too few failures have a known cause to say which causes come together.", "note")
    return _cooccurrence(pairs)


def trust(frames: Frames, cluster: Row, anchor: str) -> Section:
    """Build the tables on chance and windows of a cluster's attribution, or say why there is none."""
    cluster_id = cluster["cluster_id"]
    blocks: list[Block] = []
    chance = of_cluster(frames, "attribution_chance", cluster_id)
    if chance:
        blocks.append(_chance(chance))
    windows = of_cluster(frames, "attribution_windows", cluster_id)
    judged = [window for window in windows if window["failed_count"]]
    if judged:
        blocks.append(_windows(judged))
    elif not chance:
        reason = next((window["note"] for window in windows if window["note"]), "no failed attempt to hold it against")
        blocks.append(Text(f"How much of the attribution is chance is unknown: {reason}.", "note"))
    title = f"{printable(cluster_id)}: what another window and mere chance would attribute"
    return Section(
        f"trust-{anchor}", title, tuple(blocks), is_collapsed=True, is_simulated=bool(cluster["is_simulated"])
    )


def _cooccurrence(rows: list[Row]) -> Table:
    return Table(
        "What comes together",
        columns("Cause", "Seen with", "#Failures with both", "#Failures of the cause", "#Share"),
        tuple(
            row(
                Cell(pair["label"], swatch=palette.colour_of(pair["failure_category"])),
                NAMES.get(pair["other_category"], printable(pair["other_label"])),
                whole(pair["both_count"]),
                whole(pair["failure_count"]),
                Cell(
                    share(pair["both_ratio"]),
                    detail="no source that would show it" if pair["both_count"] is None else "",
                ),
            )
            for pair in rows
        ),
        note="Both in the attribution window of one failed attempt, which counts under its primary cause. Pairs of "
        "causes are listed from 3 failures with both, a cause with any other from 5 failures. No limits: with "
        "few failures a share says little.",
    )


def _chance(rows: list[Row]) -> Table:
    return Table(
        "How much of the attribution may be chance",
        columns(
            "Cause in evidence", "#Attributed", "#By chance", f"#Beyond chance ({_level(rows)})", "#No coincidence"
        ),
        tuple(
            row(Cell(estimate["label"], swatch=palette.colour_of(estimate["failure_category"])), *_shares(estimate))
            for estimate in rows
        ),
        note="Chance: the share of COMPLETED attempts, weighted to the sizes of the failed ones, that the same rules "
        "would explain. Beyond chance: (attributed - chance) / (1 - chance). No coincidence: the share of the "
        "attributions that is left. Failed attempts whose node Slurm names are not in it.",
    )


def _windows(rows: list[Row]) -> Table:
    return Table(
        "Attribution with other windows",
        columns(
            "Before the end",
            "After it",
            "Use",
            "#Attributed",
            "#By chance",
            f"#Beyond chance ({_level(rows)})",
            "#No coincidence",
        ),
        tuple(
            row(
                duration(window["before_seconds"] / 3600),
                duration(window["after_seconds"] / 3600),
                "in use" if window["is_configured"] else "",
                *_shares(window),
            )
            for window in rows
        ),
        note="Where attribution stops rising while chance goes on rising, the window is wide enough.",
    )


def _shares(estimate: Row) -> tuple[Cell, ...]:
    return (
        Cell(
            share(estimate["attributed_ratio"]),
            detail=f"{whole(estimate['attributed_count'])} of {whole(estimate['failed_count'])} failed",
        ),
        Cell(
            share(estimate["chance_ratio"]),
            detail=printable(estimate["note"], 120)
            if estimate["chance_ratio"] is None
            else f"{whole(estimate['coincidence_count'])} of {whole(estimate['completed_count'])} completed; "
            + _limits(estimate, "chance"),
        ),
        Cell(share(estimate["corrected_ratio"]), detail=_limits(estimate, "corrected")),
        Cell(share(estimate["credible_ratio"])),
    )


def _limits(estimate: Row, name: str) -> str:
    low, high = estimate[f"{name}_ratio_low"], estimate[f"{name}_ratio_high"]
    return "" if low is None or high is None else f"{share(low)} to {share(high)}"


def _level(rows: list[Row]) -> str:
    return confidence(next((estimate["confidence_level"] for estimate in rows if estimate["confidence_level"]), None))
