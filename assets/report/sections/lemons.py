"""The nodes behind the failures, and the lemons among them: evidence, a line for Slurm, signals, lists of the past."""

from __future__ import annotations

from collections import Counter
from math import inf

from assets.model.lemon_verdicts import LIST_LIMIT
from assets.node_lists import exclude_option, safe_names
from assets.report import palette
from assets.report.actions import pays
from assets.report.addresses import of_node
from assets.report.advice import advise
from assets.report.blocks import Block, Figure, Multiples, Section, Table, Text, note, section
from assets.report.charts import INK, Spec, at, figure, hover, labelled, layer
from assets.report.numbers import UNKNOWN, chance, duration, gpus, moment, printable, share, short, whole
from assets.report.queries import Own, Row
from assets.report.tables import Col, interval, table
from assets.report.wording import plural, sentence

POPULATIONS = {
    "all": "All large attempts",
    "all_without_lemon_failures": "The same, had lemons failed none",
    "with_lemon_node": "Attempts on at least one lemon",
    "without_lemon_node": "Attempts on no lemon",
}
SIGNALS = {
    "excl_jobid_count": "jobs that exclude the node",
    "xid_cnt": "different Xid codes",
    "tickets": "repair tickets",
    "out_count": "times out of service by faults",
    "multi_node_node_fails": "failures of jobs on several nodes",
    "single_node_node_fails": "failures of jobs on it alone",
    "single_node_node_failure_rate": "share of jobs on it alone that failed",
}


def _evidence(row: Row) -> str:
    said = [
        f"{moment(incident['failed_at'])} {printable(incident['label'])}"
        for incident in row["last_incidents"] or []
        if incident["failed_at"].date() >= row["window_start_date"]
    ]
    said += [
        f"ticket {printable(ticket['ticket_id'], 24)}: {printable(ticket['component'], 24)}"
        for ticket in row["last_tickets"] or []
    ]
    return "; ".join(said) or "none beside the counts"


SAVED = "saved_gpu_hours_per_month"
NODES = (
    Col("#Rank", "rank", whole, unknown="not ranked"),
    Col("Node", "node_name"),
    Col("Verdict", "verdict"),
    Col("#Probability", "posterior_probability", chance),
    Col("#Failures per 1,000 node-days ({level})", "rate", short, limits="rate", unknown="not estimated"),
    Col("#Taken out saves, GPU-hours a month", SAVED, short, limits=SAVED, unknown="cannot tell"),
    Col("#Gives up, GPU-hours a month", "given_up_gpu_hours_per_month", short, detail=pays),
    Col("Reasons", lambda row: printable(row["reasons"], 500)),
    Col("Evidence", _evidence),
)
ROOT_CAUSES = (
    Col("Root cause", "root_cause"),
    Col("#Lemons", "node_count", whole),
    Col("#Share", "ratio", share),
)
EFFECTS = (
    Col("Attempts", lambda row: POPULATIONS.get(row["population"], printable(row["population"]))),
    Col("#Failed", "failure_count", whole),
    Col("#Attempts", "attempt_count", whole),
    Col("#Share", "failure_ratio", share),
    interval("failure_ratio", share),
)


def lemons(own: Own) -> Section:
    """Build the section on lemon nodes."""
    title = "Lemon nodes: those that fail far more often than the rest"
    places = {"lemon": 0, "watch": 1}
    judged = [row for row in own.rows("nodes") if row["verdict"]]
    judged.sort(key=lambda row: (places.get(row["verdict"], 2), row["rank"] or inf, -(row["event_count"] or 0)))
    if not judged:
        said = "There is no accounting of this cluster's nodes, so the data cannot tell which of them are lemons."
        return section("lemons", title, note(said))
    verdicts = Counter(row["verdict"] for row in judged)
    return section(
        "lemons",
        title,
        _found(judged, verdicts),
        _signal_figures(own.rows("lemon_signals")),
        table(
            "Nodes by how surely they are lemons",
            judged,
            NODES,
            f"All {plural(len(judged), 'node')}: every lemon, then those to watch, then by rank. The probability is "
            "that of failing at least three times as often as normal nodes; a list ends where "
            f"{share(LIST_LIMIT)} of its names are expected to be wrong. Rates are drawn towards the node's group. A "
            "node saves its excess of failures, each at what its own jobs would lose.",
            is_collapsed=not verdicts["lemon"] and not verdicts["watch"],
        ),
        exclude_table([row["node_name"] for row in judged if row["verdict"] == "lemon"]),
        table(
            "What was wrong with the lemons",
            _root_causes(judged),
            ROOT_CAUSES,
            "The component that most repair tickets of a lemon name, as in the paper's table II.",
        ),
        _signals(own.rows("lemon_signals")),
        _effects(own.rows("lemon_effects")),
        _lists(own.rows("lemon_lists")),
    )


