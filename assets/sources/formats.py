"""The readers, by the folder that each reads."""

from __future__ import annotations

from collections.abc import Mapping

from assets.sources import manifests
from assets.sources.events import reader as events
from assets.sources.failures import reader as failures
from assets.sources.health import reader as health
from assets.sources.intake.account import unknown_lines
from assets.sources.inventory import reader as inventory
from assets.sources.kernel import reader as kernel
from assets.sources.reader import Reader, Rows
from assets.sources.sacct import reader as sacct
from assets.sources.slurmctld import reader as slurmctld
from assets.sources.squeue import reader as squeue
from assets.sources.tickets import reader as tickets

_READERS: tuple[Reader, ...] = (
    sacct, inventory, health, kernel, events, slurmctld, squeue, tickets, failures, manifests,
)  # fmt: skip
READERS: Mapping[str, Reader] = {reader.KIND: reader for reader in _READERS}
"""Reader by kind. A manifest may lie next to any file."""
ROWS: Mapping[str, Rows] = {
    **{reader.TABLE: reader.ROWS for reader in READERS.values()},
    unknown_lines.TABLE: unknown_lines.ROWS,
}
"""Properties of the rows of each raw table that is read from files."""
PRIVACY: Mapping[str, Mapping[str, str]] = {
    **{reader.TABLE: reader.PRIVACY for reader in READERS.values()},
    unknown_lines.TABLE: unknown_lines.PRIVACY,
}
"""What the texts of each raw table that is read from files hold, in the terms of `pseudonyms`."""
