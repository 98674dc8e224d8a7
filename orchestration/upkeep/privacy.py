"""Which clusters of a home have pseudonyms in place of names, and whether that is what their cluster.toml says.

`privacy.json` in the home names each such cluster with the id of the key. It is written when nothing in the home holds
a plain name of the cluster any more, so that what was interrupted is done again.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from orchestration.disk import replace_file
from orchestration.home import Home

if TYPE_CHECKING:
    from assets.sources.settings import ClusterSettings


class PrivacyChanged(Exception):
    """A run may not begin before the home is brought in line with `privacy`; its text says what to run."""


@dataclass(frozen=True)
class Change:
    """What differs between cluster.toml and the home.

    Attributes
    ----------
    switched_on
        Clusters whose names become pseudonyms.
    rekeyed
        Clusters whose pseudonyms were made with another key.
    switched_off
        Clusters whose names are stored again.
    """

    switched_on: list[str]
    rekeyed: list[str]
    switched_off: list[str]

    @property
    def to_hash(self) -> list[str]:
        """Clusters of which the home may hold what it must not."""
        return sorted([*self.switched_on, *self.rekeyed])


def state_file(home: Home) -> Path:
    """Return the file that says what the home holds."""
    return home.root / "privacy.json"


def read_state(home: Home) -> dict[str, str]:
    """Return the clusters with pseudonyms and the ids of their keys; nothing is known where the file is damaged."""
    try:
        found = json.loads(state_file(home).read_text(encoding="utf-8"))
        return {str(cluster_id): str(key) for cluster_id, key in found.items()}
    except (OSError, ValueError, AttributeError):
        return {}


def write_state(home: Home, state: dict[str, str]) -> None:
    """Replace the file, flushed to disk."""
    replace_file(state_file(home), json.dumps(state, indent=2, sort_keys=True).encode(), 0o600)


def change_of(home: Home, key_file: Path) -> Change | None:
    """Compare cluster.toml with the home; None where they agree. A cluster whose file is wrong stays as it is."""
    state, clusters = read_state(home), _settings_of_clusters(home)
    wanted = {cluster_id for cluster_id, cluster in clusters.items() if cluster.is_pseudonymous}
    if not wanted and not state:
        return None
    from assets.sources.text.privacy_key import key_id, read_key

    key = read_key(key_file)
    now = key_id(key) if key else ""
    change = Change(
        sorted(wanted - state.keys()),
        sorted(cluster_id for cluster_id in wanted & state.keys() if state[cluster_id] != now),
        sorted(cluster_id for cluster_id in state if cluster_id in clusters and cluster_id not in wanted),
    )
    return change if change.to_hash or change.switched_off else None


def require_no_change(home: Home, key_file: Path) -> None:
    """Refuse a run of Dagster's where the home has to be changed first, Dagster's history with it."""
    change = change_of(home, key_file)
    if change is not None:
        clusters = ", ".join([*change.to_hash, *change.switched_off])
        raise PrivacyChanged(
            f"privacy in cluster.toml, or its key, has changed for {clusters}; stop `faultline ui` and run"
            " `faultline refresh` once: it deletes what holds plain names, Dagster's history with it"
        )


def _settings_of_clusters(home: Home) -> dict[str, ClusterSettings]:
    """Read the settings of all clusters whose cluster.toml is right."""
    from assets.sources.intake.find.candidates import visible_folders
    from assets.sources.settings import read_settings

    try:
        folders = visible_folders(home.sources)
    except OSError:
        return {}
    read = {folder.name: read_settings(folder, folder.name) for folder in folders}
    return {cluster_id: cluster for cluster_id, (cluster, wrong) in read.items() if not wrong}
