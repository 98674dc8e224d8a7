"""The report's colours: Okabe and Ito's set, safe for the colour-blind, one meaning per colour in every figure.

Causes are coloured by the part of the machine one would go and look at, because twenty causes do not fit into eight
colours; the axis names the cause itself. Grey always means that the cause was not found.
"""

from __future__ import annotations

ATTEMPTS = "#56B4E9"  # sky blue
GPU_TIME = "#0072B2"  # blue
MEASURED = "#000000"
THEORY = "#767676"
NOT_FOUND = "#999999"
OTHER_CAUSES = "#EDEDED"
PARTS_OF_TIME = (GPU_TIME, "#D8CBEA", "#AB8FD0", "#7B52AB", "#9ED3F2")
"""Progress in blue, what scheduled time was lost to in violet, waiting in pale blue: none is the colour of a cause."""

GROUP_COLOURS = {
    "GPU": "#D55E00",
    "Network": "#CC79A7",
    "Storage": "#009E73",
    "Host": "#E69F00",
    "Services": "#F0E442",
    "User program": "#C8C8C8",
    "Cause not found": NOT_FOUND,
}

_CATEGORIES = {
    "GPU": ("gpu_unavailable", "gpu_memory", "gpu_driver_firmware", "gpu_nvlink", "unknown_xid"),
    "Network": ("ib_link", "eth_link", "nccl_timeout"),
    "Storage": ("filesystem_mount", "block_device"),
    "Host": ("main_memory", "pcie", "host_hardware", "performance"),
    "Services": ("config", "system_services"),
    "User program": ("oom", "user_code"),
}
_GROUP_OF = {category: group for group, categories in _CATEGORIES.items() for category in categories}


def group_of(category: str | None) -> str:
    """Name the part of the machine a failure category points to.

    >>> group_of("pcie"), group_of("node_fail_unattributed")
    ('Host', 'Cause not found')
    """
    return _GROUP_OF.get(category or "", "Cause not found")


def colour_of(category: str | None) -> str:
    """Colour of a failure category, the same wherever it shows."""
    return GROUP_COLOURS[group_of(category)]


def shades_of(categories: list[str]) -> dict[str, str]:
    """Tell causes of one group apart by lightness, which any eye sees: the first has the group's own colour.

    >>> shades_of(["gpu_memory", "pcie", "gpu_nvlink", "gpu_unavailable"])
    {'gpu_memory': '#D55E00', 'pcie': '#E69F00', 'gpu_nvlink': '#eaae80', 'gpu_unavailable': '#803800'}
    """
    groups = [group_of(category) for category in categories]
    ranks = [groups[:place].count(group) for place, group in enumerate(groups)]
    return {name: _shaded(colour_of(name), rank) for name, rank in zip(categories, ranks, strict=True)}


def _shaded(colour: str, rank: int) -> str:
    """Lighten odd ranks and darken even ones, further with each pair of ranks."""
    if rank == 0:
        return colour
    share = 0.5 + 0.1 * ((rank - 1) // 2) if rank % 2 else 0.4 + 0.15 * ((rank - 1) // 2)
    towards = 255 if rank % 2 else 0
    parts = [int(colour[place : place + 2], 16) for place in (1, 3, 5)]
    return "#" + "".join(f"{min(255, round(part + share * (towards - part))):02x}" for part in parts)
