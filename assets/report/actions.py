"""The actions for a cluster, in order: open outages, lemons, repairs that did not hold, grown causes, silent logs.

Everything is counted in incidents, and only the lemon list takes a node out of service. The report, its summary and
`faultline lemons` share these words.
"""

from __future__ import annotations

import datetime as dt
import math
import shlex
from dataclasses import dataclass, replace
from typing import Literal

from assets.log_kinds import IN_SERVICE, LOG_KINDS, SILENT_DAYS, parts_of
from assets.node_lists import exclude_option, fold, safe_names
from assets.report.advice import NEXT_STEP, RECENT_DAYS, reason_given
from assets.report.numbers import chance, confidence, duration, moment, printable, short, whole
from assets.report.queries import ClusterData, Row
from assets.report.wording import plural, reasons_in_words, span

Kind = Literal["outage", "lemon", "relapse", "cause", "source"]

DAYS_PER_MONTH = 30.0
MAX_SINGLE_OUTAGES = 3
"""More open outages than this are one action, so that they do not hide the others."""
CANNOT_TELL = "cannot tell"
SAVED = "saved_gpu_hours_per_month"


@dataclass(frozen=True)
class Saving:
    """GPU-hours that an action would save in a month of 30 days; all None where the data cannot tell."""

    gpu_hours: float | None = None
    low: float | None = None
    high: float | None = None
    """The limits cover the uncertainty of the rate, not that of the loss of one incident."""
    confidence_level: float | None = None
    note: str = ""
    """Why the saving is unknown, or what it costs; empty if there is nothing to add."""

    @property
    def amount(self) -> str:
        """The saving with its limits."""
        if self.gpu_hours is None:
            return CANNOT_TELL
        limits = f"{confidence(self.confidence_level)}: {span(self.low, self.high)}"
        return f"{short(self.gpu_hours)} GPU-hours a month ({limits})"

    def __str__(self) -> str:
        """Write the saving with its note."""
        return (": " if self.gpu_hours is None else "; ").join(part for part in (self.amount, self.note) if part)


@dataclass(frozen=True)
class Action:
    """One thing to do."""

    kind: Kind
    title: str
    """What to do, in one line."""
    reason: str
    """The evidence for it."""
    node_names: tuple[str, ...] = ()
    """Empty for an action on the whole cluster."""
    incident_count: float | None = None
    """Incidents behind the action, counted over `days`; None if there are none."""
    days: float | None = None
    saving: Saving = Saving()
    step: tuple[str, ...] = ()
    """Alternating prose and commands; empty if no command helps, or if the name is not safe on a command line."""
    exclude: str = ""
    """Slurm's option that keeps one job off the node; empty in the same cases."""
    as_of: str = ""
    """The end of the data behind the action."""

    @property
    def rests_on(self) -> str:
        """The number of incidents and days behind the action, in words; empty if there is none."""
        if not self.incident_count:
            return ""
        counted = plural(self.incident_count, "incident")
        if self.days is None:
            return counted
        return f"{counted} in {plural(round(self.days), 'day') if self.days >= 0.5 else 'less than a day'}"

    @property
    def command(self) -> str:
        """The first command of the step; empty without one."""
        return self.step[1] if len(self.step) > 1 else ""

    @property
    def takes_out(self) -> bool:
        """Whether it takes a node out of service."""
        return self.kind == "lemon"


def actions_of(data: ClusterData) -> list[Action]:
    """Return the actions for a cluster, the most urgent first."""
    nodes = data.rows("nodes")
    lemons = sorted(data.rows("nodes", verdict="lemon"), key=lambda row: (-(row[SAVED] or 0.0), row["rank"]))
    broken = sorted((row for row in nodes if row["needs_repair"]), key=lambda row: row["open_since"])
    to_repair = [row for row in broken if row["verdict"] != "lemon"]
    groups = [to_repair] if len(to_repair) > MAX_SINGLE_OUTAGES else [[row] for row in to_repair]
    days, until = data.cluster["study_days"], data.cluster["data_through_at"] or data.cluster["last_at"]
    tickets = "no open ticket shows a repair" if data.cluster["has_tickets"] else "no repair tickets were given"
    found = [*(_repair(rows, days, tickets) for rows in groups), *map(_drain, lemons)]
    found += [_repair_again(row, days) for row in nodes if _has_relapsed(row)]
    found = [*_about_causes(data, days, found), *_about_sources(data)]
    return [replace(action, as_of=moment(until)) for action in found]