def _found(judged: list[Row], verdicts: Counter[str]) -> Text:
    first = judged[0]
    failures, node_days = (sum(row[name] or 0 for row in judged) for name in ("event_count", "exposure"))
    days = f"{min(row['window_start_date'] for row in judged)} to {max(row['window_end_date'] for row in judged)}"
    in_use = f"{short(node_days)} node-days in use"
    rests_on = f"{days}, {plural(failures, 'failure')} of known culprit in {in_use}"
    others = (
        f"{whole(verdicts['watch'])} to watch, {whole(verdicts['ok'])} ok, "
        f"{whole(verdicts['not enough data'])} without enough data."
    )
    refusal = next((row["note"] for row in judged if row["note"]), None)
    if refusal:
        if refusal.count("failures of nodes"):
            rests_on = f"{days}, each an incident of known culprit, by its probability, in {in_use}"
        return note(f"The data cannot tell: {printable(refusal, 200)} ({rests_on}). {others}")
    said = f"{plural(verdicts['lemon'], 'lemon')} among {plural(len(judged), 'node')}"
    ratios = [row["false_discovery_ratio"] for row in judged if row["verdict"] == "lemon"]
    wrong = max((ratio for ratio in ratios if ratio is not None), default=None)
    said += "" if wrong is None else f"; {share(wrong)} of these names are expected to be wrong"
    said += f" ({rests_on}). {others}"
    if first["fleet_rate"] is not None:
        said += f" Normal nodes fail {short(first['fleet_rate'])} times per {whole(1000)} node-days in use."
    return Text(said, "warning" if verdicts["lemon"] else "good")


def _root_causes(judged: list[Row]) -> list[Row]:
    # An unknown one stands with its reason, a component without the tickets that name it.
    named = [row["root_cause"] for row in judged if row["verdict"] == "lemon"]
    counts = Counter(cause if cause.startswith("unknown") else cause.partition(" (")[0] for cause in named)
    return [
        {"root_cause": cause, "node_count": count, "ratio": count / len(named)}
        for cause, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    ]


def exclude_table(names: list[str]) -> Table | None:
    """Write the line for Slurm; a name that a shell or Slurm would read as something else stays out of it."""
    line, odd = exclude_option(names), len(names) - len(safe_names(names))
    left_out = f"{plural(odd, 'name')} cannot stand on a command line and {'is' if odd == 1 else 'are'} left out."
    heading, without = "Leaves the lemons out of a job", "no name can be given to Slurm"
    column = Col(heading, "line", str, unknown=without, is_code=bool(line))
    return table("Ready for sbatch and srun", [{"line": line}] if names else [], [column], left_out if odd else "")


def gpus_and_more(count: int | None) -> str:
    """Name the size from which a job is called large.

    >>> gpus_and_more(512)
    '512 GPUs and more'
    """
    return "unknown size" if count is None else f"{gpus(count)} and more"


def _effects(rows: list[Row]) -> Block | None:
    if not any(row["attempt_count"] for row in rows):
        why = next((row["note"] for row in rows if row["note"]), "no large attempt ended")
        return note(f"What lemons do to large jobs cannot be told: {printable(why, 200)}.")
    large = gpus_and_more(rows[0]["large_gpu_count"])
    return table(
        f"Failed attempts of {large}, with lemons and without",
        rows,
        EFFECTS,
        f"Attempts of {large}, over the days on which the lemons were found, which flatters the list; the table after "
        "this one judges lists by the days that followed."
        + (f" {sentence(printable(rows[0]['note'], 200))}" if rows[0]["note"] else ""),
    )


def _limited(heading: str, name: str, why_not: str) -> Col:
    return Col(heading, name, share, limits=name, unknown=why_not)


