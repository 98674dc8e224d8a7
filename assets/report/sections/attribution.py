"""How far attribution can be trusted: what comes together, what chance would explain, what another window would."""

from __future__ import annotations

from assets.report import palette
from assets.report.blocks import Block, Cell, Table, Text, columns, row
from assets.report.numbers import confidence, duration, printable, share, whole
from assets.report.queries import Frames, Row, of_cluster

NAMES = {
    "any other category": "any other cause",
    "any gpu category": "any GPU cause",
    "xid 79": "Xid 79 (fell off the bus)",
    "xid 79 with ipmi critical interrupt": "Xid 79 and IPMI critical interrupt",
}


def trust(frames: Frames, cluster_id: str) -> list[Block]:
    """Build the tables on co-occurrence, chance and windows, or say why there is none."""
    blocks: list[Block] = []
    pairs = of_cluster(frames, "cooccurrence", cluster_id)
    if pairs:
        blocks.append(_cooccurrence(pairs))
    else:
        blocks.append(Text("Too few failures have a known cause to say which causes come together.", "note"))
    chance = of_cluster(frames, "attribution_chance", cluster_id)
    if chance:
        blocks.append(_chance(chance))
    windows = of_cluster(frames, "attribution_windows", cluster_id)
    judged = [each for each in windows if each["failed_count"]]
    if judged:
        blocks.append(_windows(judged))
    elif not chance:
        reason = next((each["note"] for each in windows if each["note"]), "no failed attempt to hold it against")
        blocks.append(Text(f"How much of the attribution is chance is unknown: {reason}.", "note"))
    return blocks


def _cooccurrence(rows: list[Row]) -> Table:
    return Table(
        "What comes together",
        columns("Cause", "Seen with", "#Failures with both", "#Failures of the cause", "#Share"),
        tuple(
            row(
                Cell(each["label"], swatch=palette.colour_of(each["failure_category"])),
                NAMES.get(each["other_category"], printable(each["other_label"])),
                whole(each["both_count"]),
                whole(each["failure_count"]),
                Cell(
                    share(each["both_ratio"]),
                    detail="no source that would show it" if each["both_count"] is None else "",
                ),
            )
            for each in rows
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
            row(Cell(each["label"], swatch=palette.colour_of(each["failure_category"])), *_shares(each))
            for each in rows
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
            "",
            "#Attributed",
            "#By chance",
            f"#Beyond chance ({_level(rows)})",
            "#No coincidence",
        ),
        tuple(
            row(
                duration(each["before_seconds"] / 3600),
                duration(each["after_seconds"] / 3600),
                "in use" if each["is_configured"] else "",
                *_shares(each),
            )
            for each in rows
        ),
        note="Where attribution stops rising while chance goes on rising, the window is wide enough.",
    )


def _shares(each: Row) -> tuple[Cell, ...]:
    return (
        Cell(
            share(each["attributed_ratio"]),
            detail=f"{whole(each['attributed_count'])} of {whole(each['failed_count'])} failed",
        ),
        Cell(
            share(each["chance_ratio"]),
            detail=printable(each["note"], 120)
            if each["chance_ratio"] is None
            else f"{whole(each['coincidence_count'])} of {whole(each['completed_count'])} completed; "
            + _limits(each, "chance"),
        ),
        Cell(share(each["corrected_ratio"]), detail=_limits(each, "corrected")),
        Cell(share(each["credible_ratio"])),
    )


def _limits(each: Row, name: str) -> str:
    low, high = each[f"{name}_ratio_low"], each[f"{name}_ratio_high"]
    return "" if low is None or high is None else f"{share(low)} to {share(high)}"


def _level(rows: list[Row]) -> str:
    return confidence(next((each["confidence_level"] for each in rows if each["confidence_level"]), None))
