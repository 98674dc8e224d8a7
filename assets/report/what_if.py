"""Fields and sliders for the outlook of a planned run: their initial data and their markup.

The page computes with `templates/whatif_model.js`, whose formulas are those of `assets/model`; a test compares them.
"""

from __future__ import annotations

import math
from pathlib import Path
from shlex import quote
from typing import Any

from assets.model.incident_counts import weighted_interval
from assets.model.month_variation import DAYS_PER_MONTH, month_variation
from assets.model.run_outlook import RUN_COUNT
from assets.model.spares import USUAL_REPAIR_HOURS
from assets.report.addresses import anchor_of
from assets.report.numbers import DEFAULT_CONFIDENCE
from assets.report.queries import ClusterData, Row
from assets.report.wording import POPULATIONS, extrapolation

TEMPLATES = Path(__file__).parent / "templates"
GRID_MINUTES = (5, 15, 30, 60, 120, 240)
DEFAULTS = {"restart_minutes": 5.0, "write_minutes": 5.0, "planned_days": 30.0, "ettr_target": 0.9}
MAX_GPUS = 131_072
START_NODES = 128
"""Initial nodes of a run on a cluster that has only recorded failures."""


def start_of(data: ClusterData) -> Row:
    """Return the initial data of the sliders: the reference rate with its exposure, the machine, its settings."""
    months = data.rows("forecasts")
    plan = data.row("checkpoint_plans")
    recorded: Row = {"recorded_rate": None}
    if data.cluster["has_records_alone"]:
        # Records do not show how many nodes there are.
        # A rate per GPU or disk is not a rate per node.
        are_nodes = data.row("recorded", kind="all")["are_nodes"]
        rate_of_all = data.row("unit_rates", cause="all")["failures_per_1000_unit_days"]
        recorded = {"recorded_rate": rate_of_all if are_nodes else None}
        recorded |= {"gpu_count": START_NODES * data.cluster["gpus_per_node"], "gpu_node_count": START_NODES}
    rate = dict.fromkeys(("population", "has_enough_data", "failure_count", "failure_variance", "node_days", "note"))
    return {
        **data.cluster,
        **recorded,
        **rate,
        **data.row("rates", is_reference=True),
        "month_failure_counts": [month["month_failure_count"] for month in months],
        "month_node_days": [month["month_node_days"] for month in months],
        "largest_job_gpu_count": data.row("projections", is_largest_job=True).get("gpu_count"),
        **{name: plan.get(name) for name in DEFAULTS},
        **{name: data.row("repairs").get(name) for name in ("repair_count", "repair_hours")},
    }


def what_if(start: Row) -> Row:
    """Return what the block of a cluster shows, from the result of `start_of`."""
    data = what_if_data(start)
    command = f"faultline plan --cluster {quote(str(start['cluster_id']))}"
    anchor = anchor_of(start["cluster_id"])
    return start | {"data": data, "sliders": sliders_of(start) if data else [], "command": command, "anchor": anchor}


def what_if_script() -> str:
    """Return the script of the block: the formulas, then their connection to the form."""
    return "\n".join((TEMPLATES / name).read_text(encoding="utf-8") for name in ("whatif_model.js", "whatif.js"))


def what_if_styles() -> str:
    """Return the styles of the block."""
    return (TEMPLATES / "whatif.css").read_text(encoding="utf-8")


def what_if_data(row: Row) -> dict[str, Any] | None:
    """Return the data of the formulas; None if the GPUs of a node are unknown.

    Without a measured rate, `value`, `low` and `high` are None, and the reader has to enter a rate.
    """
    if not row.get("gpus_per_node") or not row.get("gpu_count"):
        return None
    rate: Row = dict.fromkeys(("value", "low", "high", "failure_count", "node_days", "month_variance"))
    rate |= {"dispersion": 1.0, "confidence_level": DEFAULT_CONFIDENCE, "month_concentration": 1.0}
    if row["failure_count"] is not None and row["node_days"] and row["has_enough_data"]:
        found = weighted_interval(row["failure_count"], row["failure_variance"], row["node_days"])
        rate |= {name: float(getattr(found, name)) for name in ("low", "high", "dispersion", "confidence_level")}
        rate |= {name: float(row[name]) for name in ("failure_count", "node_days")}
        months = month_variation(row["month_failure_counts"], row["month_node_days"], rate["dispersion"])
        rate |= {"month_variance": months.relative_variance, "month_concentration": months.concentration}
        if found.value > 0:
            rate["value"] = float(found.value)
    return {
        **rate,
        "population": POPULATIONS.get(row["population"], "no population"),
        "gpus_per_node": int(row["gpus_per_node"]),
        "gpu_count": int(row["gpu_count"]),
        "gpu_node_count": int(row["gpu_node_count"]),
        "largest_job_gpu_count": row["largest_job_gpu_count"],
        "extrapolation": extrapolation(math.inf, row["largest_job_gpu_count"]),
        "run_count": RUN_COUNT,
        "days_per_month": DAYS_PER_MONTH,
        "grid_minutes": list(GRID_MINUTES),
        "grid_gpus": sizes_of(row),
    }


def sizes_of(row: Row) -> list[int]:
    """List doublings of a node up to the cluster, and the cluster itself.

    >>> sizes_of({"gpus_per_node": 8, "gpu_count": 40})
    [8, 16, 32, 40]
    """
    node, whole = int(row["gpus_per_node"]), int(row["gpu_count"])
    return sorted({whole} | {node << step for step in range(whole.bit_length()) if node << step <= whole})


def sliders_of(row: Row) -> list[tuple[Any, ...]]:
    """Return each field: name, label, unit, least and greatest number, start, ends and steps of its slider.

    A field starts at the value of the cluster. The steps of a slider are equal in the logarithm; those of the GPUs
    double a node.
    """
    found = {name: DEFAULTS[name] if row[name] is None else row[name] for name in DEFAULTS}
    node, most = int(row["gpus_per_node"]), max(MAX_GPUS, int(row["gpu_count"]))
    doublings, repair = max(1, (MAX_GPUS // node).bit_length() - 1), row["repair_hours"] or USUAL_REPAIR_HOURS
    return [
        ("gpus", "GPUs", "", 1, most, row["gpu_count"], node, node << doublings, doublings),
        ("checkpoint", "Checkpoint every", "min", 0.01, 1e6, row["checkpoint_minutes"] or 60, 1, 1440, 60),
        ("write", "Writing one takes", "min", 0, 1e6, found["write_minutes"], 0.05, 30, 60),
        ("restart", "Restart takes", "min", 0, 1e6, found["restart_minutes"], 0.5, 60, 60),
        ("spares", "Spare nodes", "", 0, MAX_GPUS, 0, 0.5, 256, 9),
        ("queue", "Wait where no spare is left", "min", 0, 1e6, 0, 1, 1440, 60),
        ("repair_hours", "A failed node is out for", "h", 0, 1e6, repair, 1, 336, 60),
        ("days", "The run holds its nodes for", "days", 0.01, 36_500, found["planned_days"], 1, 180, 60),
        ("target", "Target ETTR", "", 0.001, 0.999, found["ettr_target"], 0.5, 0.99, 60),
    ]