def _lists(rows: list[Row]) -> Block | None:
    judged = [row for row in rows if row["window_end_date"] is not None]
    if not judged:
        why = next((row["note"] for row in rows if row["note"]), "no list was made")
        return note(f"Whether lists of the past were right cannot be told: {printable(why, 200)}.")

    def nobody(row: Row) -> str:
        return f"nobody: {printable(row['note'], 160)}" if row["method"] == "not_ranked" and row["note"] else ""

    large = gpus_and_more(judged[0]["large_gpu_count"])
    return table(
        "Lists of the past, judged by the days that followed",
        judged,
        (
            Col("List made on", "window_end_date", str, detail=nobody),
            Col("Judged until", "judged_end_date", str),
            Col("#Named", "named_count", whole),
            Col("#Proved bad", "bad_count", whole, detail=lambda row: f"of {whole(row['judged_count'])}"),
            _limited("#Precision", "precision", "nobody was named"),
            _limited("#Recall", "recall", "none proved bad"),
            Col("#Lift", "lift", short, unknown="not estimated"),
            Col("#GPU-hours avoidable", "lost_gpu_hours_avoidable", short, limits="lost_gpu_hours_avoidable"),
            _limited(f"#Failed jobs of {large}", "large_job_failure_ratio", "no such job"),
            _limited("#Without the named", "large_job_failure_ratio_without_lemons", "no such job"),
        ),
        "Precision: named nodes that proved bad. Recall: bad nodes that had been named. Lift: precision over the share "
        "of bad nodes among all. A node proves bad when its failures in that time have a probability of at most 1% at "
        "the rate of normal nodes. Small print: limits at {level}.",
    )


def _signal_figures(steps: list[Row]) -> Multiples | None:
    drawn = [_signal_figure(name, own) for name in SIGNALS if (own := _steps(steps, name)) and own[-1]["largest"]]
    reading = (
        "How the signals spread over the nodes: a line that is near 100% on the left has few nodes with large values. "
        "Dots: nodes called lemons, by name. Signals that are unknown, or 0 at every node, have no figure."
    )
    return Multiples("How the signals spread over the nodes", tuple(drawn), reading) if drawn else None


def _steps(steps: list[Row], name: str) -> list[Row]:
    return [step for step in steps if step["signal"] == name]


def _signals(steps: list[Row]) -> Table | Text | None:
    if not steps:
        return note("No signal of any node is known.")
    return table(
        "Signals of the nodes",
        [next(iter(_steps(steps, name)), {"signal": name}) for name in SIGNALS],
        SIGNAL_COLUMNS,
        "Over the days before the last one that the configuration asks for, 28 by default. 90% and 99% of the nodes "
        "have at most the value given. A node stands out above the 99% value and with 2 or more, or from a configured "
        "limit on; one signal alone makes no lemon.",
    )


def _signal_value(heading: str, name: str) -> Col:
    return Col(heading, lambda row: (share if row["signal"].endswith("_rate") else short)(row.get(name)))


def _signal_limit(row: Row) -> str:
    if "known_count" not in row:
        return "no source tells"
    limit = row["configured_limit"]
    return "the fleet's 99%" if limit is None else f"{short(limit)} (configured)"


SIGNAL_COLUMNS = (
    Col("Signal", lambda row: SIGNALS[row["signal"]], detail="signal"),
    Col("#Nodes known", lambda row: whole(row.get("known_count", 0))),
    _signal_value("#Median", "median_value"),
    _signal_value("#90% of nodes", "value_90"),
    _signal_value("#99% of nodes", "value_99"),
    _signal_value("#Largest", "largest"),
    Col("Limit", _signal_limit),
    Col("#Nodes above", lambda row: whole(row["above_count"]) if "above_count" in row else UNKNOWN),
)