def saving_of(node: Row) -> Saving:
    """Return what taking a node out saves, what each day out costs, and the repair time below which it pays.

    >>> saved = {"saved_gpu_hours_per_month": 284, "saved_gpu_hours_per_month_low": 110, "break_even_days": 1.9}
    >>> cost = {"saved_gpu_hours_per_month_high": 500, "given_up_gpu_hours_per_month": 4480, "confidence_level": 0.9}
    >>> str(saving_of(saved | cost)).partition(" node; ")[2]
    'each day out costs 149 GPU-hours; pays back within a month if repaired in under 1.9 days'
    """
    value, low, high = (node[f"{SAVED}{end}"] for end in ("", "_low", "_high"))
    if value is None:
        return Saving(note=node["saving_note"] or "its rate is not estimated")
    cost = f"each day out costs {short(node['given_up_gpu_hours_per_month'] / DAYS_PER_MONTH)} GPU-hours"
    note = "; ".join(filter(None, ("failures on it cost that much more than on a normal node", cost, pays(node))))
    return Saving(value, low, high, node["confidence_level"], note)


def pays(node: Row) -> str:
    """Write the repair time below which taking a node out pays; empty if unknown."""
    limit = pays_below(node)
    return f"pays back within a month if repaired in under {limit}" if limit else ""


def pays_below(node: Row) -> str:
    """Return the repair time below which taking a node out pays; empty if unknown."""
    days = node["break_even_days"]
    if days is None:
        return ""
    return f"{short(days, 2)} days" if days >= 1 else duration(24 * days)


def lemon_words(node: Row) -> str:
    """Write the result of the lemon list for a node: verdict, probability, rate with limits.

    >>> lemon_words({"verdict": "lemon", "posterior_probability": 0.989, "rate": 110.0, "rate_low": 63.7,
    ...     "rate_high": 149.0, "confidence_level": 0.9})
    'lemon, probability 98.9%; 110 failures per 1,000 node-days [63.7, 149], 90%'
    """
    probability = node["posterior_probability"]
    words = node["verdict"] if probability is None else f"{node['verdict']}, probability {chance(probability)}"
    if node["rate"] is None:
        return words
    limits = f"[{short(node['rate_low'])}, {short(node['rate_high'])}], {confidence(node['confidence_level'])}"
    return f"{words}; {short(node['rate'])} failures per 1,000 node-days {limits}"


def drain_command(node_name: str, reason: str) -> str:
    """Return the command that drains a node; empty for a name that Slurm would misread.

    >>> drain_command("gpu009", "lemon: 6 incidents in 56 days")
    "scontrol update nodename=gpu009 state=drain reason='lemon: 6 incidents in 56 days'"
    >>> drain_command("gpu[1-99]", "lemon"), drain_command("$(reboot)", "lemon")
    ('', '')
    """
    if not safe_names([node_name]):
        return ""
    return f"scontrol update nodename={node_name} state=drain reason={shlex.quote(printable(reason, 120))}"


def _typed(command: str) -> tuple[str, ...]:
    return ("", command) if command else ()


def _repair(nodes: list[Row], days: float | None, tickets: str) -> Action:
    first, names = nodes[0], [node["node_name"] for node in nodes]
    what, longest = printable(names[0]), ""
    if len(names) > 1:
        what, longest = plural(len(names), "node"), f", the longest {what}"
    said = f"; {reason}" if (reason := reason_given(first, "open", 80)) else ""
    gpus = sum(node["gpu_count"] or 0 for node in nodes)
    gives_back = f"repairing it returns up to {whole(DAYS_PER_MONTH * 24 * gpus)} GPU-hours a month of capacity"
    safe = safe_names(names)
    return Action(
        "outage",
        f"Repair {what}, then return to service",
        f"Out of service{longest} since {moment(first['open_since'])} UTC{said}; {tickets}",
        tuple(names),
        float(sum(node["incident_count"] or 0 for node in nodes)),
        days,
        Saving(note=f"an outage itself loses no work; {gives_back if gpus else 'its GPUs are unknown'}"),
        _typed(f"scontrol update nodename={fold(safe)} state=resume" if safe else ""),
    )


