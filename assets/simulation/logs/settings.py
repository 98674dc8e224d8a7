"""Writes the cluster's `cluster.toml`. Its first setting says that the cluster is simulated."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from assets.simulation.logs.record import Record, write_lines


def write_settings(record: Record, folder: Path) -> None:
    """Write `cluster.toml`."""
    profile = record.profile
    lines = [
        "# A simulated cluster: these logs were made by `faultline simulate`, nothing in them happened.",
        "simulated = true",
        f'timezone = "{profile.timezone}"',
        f"gpus_per_node = {profile.gpus_per_node}",
        'gpu_model = "A100"',
        f"price_per_gpu_hour = {profile.price_per_gpu_hour}",
        'currency = "USD"',
        "",
        "[ettr]",
        f"checkpoint_minutes = {profile.checkpoint_seconds // 60}",
        f"restart_minutes = {profile.restart_seconds // 60}",
    ]
    if profile.objective is not None:
        lines += ["", "[availability]", f"objective = {profile.objective}"]
    for day, text in profile.annotations:
        if day < profile.days:
            lines += ["", "[[annotations]]", f"at = {profile.first_day + timedelta(days=day)}", f'text = "{text}"']
    write_lines(folder / "cluster.toml", lines)
