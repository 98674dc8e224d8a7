"""Write the settings of all clusters to `raw.clusters`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import duckdb

from assets.sources.intake.find.folder import Survey
from assets.sources.settings import ClusterSettings, Settings, in_utc
from assets.sources.settings.rules import Health, KernelLine, NodeReason, RepairAction, Rule, XidMeaning
from assets.sql import identifier
from assets.warehouse import transaction


def cluster_row(cluster: ClusterSettings) -> dict[str, Any]:
    """Return a cluster's settings by the columns of `raw.clusters`."""
    settings = cluster.settings
    notes = [{"at": note.at.isoformat(), "text": note.text} for note in settings.annotations]
    return {
        "cluster_id": cluster.cluster_id,
        "is_simulated": settings.simulated,
        "timezone": settings.timezone,
        "gpus_per_node": settings.gpus_per_node,
        "gpu_model": settings.gpu_model,
        "price_per_gpu_hour": settings.price_per_gpu_hour,
        "currency": settings.currency,
        "attribution_before_seconds": settings.attribution.before_seconds,
        "attribution_after_seconds": settings.attribution.after_seconds,
        "attribution_priority": settings.attribution.priority,
        "runs_chain": settings.runs.chain,
        "runs_chain_gap_seconds": settings.runs.chain_gap_seconds,
        "checkpoint_minutes": settings.ettr.checkpoint_minutes,
        "restart_minutes": settings.ettr.restart_minutes,
        "write_minutes": settings.ettr.write_minutes,
        "availability_objective": settings.availability.objective,
        "lemon_window_days": settings.lemons.window_days,
        "lemon_rate_days": settings.lemons.rate_days,
        "lemon_thresholds": json.dumps(settings.lemons.thresholds),
        "quarantine_max_share": settings.quarantine.max_share,
        "annotations": json.dumps(notes),
        "units_in_service": json.dumps(_units_in_service(settings)),
        "report_names": settings.report.names,
        "health_check_rules": json.dumps(_health_check_rules(settings.health)),
        "kernel_rules": json.dumps(_kernel_rules(settings.kernel.rules)),
        "node_reason_rules": json.dumps(_node_reason_rules(settings.node_reasons)),
        "repair_action_rules": json.dumps(_repair_action_rules(settings.repair_actions)),
        "xid_rules": json.dumps(_xid_rules(settings.xids)),
        **{f"{place}_pattern": pattern for place, pattern in settings.topology},
        "config_path": cluster.config_path,
        "config_sha256": cluster.config_sha256,
    }


def _units_in_service(settings: Settings) -> list[dict[str, Any]]:
    """Return the stated times; one that ends after now gets no end, as nobody knows what fails until then."""
    now = datetime.now(UTC).replace(tzinfo=None)
    spans = [
        (span.units, in_utc(span.from_, settings.timezone), in_utc(span.to, settings.timezone))
        for span in settings.failures.in_service
    ]
    return [
        {"unit_count": units, "from_at": from_.isoformat(), "to_at": to.isoformat() if to <= now else None}
        for units, from_, to in spans
    ]


def _health_check_rules(health: Health) -> list[dict[str, Any]]:
    return [
        {
            "rule_order": number,
            "check_name": None if check.name is None else check.name.strip().lower(),
            "pattern": check.pattern,
            **_meaning(check, check.category),
            "is_sticky": check.sticky,
        }
        for number, check in enumerate(health.checks, start=1)
    ]


def _kernel_rules(rules: Sequence[KernelLine]) -> list[dict[str, Any]]:
    return [
        {"rule_order": number, "pattern": rule.pattern, **_meaning(rule, rule.category)}
        for number, rule in enumerate(rules, start=1)
    ]


def _node_reason_rules(reasons: Sequence[NodeReason]) -> list[dict[str, Any]]:
    return [
        {"rule_order": number, "pattern": reason.pattern, **_meaning(reason, reason.meaning)}
        for number, reason in enumerate(reasons, start=1)
    ]


def _repair_action_rules(actions: Sequence[RepairAction]) -> list[dict[str, Any]]:
    return [
        {"rule_order": number, "pattern": rule.pattern, "repair_action": rule.action}
        for number, rule in enumerate(actions, start=1)
    ]


def _xid_rules(xids: Sequence[XidMeaning]) -> list[dict[str, Any]]:
    return [{"code": xid.code, **_meaning(xid, xid.category)} for xid in xids]


def _meaning(rule: Rule, category: str) -> dict[str, Any]:
    return {
        "failure_category": category,
        "severity": rule.severity,
        "evidence_class": rule.evidence_class_of(category),
    }


def write_clusters(con: duckdb.DuckDBPyConnection, survey: Survey) -> int:
    """Replace `raw.clusters` with the settings in the folder, and return the number of clusters."""
    rows = [cluster_row(cluster) for _, cluster in sorted(survey.clusters.items())]
    columns = [identifier(column) for column in rows[0]]
    with transaction(con):
        con.execute("delete from raw.clusters")
        con.executemany(
            f"insert into raw.clusters ({', '.join(columns)}) values ({', '.join('?' * len(columns))})",
            [list(row.values()) for row in rows],
        )
    return len(rows)
