"""The version numbers of drivers, firmware, kernels and Slurm."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

import pytest

from assets.sources.inventory import reader as inventory
from assets.sources.kernel import reader as kernel
from assets.sources.other_forms import translations_of
from assets.sources.reader import SourceFile
from assets.sources.slurmctld import reader as slurmctld
from tests.sources.batches import cluster_of, read

FILE = SourceFile("c1", "inventory", "c1/inventory/n.json", Path("n.json"), 0, datetime(2026, 3, 3))


@pytest.mark.parametrize(
    ("line", "kind", "version"),
    [
        ("NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5", "driver_loaded", "550.54.15"),
        ("NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  535.104.05  Release", "driver_loaded", "535.104.05"),
        ("[drm] amdgpu kernel modesetting enabled.", "driver_loaded", None),
        ("Linux version 5.15.0-1061-nvidia (buildd@lcy02) (gcc 11.4.0) #62-Ubuntu SMP", "boot", "5.15.0-1061"),
        ("mlx5_core 0000:5e:00.0: firmware version: 28.39.1002", "nic_firmware", "28.39.1002"),
        ("DMI: Supermicro SYS-821GE-TNHR/X13DEG-OAD, BIOS 2.1 12/14/2023", "bios", "2.1"),
        ("NVRM: Xid (PCI:0000:17:00): 79, pid=1, GPU has fallen off the bus.", "xid", None),
    ],
)  # fmt: skip
def test_the_kernel_tells_what_was_booted_and_loaded(line: str, kind: str, version: str | None) -> None:
    (row,) = read(kernel, f"2026-03-02T10:00:00+00:00 n1 kernel: {line}\n").loaded
    assert (row["kind"], row["version"]) == (kind, version)


def test_the_inventory_tells_kernel_and_slurm() -> None:
    facts = "NodeName=n1 CPUTot=4 State=IDLE Version=24.05.1"
    document = {"name": "n1", "state": ["IDLE"], "version": "24.05.1", "operating_system": "Linux 6.8.0-41-generic #1"}
    node_json = translations_of("inventory")["node_json"]
    (of_json,) = node_json.translate(iter([json.dumps({"nodes": [document]})]), FILE, cluster_of())
    for line in (f"{facts} OS=Linux 6.8.0-41-generic #1 SMP", of_json):
        (row,) = read(inventory, f"{line}\n").loaded
        assert (row["kernel_version"], row["slurm_version"]) == ("6.8.0-41", "24.05.1")
    (row,) = read(inventory, "NodeName=n1 CPUTot=4 State=IDLE\n").loaded
    assert (row["kernel_version"], row["slurm_version"]) == (None, None)


def test_the_controller_tells_its_version_when_it_starts() -> None:
    (row,) = read(slurmctld, "[2026-03-02T10:00:00.123] slurmctld version 24.05.1 started on cluster c1\n").loaded
    assert (row["kind"], row["version"], row["node_name"]) == ("controller_started", "24.05.1", None)
