"""The facts about a node: what it is, its verdict, failures and outages, what to do, and its history."""

from __future__ import annotations

from assets.report.actions import lemon_words, saving_of
from assets.report.advice import advise
from assets.report.explained.failures import Part, line_of
from assets.report.numbers import day, duration, gpus, printable, share, short
from assets.report.queries import Row
from assets.report.tables import Col, second
from assets.report.wording import SIGNALS, number, plural, reasons_in_words

PLACES = ("rack", "switch", "nvlink_domain", "position")
OUTAGES = {"fault": ("outage by a fault", "outages by faults"), "planned": ("planned outage",)}
TIMELINE = (
    Col("Seen at (UTC)", "observed_at", second),
    Col("Until (UTC)", "until_at", second, unknown=""),
    Col("What", "kind"),
    Col("Cause", "label", unknown=""),
    Col("Text", "message", lambda text: printable(text, 160)),
    Col("File and line", lambda row: line_of(row) if row["source_path"] else ""),
)


def parts_of_node(node: Row) -> list[Part]:
    """Explain one node, a row of the query `nodes`."""
    places = [f"{place.replace('_', ' ')} {printable(node[place])}" for place in PLACES if node.get(place)]
    losses = f", {short(node['lost_gpu_hours'])} GPU-hours lost" if node["lost_gpu_hours"] else ""
    causes = blamed(node)
    failed = [f"{plural(node['incident_count'], 'incident')} in all records: {causes}{losses}"] if causes else []
    failed += [plural(node["recorded_count"], "recorded failure")] if node["recorded_count"] else []
    out = [
        f"{plural(node[f'{kind}_outage_count'], *name)} ({duration(node[f'{kind}_outage_hours'])})"
        for kind, name in OUTAGES.items()
        if node[f"{kind}_outage_count"]
    ]
    verdict = "its use is unknown" if node["verdict"] is None else lemon_words(node)
    if node["reasons"]:
        verdict += f". {printable(reasons_in_words(node['reasons']), 500)}"
        verdict += f" ({day(node['window_start_date'])} to {day(node['window_end_date'])})"
    parts = [
        ("Node", ", ".join([f"{printable(node['node_name'])} with {gpus(node['gpu_count'])}", *places])),
        ("Verdict", f"{verdict}."),
        ("Failures", f"{'; '.join(failed)}." if failed else "none known"),
        ("Outages", ", ".join(out) or "none known"),
        ("What to do", advise(node)),
    ]
    if node["verdict"] in {"lemon", "watch"}:
        parts.append(("Saved if taken out", str(saving_of(node))))
    known = {name: node[name] for name in SIGNALS if node.get(name) is not None}
    said = "; ".join(f"{SIGNALS[name]}: {(share if name.endswith('_rate') else number)(known[name])}" for name in known)
    if said:
        parts.append(("Signals", f"{plural(node['signal_days'], 'day')} to {day(node['window_end_date'])}: {said}"))
    return parts


def blamed(node: Row) -> str:
    """List the causes of the incidents of a node in all records, with their counts; empty if it has none."""
    return ", ".join(f"{cause['label']} ({cause['count']})" for cause in node["causes"] or [])
