"""Where in the machine: racks, switches and other places that fail more often than the rest, or lose several nodes."""

from __future__ import annotations

from math import inf
from statistics import median

from assets.report import palette
from assets.report.blocks import Figure, Section, Text, note, section
from assets.report.charts import dots, figure, intervals
from assets.report.numbers import chance, duration, gpus, printable, share, short, whole
from assets.report.queries import Own, Row, grouped
from assets.report.tables import Col, level_of, table
from assets.report.wording import hours_span, number, plural, span

KINDS = {
    "rack": "rack",
    "switch": "switch",
    "nvlink_domain": "NVLink domain",
    "position": "position in the rack",
    "gpu_model": "GPU model",
}
FOUND = {"fails more": 0, "both": 0, "fails together": 1}
MAX_DRAWN = 24
RATE = "failures_per_1000_node_days"


def _times(row: Row) -> str | None:
    """Write the ratio, or its lower limit where the rest had no failure to divide by."""
    if row["ratio"] is not None:
        return short(row["ratio"])
    return f"at least {short(row['low'])}" if row["low"] else None


def _ratio_span(row: Row) -> str:
    return span(row["low"], row["high"])


PLACES = (
    Col("Kind", lambda row: KINDS[row["place_kind"]], filter="kind"),
    Col("Place", "place", detail=lambda row: f"same nodes: {row['same_nodes_as']}" if row["same_nodes_as"] else ""),
    Col("Verdict", "verdict"),
    Col("#Nodes", "node_count", whole),
    Col("#Failures of nodes", "event_count", number),
    Col("#Per 1,000 node-days ({level})", RATE, short, limits=RATE),
    Col("#Times the rest", _times, detail=lambda row: "" if row["ratio"] is None else _ratio_span(row),
        unknown="not compared"),
    Col("#False findings expected", "q_value", chance, unknown="not compared"),
    Col("#Several nodes at once", "burst_count", whole,
        detail=lambda row: f"{short(row['expected_burst_count'])} by chance"),
    Col("#Share with a common cause", "common_cause_share", share, limits="common_cause_share"),
)  # fmt: skip


def places(own: Own) -> Section:
    """Build the section on where nodes fail."""
    title = "Where in the machine: racks, switches and other places"
    kinds = grouped(own.rows("places"), "place_kind")
    rows = [row for name in KINDS for row in kinds.get(name, []) if row["place"] is not None]
    if not rows:
        return section("places", title, note(_explain_missing(own.cluster)))
    rows.sort(key=lambda row: (FOUND.get(row["verdict"], 2), -(row["ratio"] or row["low"] or 0)))
    found = [row for row in rows if row["verdict"] in FOUND]
    said = (
        " ".join(map(_said, findings(found)[:6]))
        or f"No {_or([KINDS[name] for name in KINDS if name in kinds])} stands out."
    )
    unsure = sum(row["verdict"] == "cannot tell" for row in rows)
    effects = [row["detectable_effect"] for row in rows if row["detectable_effect"] is not None]
    seen = (
        f" At the median place {short(median(effects))} times the rate of the rest would be found." if effects else ""
    )
    said += f" The data cannot tell of {plural(unsure, 'place')} whether nodes fail more there.{seen}" if unsure else ""
    shown = {row["place_kind"] for row in found} or {next(name for name in KINDS if name in kinds)}
    return section(
        "places",
        title,
        Text(said, "warning" if found else "plain"),
        *(_figure(name, [row for row in rows if row["place_kind"] == name]) for name in KINDS if name in shown),
        _common([kinds[name][-1] for name in KINDS if name in kinds]),
        table(
            "Places by how they fail",
            rows,
            PLACES,
            "A place fails more if its nodes do, the worst of them left out, against all other places without their "
            "lemons; it fails together if bursts, likely failures within ten minutes of each other, take several of "
            "its nodes more often than by chance. Either is said where at most 5% of such findings are expected to be "
            "false. No difference: surely less than three times the rest, and twice the rest would have been found.",
            is_collapsed=not found,
        ),
    )


