"""Why attempts failed: rates by cause with intervals, what could be attributed, and how far that can be trusted.

The kinds of failure, the paper's table I, stand here too, once for all clusters.
"""

from __future__ import annotations

from operator import itemgetter

from assets.report import palette
from assets.report.addresses import anchor_of, of_cause
from assets.report.blocks import Figure, Section, Table, note, section
from assets.report.charts import dots, figure, intervals
from assets.report.numbers import printable, share, short, whole
from assets.report.observed import reference_of
from assets.report.queries import Frames, Own, Row, summed
from assets.report.sections.failures import weighted
from assets.report.tables import Col, cause, ends, flag, interval, level_of, table
from assets.report.wording import loss_rule, number, plural, rate, sentence

PER_MILLION = "#Per million GPU-hours"
KINDS = {
    "Attributed": "evidence on the failed attempt's node, inside the attribution window",
    "Unexplained": "checks were arriving from the node, and none of them showed a fault",
    "No coverage": "nothing was heard from the node, so nothing can be said; silence is not health",
}
TOGETHER = {
    "any other category": "any other cause",
    "any gpu category": "any GPU cause",
    "xid 79": "Xid 79 (fell off the bus)",
    "xid 79 with ipmi critical interrupt": "Xid 79 and IPMI critical interrupt",
}
CAUSES = (
    cause(link=lambda row: of_cause(row) if row["failure_count"] else ""),
    Col("#Failed attempts", "failure_count", number),
    Col("#Lost GPU-hours", "expected_lost_gpu_hours", short),
    Col(PER_MILLION, lambda row: rate(row, "per_million")),
    interval("per_million", unless="failure_count"),
)
UNSEEN = (
    cause(),
    Col("#At most, per million GPU-hours", "per_million_high", short),
    Col("#Seen in so many GPU-hours", "gpu_hours", short, detail=lambda row: f"{share(row['seen_ratio'])} of all"),
)
UNOBSERVABLE = (cause(), Col("Why", "note"))
ATTRIBUTION = (
    Col("Kind", "kind"),
    Col("Meaning", lambda row: KINDS[row["kind"]]),
    Col("#Failed attempts", "count", number),
    Col("#Share", "ratio", share),
    Col("#Lost GPU-hours", "lost_gpu_hours", short),
)


PAIRS = (
    cause(),
    Col("Seen with", lambda row: TOGETHER.get(row["other_category"], printable(row["other_label"]))),
    Col("#Failures with both", "both_count", whole),
    Col("#Failures of the cause", "failure_count", whole),
    Col("#Share", "both_ratio", share,
        detail=lambda row: "no source that would show it" if row["both_count"] is None else ""),
)  # fmt: skip


def _by_chance(row: Row) -> str:
    if row["chance_ratio"] is None:
        return printable(row["note"], 120)
    limits = "" if row["chance_ratio_low"] is None else ends(row, "chance_ratio", share)
    return f"{whole(row['coincidence_count'])} of {whole(row['completed_count'])} completed; {limits}"


SHARES = (
    Col("#Attributed", "attributed_ratio", share,
        detail=lambda row: f"{whole(row['attributed_count'])} of {whole(row['failed_count'])} failed"),
    Col("#By chance", "chance_ratio", share, detail=_by_chance),
    Col("#Beyond chance ({level})", "corrected_ratio", share, limits="corrected_ratio"),
    Col("#No coincidence", "credible_ratio", share),
)  # fmt: skip


def causes(own: Own) -> Section:
    """Build the section on failure causes."""
    rows = [_per_million(row) for row in own.rows("causes")]
    seen = [row for row in rows if row["failure_count"]]
    unseen = sorted(map(_per_million, own.rows("cause_bounds")), key=lambda row: row["label"])
    pairs = table(
        "What comes together",
        own.rows("cooccurrence"),
        PAIRS,
        "Both in the attribution window of one failed attempt, which counts under its primary cause. Pairs of causes "
        "are listed from 3 failures with both, a cause with any other from 5 failures. No limits: with few failures a "
        "share says little.",
    )
    return section(
        "causes",
        "Why attempts failed",
        None if seen else note(_without_causes(own)),
        table(
            "Failure rate by cause",
            rows,
            CAUSES,
            "Each failed attempt counts under its primary cause, with the probability that infrastructure ended it; so "
            "does what it lost. Exposure: all GPU time of attempts.",
        ),
        table(
            "Causes that were never seen",
            unseen,
            UNSEEN,
            "Checks or logs that were understood could have shown them on the nodes that ran these GPU-hours. Upper "
            "limits of the {level} interval.",
            is_collapsed=True,
        ),
        table(
            "Causes that could not have been seen",
            sorted(own.rows("unobservable_causes"), key=lambda row: row["label"]),
            UNOBSERVABLE,
            "Of these nothing is known: they may be as frequent as any.",
            is_collapsed=True,
        ),
        _attribution(own),
        pairs or note("Too few failures have a known cause to say which causes come together."),
    )


