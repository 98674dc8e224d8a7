"""The folders of logs in front of the raw tables: assets that others write, and what each refresh found in them."""

from collections.abc import Iterator

import dagster as dg

from assets.log_kinds import LOG_KINDS
from assets.sources.intake.find.folder import Survey


def log_key(kind: str) -> dg.AssetKey:
    """Name the asset of the folders of a kind of logs, one in each cluster's folder."""
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
"""External assets: Faultline reads them, and other programs write them."""


def observed(found: Survey) -> Iterator[dg.AssetObservation]:
    """Tell how many files and bytes of each kind a refresh found."""
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