def _explain_missing(cluster: Row) -> str:
    if cluster["study_from_at"] is None:
        return "No study period is known: which places fail more often takes an export of jobs that ended."
    if cluster["has_places"]:
        return (
            "Where nodes stand is known, but those that were in use stand in one place of each kind: there is no other "
            "to compare it with."
        )
    return (
        "Where nodes stand would tell which racks and switches fail more often: put topology.conf or a CSV of nodes "
        "and racks into inventory/, or patterns of node names into [topology] of cluster.toml (docs/forms.md)."
    )


def _or(names: list[str]) -> str:
    """Join names.

    >>> _or(["rack"]), _or(["rack", "switch", "GPU model"])
    ('rack', 'rack, switch or GPU model')
    """
    return " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def findings(found: list[Row]) -> list[Row]:
    """Keep one row of places that are one finding."""
    kept: list[Row] = []
    for row in found:
        named = (row["same_nodes_as"] or "").split("; ")
        if not any(f"{one['place_kind']} {one['place']}" in named for one in kept):
            kept.append(row)
    return kept


def _said(row: Row) -> str:
    name = f"{KINDS[row['place_kind']]} {printable(row['place'], 40)}"
    if row["same_nodes_as"]:
        name += f" (inseparable from {printable(row['same_nodes_as'], 80)}: the same nodes)"
    parts = []
    if row["verdict"] != "fails together":
        often = f"{times} times as often as" if (times := _times(row)) else "more often than"
        limits = "no node of which failed, lemons aside" if row["ratio"] is None else _ratio_span(row)
        parts.append(f"fails {often} the rest{f' ({limits})' if times else ''}")
    if row["verdict"] != "fails more":
        chance = short(row["expected_burst_count"])
        parts.append(f"lost several nodes at once {plural(row['burst_count'], 'time')}, where chance gives {chance}")
    return f"{name[0].upper()}{name[1:]} {' and '.join(parts)}."


def _common(kinds: list[Row]) -> Text | None:
    """Say what share of failures has a common cause, by the kind of place that shows most of them."""
    row = max(kinds, key=lambda row: row["common_cause_share_low"] or -inf)
    if row["common_cause_share"] is None:
        return None
    of_place = f"of the failures of nodes come with others of their {KINDS[row['place_kind']]}, beyond chance"
    if row["verdict"] not in FOUND:
        return Text(f"At most {share(row['common_cause_share_high'])} ({level_of([row])}) {of_place}.")
    limits = span(row["common_cause_share_low"], row["common_cause_share_high"], share)
    said = f"{share(row['common_cause_share'])} ({limits}) {of_place}."
    if row["mttf_hours"] is not None:
        said += (
            f" A job of {gpus(row['large_gpu_count'])} therefore has a mean time to failure of "
            f"{duration(row['mttf_hours'])} ({hours_span(row['mttf_hours_low'], row['mttf_hours_high'])}); did each "
            f"node fail by itself, it would be {duration(row['independent_mttf_hours'])}."
        )
    return Text(said)


def _figure(kind: str, rows: list[Row]) -> Figure | None:
    """Draw the rates of the places of one kind; those that differ are blue."""
    seen = [row for row in rows if row["event_count"]][:MAX_DRAWN]
    if not seen:
        return None
    drawn = dots(
        seen,
        RATE,
        lambda row: printable(row["place"], 30),
        lambda row: f"{number(row['event_count'])}{', ' + row['verdict'] if row['verdict'] in FOUND else ''}",
        colour=lambda row: palette.GPU_TIME if row["verdict"] in FOUND else palette.OTHER,
    )
    return figure(
        f"places-{kind}",
        f"Failures of nodes by {KINDS[kind]}",
        f"One dot per {KINDS[kind]} with its interval, those that differ first, then by how often they fail. First: "
        f"{drawn[0]['label']}, {drawn[0]['text']} per 1,000 node-days. The table below holds every value.",
        drawn,
        {"label": KINDS[kind], "value": "Per 1,000 node-days", "low": "Lower limit", "high": "Upper limit",
         "rests": "Failures of nodes"},
        intervals(drawn, "failures per 1,000 node-days"),
        {"step": 26},
        f"Dots: rate, blue where the place differs from the rest. Lines: {level_of(seen)} limits, wide where its nodes "
        "differ or fail at once. Numbers: failures of nodes.",
    )  # fmt: skip
