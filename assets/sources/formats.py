"""Which reader reads which folder."""

from __future__ import annotations

from collections.abc import Mapping

from assets.sources import health, inventory, kernel, manifests, node_events, sacct, slurmctld, squeue, tickets
from assets.sources.reading import Reader

READERS: Mapping[str, Reader] = {
    sacct.KIND: sacct,
    inventory.KIND: inventory,
    health.KIND: health,
    kernel.KIND: kernel,
    node_events.KIND: node_events,
    slurmctld.KIND: slurmctld,
    squeue.KIND: squeue,
    tickets.KIND: tickets,
    manifests.KIND: manifests,
}
"""Reader by kind; the first two name the nodes, so they are loaded first. Manifests lie beside any file."""