def _drain(node: Row) -> Action:
    name, count, days = node["node_name"], node["event_count"], node["window_days"]
    counted = f"{plural(count, 'incident')} in {plural(days, 'day')}"
    is_out = f"; out of service since {moment(node['open_since'])} UTC" if node["open_since"] is not None else ""
    return Action(
        "lemon",
        f"Keep {printable(name)} out until it is repaired" if is_out else f"Take out and repair {printable(name)}",
        f"{lemon_words(node)}; {printable(reasons_in_words(node['reasons']), 500)}{is_out}",
        (name,),
        count,
        float(days),
        saving_of(node),
        _typed(drain_command(name, f"lemon: {counted} to {node['window_end_date']}")),
        exclude_option([name]) or "",
    )


def _has_relapsed(node: Row) -> bool:
    """Return whether a recent repair did not hold, of nodes without a verdict of the lemon list."""
    is_recent = node["days_since_relapse"] is not None and node["days_since_relapse"] <= RECENT_DAYS
    return is_recent and node["verdict"] not in {"lemon", "ok"} and node["open_since"] is None


def _repair_again(node: Row, days: float | None) -> Action:
    name = node["node_name"]
    step = NEXT_STEP.get(node["relapsed_category"], "read the evidence by hand: no rule knows its cause")
    back = f"{printable(node['relapsed_label'])} came back {node['relapsed_at']:%Y-%m-%d}"
    return Action(
        "relapse",
        f"Repair {printable(name)} again when it is free: {step}",
        f"{back} after an outage that ended {node['returned_at']:%Y-%m-%d}: that repair did not hold",
        (name,),
        float(node["incident_count"]),
        days,
        saving_of(node),
        _typed(drain_command(name, f"{back} after its repair")),
        exclude_option([name]) or "",
    )


def _grown(series: list[Row]) -> list[Row]:
    """Select causes with a surely higher rate since their last change; all causes together if no single one has."""
    last = {row["failure_category"]: row for row in series if row["changed_at"] is not None}
    grown = [row for row in last.values() if (row["ratio_low"] or 0) > 1]
    named = [row for row in grown if row["failure_category"] != "all"]
    # A cause that was not seen before the change has no ratio, only a lower limit.
    return sorted(named or grown, key=lambda row: -(row["ratio"] or math.inf))


def _about_causes(data: ClusterData, days: float, others: list[Action]) -> list[Action]:
    """Add causes that grew. All actions together save no more than the cluster loses in a month."""
    incidents, found = {row["failure_category"]: row for row in data.rows("incidents")}, list(others)
    for row in _grown(data.rows("rate_changes")):
        saving, loss = Saving(note="no loss of an incident is known"), incidents.get(row["failure_category"], {})
        if loss.get("incident_loss_gpu_hours") is not None:
            left = incidents["all"]["lost_gpu_hours"] / days * DAYS_PER_MONTH
            left = max(0.0, left - sum(act.saving.gpu_hours or 0.0 for act in found))
            saving = _saved_at_former_rate(row, loss["incident_loss_gpu_hours"], days, left)
        found.append(_look_for_cause(row, saving, days))
    return found


def _look_for_cause(cause: Row, saving: Saving, days: float | None) -> Action:
    is_all = cause["failure_category"] == "all"
    label = "All failures together" if is_all else printable(cause["label"])
    step = NEXT_STEP.get(cause["failure_category"], "look for what changed on that day")
    sure = confidence(cause["confidence_level"])
    if cause["ratio"] is None:
        times = f"not seen before, now at least {short(cause['ratio_low'])} times as often ({sure})"
    else:
        times = f"{short(cause['ratio'])} times as often ({sure}: {span(cause['ratio_low'], cause['ratio_high'])})"
    annotation = f"; noted near that day: {printable(cause['annotation'], 120)}" if cause["annotation"] else ""
    return Action(
        "cause",
        f"{label}: look for the cause in the whole fleet, not in a node; {step}",
        f"{times} since {cause['changed_at']:%Y-%m-%d}: "
        f"{short(cause['rate_before'])} before, {short(cause['rate_after'])} after, per 1,000 node-days{annotation}",
        incident_count=cause["event_count"],
        days=days,
        saving=saving,
    )


