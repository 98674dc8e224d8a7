"""The time of a row in each raw table of what happened."""

from __future__ import annotations

from collections.abc import Mapping

ROW_TIMES: Mapping[str, str] = {
    "sacct": "submitted_at",
    "health_checks": "observed_at",
    "kernel_messages": "occurred_at",
    "node_events": "started_at",
    "nodes": "captured_at",
    "slurmctld_events": "logged_at",
    "squeue_exclusions": "seen_at",
    "tickets": "opened_at",
    "unknown_lines": "first_at",
}
"""Column by raw table."""
