"""The next step for a node, in words: from the lemon list, open outages and repairs that did not hold.

It counts incidents, not attempts, and never calls a node bad because of one incident.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from assets.report.numbers import moment, printable
from assets.report.queries import Row
from assets.report.wording import plural

NEXT_STEP = {
    "gpu_unavailable": "power-cycle the node and reseat the GPU; exchange it if it is lost again",
    "gpu_memory": "read the ECC and row-remap counters, run the DCGM memory test; exchange the GPU if a remap failed",
    "gpu_driver_firmware": "compare driver and firmware with the fleet; a reset clears it, an upgrade ends it",
    "gpu_nvlink": "read the NVLink error counters, check the fabric manager and the NVSwitch log",
    "ib_link": "clean or exchange cable and optics of the port, read its error counters on the switch side",
    "eth_link": "check cable, optics and the switch port",
    "filesystem_mount": "look at the storage back end and the front-end network first; then at stuck clients here",
    "block_device": "read the drive's SMART data; exchange the drive",
    "main_memory": "find the DIMM in the EDAC or BMC log and exchange it",
    "pcie": "reseat the card, check link width and speed, read the AER counters",
    "host_hardware": "read the BMC event log: power, fans, temperature, CPU",
    "system_services": "read the service's log around the failure; look for a change of the node image",
    "nccl_timeout": "run a collective test that includes the node and one that leaves it out",
    "node_fail_unattributed": "check power, the BMC event log and the network port: nothing else was seen",
}
RECENT_DAYS = 30
"""An older incident, with none since, needs no action."""


def reason_given(node: Row, outage: Literal["open", "last_fault"], limit: int) -> str:
    """Quote the reason given for an outage, and its source; empty if there is none.

    >>> reason_given({"open_reason": "bad link, ticket 12", "open_source": "slurmctld"}, "open", 80)
    'reason given in Slurm: "bad link, ticket 12"'
    """
    reason = node.get(f"{outage}_reason")
    if not reason:
        return ""
    where = "recorded" if node[f"{outage}_source"] == "failures" else "given in Slurm"
    return f'reason {where}: "{printable(reason, limit)}"'


def advise(node: Row) -> str:
    """Return what an operator could do about a node, a row of the query `nodes`.

    Only a lemon of the lemon list is to be drained, so that the advice never contradicts the list.
    """
    said = [*_about_outage(node), *_about_incidents(node)]
    if not said and node["fault_outage_count"]:
        last = f"; last {given}" if (given := reason_given(node, "last_fault", 60)) else ""
        times = "once" if node["fault_outage_count"] == 1 else f"{node['fault_outage_count']} times"
        # Without accounting there is no job to blame.
        blamed = " without a job blamed on it" if node.get("has_accounting", True) else ""
        tickets = f", {named}" if (named := _tickets(node)) else ""
        said = [f"Taken out {times}{blamed}{last}{tickets}."]
    if not said and node.get("recorded_count") and not node["planned_outage_count"]:
        recorded = plural(node["recorded_count"], "recorded failure")
        said = [f"{recorded}, which show{'s' if node['recorded_count'] == 1 else ''} no outage of the node."]
    return " ".join(said) or "Planned work only: nothing to do."


def _about_outage(node: Row) -> list[str]:
    if node.get("open_since") is None or node.get("open_is_planned"):
        return []
    reason = f" ({given})" if (given := reason_given(node, "open", 60)) else ""
    said = "repair, then return it" if node.get("needs_repair", True) else "a ticket covers its repair"
    return [f"Still out of service since {moment(node['open_since'])}{reason}: {said}."]


def _about_incidents(node: Row) -> list[str]:
    causes: Sequence[Row] = node.get("causes") or []
    if not causes:
        is_lemon = node.get("verdict") == "lemon"
        return ["A lemon by failures attributed to it. Drain; read the evidence."] if is_lemon else []
    worst, total = causes[0], sum(cause["count"] for cause in causes)
    step = NEXT_STEP.get(worst["category"], "read the evidence by hand: no rule knows its cause")
    if node.get("verdict") == "lemon":
        kinds = f"{worst['label']} ({worst['count']})" if worst["count"] > 1 else "each of another kind"
        return [f"A lemon: {plural(total, 'incident')}, {kinds}. Drain; {step}."]
    days = node.get("days_since_last_incident")
    is_recent = days is not None and days <= RECENT_DAYS
    if node.get("relapsed_at") is not None and is_recent:
        relapsed_step = NEXT_STEP.get(node["relapsed_category"], step)
        is_ok = node.get("verdict") == "ok"
        return [
            f"{node['relapsed_label']} came back {moment(node['relapsed_at'])[:10]} after an outage that ended "
            f"{moment(node['returned_at'])[:10]}: that repair did not hold. "
            + ("No more than chance explains: it stays in service; at its next outage" if is_ok else "When it is free")
            + f": {relapsed_step}."
        ]
    return [_about_few_incidents(node, total, step, is_recent=is_recent)]


def _about_few_incidents(node: Row, total: int, step: str, *, is_recent: bool) -> str:
    """Advise on a node with no more incidents than chance explains: its outages may be a pattern."""
    signs, days, days_up = _other_signs(node), node.get("days_since_last_incident"), node.get("days_since_last_fault")
    is_sick = is_recent or (days_up is not None and days_up <= RECENT_DAYS)
    counted = "One incident" if total == 1 else f"{plural(total, 'incident')}, no more than chance explains"
    if is_sick and node["fault_outage_count"] >= 2 * total:
        return f"{counted}, but {signs}: when it is free, {step}."
    if not is_recent:
        ago = f"{plural(int(days), 'day')} ago" if days is not None else "at an unknown time"
        return f"The last incident was {ago}: nothing to do."
    if signs:
        return f"{counted}, and {signs}: {f'if it comes back, {step}' if total == 1 else 'watch it'}."
    return f"One incident is no pattern yet: if it comes back, {step}." if total == 1 else f"{counted}: watch it."


def _other_signs(node: Row) -> str:
    """Count the outages and tickets of a node; leave out a single outage, which usually belongs to the incident."""
    given = "" if _about_outage(node) else reason_given(node, "last_fault", 60)
    count, last = node["fault_outage_count"], f" (last {given})" if given else ""
    return " and ".join(filter(None, (f"{count} unplanned outages{last}" if count > 1 else "", _tickets(node))))


def _tickets(node: Row) -> str:
    """Count the last tickets of a node, and name their components."""
    tickets: Sequence[Row] = node.get("last_tickets") or []
    about = ", ".join(printable(ticket["component"] or "unknown", 20) for ticket in tickets)
    return f"{plural(len(tickets), 'ticket')} ({about})" if tickets else ""
