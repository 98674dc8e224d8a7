"""The report's colours: each failure category has one, the same in every figure, table and theme.

The hue stands for the part of the machine to look at; lightness separates its causes, which also the colour-blind see.
Grey is for what a figure groups. Measured values have the ink of the page or a blue that no cause has.
"""

from __future__ import annotations

ATTEMPTS = "#56B4E9"  # sky blue
GPU_TIME = "#0072B2"  # blue
MEASURED = "#000000"
THEORY = "#767676"
OTHER = "#D0D0D0"
PARTS_OF_TIME = (GPU_TIME, "#D8CBEA", "#AB8FD0", "#7B52AB", "#9ED3F2")
"""Progress in blue, losses of scheduled time in violet, waiting in pale blue: none is the colour of a cause."""

CAUSES = {
    "gpu_memory": "#D44F00", "gpu_unavailable": "#8C2901", "gpu_driver_firmware": "#EF8F51", "gpu_nvlink": "#C51E21",
    "unknown_xid": "#FDC2A2",
    "ib_link": "#CD5394", "nccl_timeout": "#EE8DBD", "eth_link": "#8E3075",
    "filesystem_mount": "#0FA578", "block_device": "#096B4D",
    "pcie": "#D39F00", "main_memory": "#F1C11B", "host_hardware": "#786104", "performance": "#F6E697",
    "system_services": "#0F808B", "config": "#4ECCD3",
    "oom": "#6C4BCC", "user_code": "#9A88E1",
    "node_fail_unattributed": "#43597A", "unattributed": "#5E7791", "unmapped": "#8EA0B8", "consequence": "#9CC4DD",
    "repair": "#9B785C", "planned": "#C8AB90", "capacity": "#E2D3C3",
}  # fmt: skip
"""GPU, network, storage, host, services, user programs, no cause found, and what is no failure: the order of stacks."""


def colour_of(category: str | None) -> str:
    """Colour of a failure category, wherever it shows.

    >>> colour_of("pcie"), colour_of(None)
    ('#D39F00', '#D0D0D0')
    """
    return CAUSES.get(category or "", OTHER)


def in_order(categories: list[str]) -> list[str]:
    """Sort categories as figures stack them: by the part of the machine.

    >>> in_order(["pcie", "gpu_nvlink", "ib_link"])
    ['gpu_nvlink', 'ib_link', 'pcie']
    """
    return sorted(categories, key=lambda name: list(CAUSES).index(name) if name in CAUSES else len(CAUSES))