def _signal_figure(name: str, steps: list[Row]) -> Figure:
    top, chosen = steps[-1]["value"] or 1.0, [2 * (steps[-1]["value"] or 1.0)]
    # Names have room beside each other, those of the largest values first.
    for step in reversed(steps):
        if step["lemon_count"] and 0.3 * top < step["value"] < chosen[-1] - 0.35 * top:
            chosen.append(step["value"])
    drawn = [
        {
            "value": step["value"],
            "percent": 100 * step["at_most_ratio"],
            "nodes": step["node_count"],
            "names": _names(step["lemon_names"]),
            "written": _names(step["lemon_names"]) if step["value"] in chosen[1:] else "",
            "text": f"{short(step['value'])} at {plural(step['node_count'], 'node')}, "
            f"{plural(step['lemon_count'], 'lemon')} among them",
        }
        for step in steps
    ]
    marked = [f"{_names(step['lemon_names'])} at {short(step['value'])}" for step in steps if step["lemon_count"]]
    x = {"scale": {"domain": [0, 1.25 * top]}, "title": None, "axis": {"tickCount": 5, "grid": False}}
    y = {"scale": {"domain": [0, 112]}, "title": "nodes (%)", "axis": {"values": [0, 50, 100]}}
    place: Spec = {"x": at("value", x), "y": at("percent", y)}
    tooltip, named = hover(text="value", names="lemons"), "datum.names != ''"
    return figure(
        f"lemon-signal-{name}",
        SIGNALS[name],
        f"Share of the nodes with at most so many: {SIGNALS[name]}. Lemons: {'; '.join(marked) or 'none'}. The table "
        "below holds median, quantiles and limit.",
        drawn,
        {"value": "Value", "percent": "Nodes with at most so much (%)", "nodes": "Nodes", "names": "Lemons"},
        [
            layer("line", interpolate="step-after", strokeWidth=2, color=palette.GPU_TIME, **place),
            layer("point", filled=True, size=60, opacity=0, tooltip=tooltip, **place),
            layer("point", where=named, filled=True, size=80, stroke=INK, color=palette.MEASURED, opacity=1,
                  tooltip=tooltip, **place),
            *labelled("written", where=named, dy=-12, **place),
        ],
        120,
    )  # fmt: skip


def _names(names: list[str] | None) -> str:
    shown = ", ".join(printable(name, 16) for name in (names or [])[:1])
    return shown + (f" +{len(names) - 1}" if names and len(names) > 1 else "")


def _incidents(row: Row) -> str:
    if not row["incident_count"]:
        return ""
    return f"{plural(row['failure_count'], 'attempt')}, last {moment(row['last_failed_at'])[:10]}"


def _causes(row: Row) -> str:
    return ", ".join(f"{cause['label']} ({cause['count']})" for cause in row["causes"] or []) or "none blamed on it"


def _outages(heading: str, kind: str) -> Col:
    count, hours = f"{kind}_outage_count", f"{kind}_outage_hours"
    return Col(heading, count, whole, detail=lambda row: duration(row[hours]) if row[count] else "")


FAILED = (
    Col("Node", "node_name", link=of_node),
    Col("#Incidents", "incident_count", whole, detail=_incidents),
    Col("Causes", _causes),
    _outages("#Outages by faults", "fault"),
    _outages("#Planned outages", "planned"),
    Col("#Lost GPU-hours", lambda row: short(row["lost_gpu_hours"]) if row["incident_count"] else "0"),
    Col("What to do", advise),
)
RECORDED = (
    Col("Node", "node_name"),
    Col("#Recorded failures", "recorded_count", whole),
    *FAILED[3:5],
    Col("What to do", advise),
)


def nodes(own: Own) -> Section:
    """Build the section on nodes that failed or were out of service."""
    has_records_alone = own.cluster["has_records_alone"]
    reasons = ("incident_count", "fault_outage_count", "planned_outage_count")
    listed = [row for row in own.rows("nodes") if any(row[name] for name in reasons) or row["verdict"] == "lemon"]
    return section(
        "nodes",
        "Nodes with failures or outages",
        _about_outages(listed) or "No node outage was recorded.",
        table(
            "Nodes with the most outages" if has_records_alone else "Nodes with the most incidents and outages",
            listed,
            RECORDED if has_records_alone else FAILED,
            f"All {plural(len(listed), 'node')} with a recorded outage. Records that overlap are one outage."
            if has_records_alone
            else f"All {plural(len(listed), 'node')} with a failure or an outage, most incidents first. An incident "
            "counts for the node that a log or the evidence names; one without a culprit, one of something that many "
            "nodes share, and evidence that is more likely a coincidence, count for none.",
        ),
    )


def _about_outages(listed: list[Row]) -> str:
    said = []
    for kind, words in (("fault", "not planned"), ("planned", "planned")):
        out = [row for row in listed if row[f"{kind}_outage_count"]]
        count, hours = (sum(row[f"{kind}_outage_{name}"] for row in out) for name in ("count", "hours"))
        if out:
            said.append(f"{plural(count, 'outage')} {words} on {plural(len(out), 'node')} ({short(hours)} node-hours).")
    return " ".join(said)
