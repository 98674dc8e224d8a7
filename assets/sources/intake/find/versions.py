"""Older versions of a file: rows stay, as a version, when the bytes under the file's name change.

The path of a version is that of the file with `@` and the first digits of its hash; it has its own account. It is
superseded if another file of its cluster and kind begins with its text, as when a log grows or rotation renames it.
`superseding` finds the other redundant rows, once all files are read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import duckdb

from assets.sources.intake.find.folder import REFUSED, KnownFile
from assets.sources.intake.find.known_files import PER_FILE_TABLES, Key, forget_files
from assets.sources.intake.read.lines import chunks, is_compressed
from assets.sources.reader import Reader, SourceFile
from assets.sources.temp_tables import TempTable
from assets.sources.text import undated
from assets.sql import fill
from assets.warehouse import one_value

Text = tuple[str, int]
"""The hash and the size of a text."""
DIGITS = 12
"""Number of digits of the hash in the path of a version."""
RENAMED = TempTable("renamed_files", {"cluster_id": "varchar", "path": "varchar", "version": "varchar"})


def is_kept(con: duckdb.DuckDBPyConnection, reader: Reader, key: Key) -> bool:
    """Return whether older versions of a file are kept: not if it describes the present, where only the newest counts.

    An inventory without states, such as a configuration, describes the present; so does a manifest.
    """
    if reader.ROWS.time is None:
        return False
    if reader.TABLE != "nodes":
        return True
    query = "select exists (from raw.nodes where cluster_id = ? and path = ? and state is not null)"
    return bool(one_value(con, query, [*key]))


def version_key(key: Key, file: KnownFile) -> Key:
    """Return the key that a file has as an older version."""
    cluster_id, path = key
    return cluster_id, f"{path}@{file.sha256[:DIGITS]}"


def become_versions(
    con: duckdb.DuckDBPyConnection, reader: Reader, files: Mapping[Key, KnownFile], run_id: str
) -> dict[Key, KnownFile]:
    """Turn what was read of files into older versions, without a last line that had no end.

    The transaction is the caller's.

    Returns
    -------
    The versions by key.
    """
    versions = {
        version_key(key, file): replace(file, is_present=False, version_of=key[1]) for key, file in files.items()
    }
    if not versions:
        return {}
    forget_files(con, reader, [*versions])
    RENAMED.fill(con, [(*key, version_key(key, file)[1]) for key, file in files.items()])
    con.execute(
        fill(
            "sources/intake/find/become_versions.sql",
            table=reader.TABLE,
            run_id=run_id,
            per_file_tables=PER_FILE_TABLES,
        )
    )
    return versions


def text_of(key: Key, file: KnownFile) -> Text | None:
    """Return the hash and the size of a file's text; None if these are unknown for an archive."""
    if file.text_sha256 is not None and file.text_bytes is not None:
        return file.text_sha256, file.text_bytes
    is_archive = is_compressed(Path(file.version_of or key[1]))
    return None if is_archive or not file.sha256 else (file.sha256, file.size_bytes)


def may_be_superseded(key: Key, file: KnownFile, by: str) -> bool:
    """Return whether a file with another name may replace a file: not if only its name has the day."""
    if file.status == REFUSED:
        return False
    return by in {key[1], file.version_of} or file.loaded > 0 or not undated.is_named_by_time(file.version_of or key[1])


def beginnings(file: SourceFile, sizes: Iterable[int], *, with_whole: bool) -> set[Text]:
    """Return hash and size of a file's text up to each of the given sizes, and of the whole text if wanted."""
    is_packed = is_compressed(file.absolute)
    found: set[Text] = set() if is_packed or not with_whole else {(file.sha256, file.size_bytes)}
    pending = sorted(size for size in sizes if is_packed or size <= file.size_bytes)
    if not pending and not (is_packed and with_whole):
        return found
    digest, total = hashlib.sha256(), 0
    with suppress(EOFError, OSError):
        for chunk in chunks(file.absolute):
            start = 0
            while pending and pending[0] <= total + len(chunk):
                end = pending.pop(0) - total
                digest.update(chunk[start:end])
                found.add((digest.hexdigest(), total + end))
                start = end
            if not pending and not (is_packed and with_whole):
                return found
            digest.update(chunk[start:])
            total += len(chunk)
    if is_packed:
        found.add((digest.hexdigest(), total))
    return found