def _without_causes(own: Own) -> str:
    reference = reference_of(own)
    if reference.get("node_days") and reference["failure_count"] is None:
        return sentence(reference["note"])
    return "No infrastructure failure was found, so there is no cause to rank."


def _per_million(row: Row) -> Row:
    stem = "failures_per_gpu_hour"
    scaled = {end: None if row.get(stem + end) is None else 1e6 * row[stem + end] for end in ("", "_low", "_high")}
    return row | {f"per_million{end}": value for end, value in scaled.items()}


def cause_figure(own: Own) -> Figure | None:
    """Draw the rate by cause; None where no cause was seen."""
    rows = [row for row in map(_per_million, own.rows("causes")) if row["failure_count"] and row["per_million"]]
    if not rows:
        return None
    drawn = dots(
        rows,
        "per_million",
        itemgetter("label"),
        lambda row: number(row["failure_count"]),
        colour=lambda row: palette.colour_of(row["failure_category"]),
        link=of_cause,
    )
    return figure(
        "causes",
        "Failure rate by cause",
        f"One dot per cause with its interval, on a logarithmic axis. Most frequent: {rows[0]['label']}, "
        f"{short(rows[0]['per_million'])} per million GPU-hours ({plural(rows[0]['failure_count'], 'failure')}). The "
        "table below holds every value.",
        drawn,
        {"label": "Cause", "value": "Per million GPU-hours", "low": "Lower limit", "high": "Upper limit",
         "rests": "Failed attempts"},
        intervals(drawn, "failures per million GPU-hours"),
        {"step": 26},
        f"Dots: rate by cause. Lines: {level_of(rows)} limits. Numbers: failed attempts.",
    )  # fmt: skip


def _attribution(own: Own) -> Table | None:
    listed, rows = [weighted(row) for row in own.rows("failures")], []
    total = summed(listed, "count")["count"]
    for kind in KINDS if total else ():
        found = summed([row for row in listed if _kind(row) == kind], "count", "lost_gpu_hours")
        rows.append(found | {"kind": kind, "ratio": found["count"] / total})
    said = f"Of {plural(total, 'infrastructure failure')}, each counted with its probability. Lost: "
    rule = loss_rule(own.cluster["checkpoint_minutes"])
    return table("How many failures have a known cause", rows, ATTRIBUTION, said + rule)


def _kind(row: Row) -> str:
    return "Attributed" if row["is_attributed"] else "Unexplained" if row["has_coverage"] else "No coverage"


def trust(own: Own) -> Section:
    """Build the table on chance in a cluster's attribution, or say why there is none."""
    cluster_id, simulated = own.cluster["cluster_id"], " (simulated)" if own.cluster["is_simulated"] else ""
    chance = own.rows("attribution_chance")
    return section(
        f"trust-{anchor_of(cluster_id)}",
        f"{printable(cluster_id)}{simulated}: what mere chance would attribute",
        table(
            "How much of the attribution may be chance",
            chance,
            (cause("Cause in evidence"), *SHARES),
            "Chance: the share of COMPLETED attempts, weighted to the sizes of the failed ones, that the same rules "
            "would explain. Beyond chance: (attributed - chance) / (1 - chance). No coincidence: the share of the "
            "attributions that is left. Failed attempts whose node Slurm names are not in it.",
        ),
        None if chance else note("How much of the attribution is chance is unknown: no failed attempt has evidence."),
        is_collapsed=True,
    )


TAXONOMY = (
    Col("Kind", "label", has_swatch=True),
    flag("User program", "is_user_program"),
    flag("System software", "is_system_software"),
    flag("Hardware", "is_hardware"),
    flag("In the paper's table I", "is_table_one"),
    Col("Likely causes", lambda row: printable(row["likely_causes"], 300) if row["likely_causes"] else ""),
)


def taxonomy(frames: Frames) -> Section:
    """Build the table of the kinds of failure, their domains and their likely causes."""
    kinds = table("Kinds of failure, and what they may come from", frames["categories"], TAXONOMY)
    return section("taxonomy", "Kinds of failure", kinds or note("No kind of failure is declared."))
