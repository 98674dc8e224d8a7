"""External assets for the folders of logs that raw tables are read from, and what each refresh found in them."""

from collections.abc import Iterator

import dagster as dg

from assets.log_kinds import LOG_KINDS
from assets.sources.intake.find.folder import Survey


def log_key(kind: str) -> dg.AssetKey:
    """Return the key of the asset for a kind of logs: its folders in all clusters' folders."""
    return dg.AssetKey(["sources", kind])


LOGS = [
    dg.AssetSpec(
        log_key(kind),
        group_name="sources",
        description=f"{log.name}: `{kind}/` of every cluster. Holds {log.contents}.\n\nExport: `{log.export_to()}`",
        kinds={"file"},
    )
    for kind, log in LOG_KINDS.items()
]
"""External assets: other programs write them, and Faultline reads them."""


def observed(found: Survey) -> Iterator[dg.AssetObservation]:
    """Yield the number of files and bytes of each kind that a refresh found."""
    for kind in LOG_KINDS:
        files = found.of_kind(kind)
        yield dg.AssetObservation(
            log_key(kind),
            metadata={
                "files": len(files),
                "size_bytes": sum(file.size_bytes for file in files),
                "files refused": len(found.refused_of_kind(kind)),
            },
        )