def _saved_at_former_rate(cause: Row, lost: float, days: float, left: float) -> Saving:
    """Return the saving at the rate before the change, with limits from those of the ratio of the rates.

    Without a ratio the rate before was zero: everything would be saved. `left` is what other actions do not save.
    """
    monthly = cause["rate_after"] / 1000 * cause["exposure"] / days * DAYS_PER_MONTH * lost
    value, low, high = (
        min(left, monthly * (1 - (1 / ratio if ratio else 0)))
        for ratio in (cause["ratio"], cause["ratio_low"], cause["ratio_high"])
    )
    note = "all that is lost in a month, less what the actions above save" if value == left else ""
    return Saving(value, low, high, cause["confidence_level"], note)


def _about_sources(data: ClusterData) -> list[Action]:
    """Ask for missing days of accounting, for missing logs, and for logs that ended.

    The log that would show most of what the evidence misses comes first: kernel messages, which every node has.
    Without accounting, ask for the time in service and for accounting: other logs show nothing without it.
    """
    if data.cluster["has_records_alone"]:
        accounting = _from_log(data, "sacct", "The jobs, and so the cost of failures, are unknown")
        return [accounting] if data.cluster["unit_days"] else [_time_in_service(data.cluster), accounting]
    cluster, said, asked = data.cluster, data.row("evidence_reach").get("statement"), []
    lacking = (log for log in LOG_KINDS.items() if log[1].flag and not cluster[log[1].flag] and log[1].weight != "note")
    missing = {kind: log.unknown_without.removesuffix(".") for kind, log in lacking}
    most = next((kind for kind in ("kernel", "health") if said and kind in missing), "")
    if most:
        why = f"Of all exports this would show most of what is missed: {said}. {missing.pop(most)}"
        asked.append(_from_log(data, most, why))
    if cluster["gap_days"]:
        gaps = duration(24 * cluster["gap_days"])
        why = f"{gaps} of the study period are in no export, and every rate leaves them out"
        asked.append(_from_log(data, "sacct", why, since=cluster["study_from_at"]))
    asked += [_from_log(data, kind, why) for kind, why in missing.items()]
    for row in data.rows("spans"):
        if LOG_KINDS[row["kind"]].is_continuous and (row["silent_days"] or 0) > SILENT_DAYS:
            why = f"It has nothing after {moment(row['to_at'])} UTC, {plural(int(row['silent_days']), 'day')} before "
            why += "the end of the study period"
            asked.append(_from_log(data, row["kind"], why, since=row["to_at"], days=row["silent_days"]))
    return asked


def _time_in_service(cluster: Row) -> Action:
    where = f"[[failures.in_service]] in {printable(cluster['cluster_id'])}/cluster.toml"
    return Action(
        "source",
        f"State the time in service: {where}",
        f"{IN_SERVICE.consequence.removesuffix('.')}. State how many units there were, from when and until when",
        saving=Saving(note="it saves nothing; it gives failures a rate"),
    )


def _from_log(
    data: ClusterData, kind: str, why: str, since: dt.datetime | None = None, days: float | None = None
) -> Action:
    """Ask for an export, or why a log has been silent for so many days."""
    missing = f"Export what is missing: {LOG_KINDS[kind].name.lower()}"
    return Action(
        "source",
        missing if days is None else f"Find out why the log `{printable(kind)}` is silent",
        why,
        days=days,
        saving=Saving(note="a log saves nothing; it makes failures explainable"),
        step=parts_of(LOG_KINDS[kind].step, f"{data.folder}/{kind}", moment(since)[:10] if since else data.first_day),
    )
