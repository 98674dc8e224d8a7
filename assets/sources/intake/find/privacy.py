"""How the names of each cluster are stored: as they are, or as pseudonyms with a certain key.

`privacy.json` in the home records it. It outlives the tables, because publications, reports and logs hold names too; if
it is lost, the tables say it. A cluster is left out until it is forgotten if its settings want another way: otherwise
the home would hold plain names of it, or two pseudonyms for one name.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import duckdb

from assets.sources.errors import SourceError
from assets.sources.settings import ClusterSettings
from assets.sources.text.privacy_key import key_id, key_was_made, make_key, read_key, require_outside
from assets.sources.text.pseudonyms import give_key
from assets.warehouse import transaction

PLAIN = "plain"
"""The value in `privacy.json` for names as they are. For pseudonyms it is the id of the key."""
_OF_TABLES = f"""
    select cluster_id, coalesce(key_id, '{PLAIN}')
    from (select distinct cluster_id from ops.files) left join ops.privacy using (cluster_id)
"""


@dataclass(frozen=True)
class Privacy:
    """How names were stored: `PLAIN` or the id of a key, by cluster, with `privacy.json` and the file of the key."""

    file: Path
    key_file: Path | None
    read_with: Mapping[str, str]

    @classmethod
    def of(cls, con: duckdb.DuckDBPyConnection, file: Path, key_file: Path | None) -> Privacy:
        """Return what is known of a home; its working file or publication is open."""
        known = dict(con.execute(_OF_TABLES).fetchall())
        with suppress(OSError, ValueError, AttributeError):  # The tables say the same for all their clusters.
            known |= {str(name): str(how) for name, how in json.loads(file.read_text(encoding="utf-8")).items()}
        return cls(file, key_file, known)

    @cached_property
    def key(self) -> str | None:
        """The key; None if there is none."""
        return read_key(self.key_file) if self.key_file else None

    def change_of(self, cluster: ClusterSettings) -> SourceError | None:
        """Return what to do if a cluster was stored in another way than its settings and the key want."""
        before = self.read_with.get(cluster.cluster_id)
        now = PLAIN if not cluster.is_pseudonymous else key_id(self.key) if self.key else ""
        if before in (None, now):
            return None
        if before == PLAIN:
            what, back = "privacy is switched on, and its names were stored as they are", "Set it back to plain"
        elif now == PLAIN:
            what, back = "privacy is switched off, and its names were stored as pseudonyms", "Set it back"
        elif now:
            what, back = f"its pseudonyms were made with another key than {self.key_file}", "Put the former key there"
        else:
            what, back = f"the privacy key {self.key_file} is missing", "Put it back from its copy"
        return SourceError(
            cluster.cluster_id,
            f"{what}; earlier publications, reports and logs of runs hold them until it is forgotten",
            f"{back}, or stop `faultline ui` and run `faultline refresh --forget {shlex.quote(cluster.cluster_id)}"
            " --yes`: it deletes all of these and reads the cluster's logs again (lines of missing logs are lost;"
            " without --yes it lists them).",
        )

    def begin(
        self, con: duckdb.DuckDBPyConnection, clusters: Mapping[str, ClusterSettings], sources: Path
    ) -> str | None:
        """Record how clusters are stored from now on, before any of their rows is stored.

        The connection gets the key if one is needed. A missing key is made; return a message that says so.

        Raises
        ------
        WrongKey
            The key is needed and cannot be used, or lies with the data.
        """
        hashed = [name for name, cluster in clusters.items() if cluster.is_pseudonymous]
        now, said = dict.fromkeys(clusters.keys() - hashed, PLAIN), None
        if hashed and self.key_file:
            require_outside(self.key_file, {"home": self.file.parent, "sources folder": sources})
            key = self.key
            if key is None:
                key, said = make_key(self.key_file), key_was_made(self.key_file)
            give_key(con, key)
            now |= dict.fromkeys(hashed, key_id(key))
        self.record({**self.read_with, **now})
        with transaction(con):
            con.execute("delete from ops.privacy where list_contains(?, cluster_id)", [[*now]])
            for name in now.keys() & hashed:
                con.execute("insert into ops.privacy values (?, ?)", [name, now[name]])
        return said

    def record(self, read_with: Mapping[str, str]) -> None:
        """Replace `privacy.json`, in one step."""
        unfinished = self.file.with_name(f".{self.file.name}.tmp")
        unfinished.write_text(json.dumps(read_with, indent=2, sort_keys=True), encoding="utf-8")
        unfinished.replace(self.file)
