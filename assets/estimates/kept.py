"""Schema `kept`: rows of estimates about past windows, used again until what they were made of changes.

A row is found by a hash of its inputs, which settings belong to, and of the versions of the code, numpy and scipy. A
warehouse without a version neither gives nor keeps any, as in `faultline refresh --full`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from typing import TYPE_CHECKING, Any

import pandas as pd

from assets.estimates.table import WRITTEN, TableSpec
from assets.warehouse import replace_table

if TYPE_CHECKING:
    import duckdb

Row = dict[str, Any]
LIBRARIES = tuple(map(metadata.version, ("numpy", "scipy")))
"""With another version of these the same inputs may give other last digits."""
_EXISTS = "select 1 from duckdb_tables() where schema_name = 'kept' and table_name = ?"


@dataclass
class KeptRows:
    """Rows of one estimate by the hash of what each was made of; without a version it is empty and stays empty."""

    version: str = ""
    _found: dict[str, Row] = field(default_factory=dict)
    _used: dict[str, Row] = field(default_factory=dict)

    @classmethod
    def of(cls, con: duckdb.DuckDBPyConnection, spec: TableSpec, version: str) -> KeptRows:
        """Read what the last refresh kept."""
        if not version or not con.execute(_EXISTS, [spec.table]).fetchall():
            return cls(version)
        kept = con.execute(f"from kept.{spec.table}")
        names = [column[0] for column in kept.description]
        rows = (dict(zip(names, row, strict=True)) for row in kept.fetchall())
        return cls(version, {row.pop("made_of"): row for row in rows})

    def get(self, settings: Sequence[Any], inputs: Sequence[pd.DataFrame], make: Callable[[], Row]) -> Row:
        """Give the row that was made of the same settings and inputs, or make it."""
        if not self.version:
            return make()
        digest = hashlib.sha256(repr((self.version, LIBRARIES, *settings)).encode())
        for frame in inputs:
            digest.update(f"{len(frame)} {list(frame.columns)}".encode())
            digest.update(pd.util.hash_pandas_object(frame, index=False).to_numpy().tobytes())
        made_of = digest.hexdigest()
        row = self._found.get(made_of)
        self._used[made_of] = make() if row is None else row
        return self._used[made_of]

    def write(self, con: duckdb.DuckDBPyConnection, spec: TableSpec) -> None:
        """Keep the rows that this refresh used, and no others."""
        columns = [column for column in spec.columns if column.name not in WRITTEN]
        ddl = ", ".join(["made_of varchar", *(f"{column.name} {column.type}" for column in columns)])
        frame = pd.DataFrame(list(self._used.values()), columns=[column.name for column in columns])
        frame = frame.astype({column.name: "Int64" for column in columns if column.type == "bigint"})
        replace_table(con, f"kept.{spec.table}", frame.assign(made_of=list(self._used)), ddl)
