"""What to do next about a node, in words: a first step per cause, stronger when the same fault came back.

It suggests where to look. It never calls a node bad on one failure.
"""

from __future__ import annotations

from collections.abc import Sequence

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
    "node_fail_unattributed": "heartbeat lost, nothing else seen: check power, the BMC event log, the network port",
}


def advise(node: Row) -> str:
    """Say what an operator could do about a node.

    Parameters
    ----------
    node
        A row of the `nodes` frame: failures by cause, outages planned and not.
    """
    said = [*_about_outage(node), *_about_failures(node.get("causes") or [])]
    if not said and node["fault_outage_count"]:
        said.append(_about_reason(node))
    return " ".join(said) or "Planned work only: nothing to do."


def _about_outage(node: Row) -> list[str]:
    if node.get("open_since") is None or node.get("open_is_planned"):
        return []
    reason = f" ({printable(node['open_reason'], 60)})" if node.get("open_reason") else ""
    return [f"Still out of service since {moment(node['open_since'])}{reason}: repair, then return it."]


def _about_failures(causes: Sequence[Row]) -> list[str]:
    if not causes:
        return []
    worst, total = causes[0], sum(each["count"] for each in causes)
    step = NEXT_STEP.get(worst["category"], "read the evidence by hand: no rule knows its cause")
    if total == 1:
        return [f"One failure is no pattern yet: {step}."]
    if worst["count"] == 1 and total == 2:
        return [
            "2 failures of different kinds, which may be chance: watch it; after another one drain it for diagnostics."
        ]
    if worst["count"] == 1:
        return [
            f"{plural(total, 'failure')}, each of another kind: drain, run all diagnostics, look for what they share."
        ]
    again = f"{worst['label']} came back" if total == worst["count"] else f"{worst['label']} most often"
    return [f"{plural(total, 'failure')}, {again} ({worst['count']}): drain; {step}."]


def _about_reason(node: Row) -> str:
    reason = f"; last reason: {printable(node['last_fault_reason'], 60)}" if node.get("last_fault_reason") else ""
    count = node["fault_outage_count"]
    return f"Taken out {'once' if count == 1 else f'{count} times'} without a job blamed on it{reason}."
