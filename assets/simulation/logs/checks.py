"""The health checks of a node: their names, and their messages when all is well."""

from __future__ import annotations

FREQUENT = {
    "xid errors": "No XID error was found.",
    "check ibstat": "all ib links are up.",
    "mounted directory": "mounted directory /checkpoint is present.",
}
"""Checks whose good results are kept every few hours, in turn."""

DAILY = {
    "nvidia smi gpu_num": "Number of GPUs present is the same as the expected number, 8. Number of GPUs present: 8",
    "nvidia smi ecc_uncorrected": "No uncorrected volatile ECC errors above threshold.",
    "nvidia smi row_remap_pending": "No row remap is pending.",
    "check dcgmi nvlink status": "All NVLinks are up.",
    "check pci": "All PCI devices have the expected link width and speed.",
    "check blockdev": "All block devices are present.",
    "check ethlink": "Ethernet link eth0 is UP.",
    "link flaps": "No link flaps were detected",
    "ipmitool sel": "No errors detected in the system event log.",
    "mce errors": "No MCE errors detected.",
    "service status": "All services are running.",
    "disk usage": "Disk usage of / is below the thresholds.",
}
"""Checks whose good results are kept once a day or less."""

ALL = FREQUENT | DAILY
NUMBERS = {check: number for number, check in enumerate(ALL)}
PROLOG = "mounted directory"
EPILOG = "xid errors"
