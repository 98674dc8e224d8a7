"""Load new and changed files into the raw tables. Each batch is one transaction, so a crash leaves only whole batches.

The result depends only on the files, not on when or in which order they arrived.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import duckdb

from assets.sources.database_settings import joins_as_written
from assets.sources.errors import without_quotes
from assets.sources.intake.account.line_accounts import AFTER_LOST_END, OPEN_END
from assets.sources.intake.file_batches import FileBatch, Outcome
from assets.sources.intake.find.folder import (
    CUT_OFF,
    READ,
    REFUSED,
    KnownFile,
    Progress,
    RefusedFile,
    Survey,
    is_unchanged,
    no_progress,
)
from assets.sources.intake.find.known_files import Key, forget_files, known_files, note_modification
from assets.sources.intake.find.versions import (
    Text,
    become_versions,
    beginnings,
    is_kept,
    may_be_superseded,
    text_of,
    version_key,
)
from assets.sources.intake.read.batch_lines import batches
from assets.sources.intake.read.side_by_side import run_side_by_side
from assets.sources.reader import Reader, SourceFile, reader_key
from assets.sources.text import undated
from assets.sql import identifier
from assets.warehouse import transaction


@dataclass
class LoadResult:
    """Counts and warnings of loading one kind."""

    files_read: int = 0
    files_unchanged: int = 0
    files_removed: int = 0
    files_vanished: int = 0
    files_refused: int = 0
    warnings: list[str] = field(default_factory=list)


def load_kinds(
    con: duckdb.DuckDBPyConnection,
    survey: Survey,
    readers: Mapping[str, Reader],
    run_id: str,
    *,
    full: bool = False,
    progress: Progress = no_progress,
) -> dict[str, LoadResult]:
    """Update the raw tables of some kinds to the content of the folder; `across_files.settle` finishes them.

    Batches of all kinds and clusters are read in parallel, except those that need much memory.

    Parameters
    ----------
    con
        A writing connection with the raw and ops tables, outside a transaction.
    survey
        The folder; every file of the readers' kinds must be in it.
    readers
        The formats' modules by kind.
    run_id
        Stored with every file read.
    full
        Read every file again.
    progress
        Called at the beginning and after every batch.

    Returns
    -------
    What was read, by kind.
    """
    loadings = {kind: _Loading(con, survey, reader, run_id, known_files(con, kind)) for kind, reader in readers.items()}
    batches_of_all = [batch for loading in loadings.values() for batch in loading.batches_to_read(full=full)]
    pending = [file for batch in batches_of_all for file in batch.files]
    total, total_bytes = len(pending), sum(file.size_bytes for file in pending)
    done, done_bytes = 0, 0
    progress("reading", 0, total, 0, total_bytes)
    alone = [batch for batch in batches_of_all if batch.is_read_alone]

    def record(outcome: Outcome) -> None:
        nonlocal done, done_bytes
        batch = outcome.batch
        if outcome.must_be_read_alone:
            alone.append(batch)
            return
        loadings[batch.reader.KIND].record(outcome)
        done += len(batch.files)
        done_bytes += sum(file.size_bytes for file in batch.files)
        progress(f"reading {batch.reader.KIND}", done, total, done_bytes, total_bytes)

    with joins_as_written(con):
        run_side_by_side(con, [batch.read_beside_others for batch in batches_of_all if not batch.is_read_alone], record)
        for batch in alone:
            record(batch.read(con))
    for loading in loadings.values():
        loading.mark_files_that_did_not_grow()
    return {kind: loading.result for kind, loading in loadings.items()}


@dataclass
class _Loading:
    """The files of one kind: which are to be read, and what became of them."""

    con: duckdb.DuckDBPyConnection
    survey: Survey
    reader: Reader
    run_id: str
    known_files: dict[Key, KnownFile]
    result: LoadResult = field(default_factory=LoadResult)
    before: dict[Key, KnownFile] = field(init=False)
    """Files known before anything was read."""

    def __post_init__(self) -> None:
        self.before = dict(self.known_files)

    def batches_to_read(self, *, full: bool) -> list[FileBatch]:
        """Record the files that are missing, refused or unchanged, and return the batches of the others."""
        present, refused = self.survey.of_kind(self.reader.KIND), self.survey.refused_of_kind(self.reader.KIND)
        looked_at = {file.key for file in present} | {refused_file.file.key for refused_file in refused}
        for refused_file in refused:
            self.refuse(refused_file)
        pending, found = self._pending(present, full=full), []
        # The files of a cluster that is left out, or whose folder is missing, may still exist.
        removed = {
            key: file
            for key, file in sorted(self.known_files.items())
            if key[0] in self.survey.clusters and (key not in looked_at or file.version_of is not None)
        }
        unread = {file.key for file in pending}
        self._forget_copies(removed, [file.key for file in present if file.key not in unread])
        replaced = self._replaced(pending, removed)
        self._keep_vanished(removed)
        self._warn_of_other_rules(pending, removed)
        for cluster_id in dict.fromkeys(file.cluster_id for file in pending):
            files = [file for file in pending if file.cluster_id == cluster_id]
            cluster = self.survey.clusters[cluster_id]
            found += [FileBatch(self.reader, cluster, group, self.run_id, replaced) for group in batches(files)]
        return found

    def _forget_copies(self, removed: dict[Key, KnownFile], unchanged: Iterable[Key]) -> None:
        """Forget removed files that were refused or exist under another name; take them out of `removed`."""
        texts = {(key[0], text_of(key, self.known_files[key])): key[1] for key in unchanged}

        def has_copy(key: Key, file: KnownFile) -> bool:
            text = text_of(key, file)
            copy = texts.get((key[0], text)) if text else None
            return copy is not None and may_be_superseded(key, file, copy)

        copied = [key for key, file in removed.items() if file.status == REFUSED or has_copy(key, file)]
        if copied:
            with transaction(self.con):
                forget_files(self.con, self.reader, copied)
        self.result.files_removed += len(copied)
        for key in copied:
            del removed[key]

    def _replaced(self, pending: Sequence[SourceFile], removed: dict[Key, KnownFile]) -> dict[Key, list[Key]]:
        """Return the keys that each file replaces when it is read, and take these out of `removed`.

        A file replaces its own account if its bytes are the same or have grown; else the account becomes an older
        version. It also replaces removed files and older versions if it begins with their text.
        """
        known = {file.key: self.known_files[file.key] for file in pending if file.key in self.known_files}
        changed = {
            file.key: known[file.key]
            for file in pending
            if file.key in known
            and known[file.key].status != REFUSED
            and known[file.key].sha256 != file.sha256
            and is_kept(self.con, self.reader, file.key)
        }
        nameless = {**changed, **{key: file for key, file in removed.items() if file.version_of or file.is_present}}
        own: dict[Key, list[Key]] = defaultdict(list)
        texts: dict[tuple[str, Text], Key] = {}
        for key, older in nameless.items():
            own[key[0], older.version_of or key[1]].append(key)
            if text := text_of(key, older):
                texts[key[0], text] = key
        begun: dict[Key, list[Key]] = {}
        for file in pending:
            # A snapshot that another one begins with is of another moment.
            of_same_log = () if self.reader.ROWS.are_of_moments else own[file.key]
            sizes = [text[1] for key in of_same_log if (text := text_of(key, nameless[key]))]
            found = beginnings(file, sizes, with_whole=bool(nameless))
            alike = [texts[file.cluster_id, text] for text in found if (file.cluster_id, text) in texts]
            begun[file.key] = [key for key in alike if may_be_superseded(key, nameless[key], file.path)] + [
                key for key in own[file.key] if key not in alike and not is_kept(self.con, self.reader, key)
            ]
        grown = {key for key in changed if key in begun[key]}
        versions = self._become_versions({key: file for key, file in changed.items() if key not in grown})
        replaced: dict[Key, list[Key]] = {}
        for key, texts_begun_with in begun.items():
            is_own = key in known and (key not in changed or key in grown)
            replaced[key] = [key] if is_own else []
            # If several files begin with a text, one of them replaces it.
            for other in texts_begun_with:
                if other in versions:
                    replaced[key].append(versions.pop(other))
                elif other in removed:
                    replaced[key].append(other)
                    self.result.files_removed += int(removed.pop(other).version_of is None)
        return replaced

    def _become_versions(self, files: Mapping[Key, KnownFile]) -> dict[Key, Key]:
        """Turn files into older versions, and return a mapping from file key to version key."""
        if files:
            with transaction(self.con):
                versions = become_versions(self.con, self.reader, files, self.run_id)
            self._note_versions(versions)
        return {key: version_key(key, file) for key, file in files.items()}

    def _note_versions(self, versions: Mapping[Key, KnownFile]) -> None:
        for key, version in versions.items():
            self.known_files[key] = version
            self.known_files.pop((key[0], str(version.version_of)))

    def mark_files_that_did_not_grow(self) -> None:
        """Mark as cut off the files whose name has a past day and that still end within a line."""
        for file in self.survey.of_kind(self.reader.KIND):
            before = self.before.get(file.key)
            is_same = before is not None and before.has_open_line and before.sha256 == file.sha256
            if not (is_same and undated.is_named_by_time(file.path)):
                continue
            self.con.execute(
                """
                update ops.files set status = $cut_off, reason = $reason, next_step = $next_step
                where cluster_id = $cluster_id and path = $path and status = $read
                """,
                {
                    "cluster_id": file.cluster_id, "path": file.path, "read": READ, "cut_off": CUT_OFF,
                    "reason": OPEN_END, "next_step": AFTER_LOST_END,
                },
            )  # fmt: skip
            if before is not None and before.status == READ:
                self.result.warnings.append(f"{file.path}: {OPEN_END}. {AFTER_LOST_END}")

    def _keep_vanished(self, removed: Mapping[Key, KnownFile]) -> None:
        """Keep what was read of missing files.

        Logs are rotated and deleted, but their statements stay true.
        """
        kept = [key for key, file in removed.items() if file.version_of is None]
        news = [key for key in kept if removed[key].is_present]
        if news:
            with transaction(self.con):
                self.con.executemany("update ops.files set is_present = false where cluster_id = ? and path = ?", news)
        self.result.files_vanished = len(kept)

    def _warn_of_other_rules(self, pending: Sequence[SourceFile], removed: Mapping[Key, KnownFile]) -> None:
        """Warn of files that cannot be read again, when this refresh reads present files by other settings or rules."""
        keys = {cluster_id: reader_key(self.reader, cluster) for cluster_id, cluster in self.survey.clusters.items()}
        changed = {
            file.cluster_id
            for file in pending
            if (before := self.known_files.get(file.key)) and before.reader and before.reader != keys[file.cluster_id]
        }
        kept = (cluster_id in changed and file.reader != keys[cluster_id] for (cluster_id, _), file in removed.items())
        if count := sum(kept):
            what = "older version or missing file was" if count == 1 else "older versions or missing files were"
            self.result.warnings.append(
                f"{self.reader.KIND}: {count:,} {what} read with other settings or rules, and stay as they were read"
            )

    def _pending(self, present: Sequence[SourceFile], *, full: bool) -> list[SourceFile]:
        pending = []
        for file in present:
            before = self.known_files.get(file.key)
            key = reader_key(self.reader, self.survey.clusters[file.cluster_id])
            is_read = before is not None and before.status != REFUSED and before.reader == key
            if full or before is None or not is_read or not is_unchanged(file, before, self.reader):
                pending.append(file)
                continue
            self.result.files_unchanged += 1
            if before.modified_at != file.modified_at or not before.is_present:
                note_modification(self.con, file)
        return pending

    def record(self, outcome: Outcome) -> None:
        """Count the files of a batch, and refuse those that failed."""
        for refused in outcome.refused:
            self.refuse(refused)
        self.result.files_read += len(outcome.batch.files) - len(outcome.refused)

    def refuse(self, refused: RefusedFile) -> None:
        """Record in `ops.files` that a file is refused; what was read of it before stays as an older version."""
        file, error = refused.file, refused.error
        if self.survey.clusters[file.cluster_id].is_pseudonymous:
            error = without_quotes(error)
        self.result.files_refused += 1
        self.result.warnings.append(f"not read: {error}")
        before = self.known_files.get(file.key)
        reader = reader_key(self.reader, self.survey.clusters[file.cluster_id])
        now = KnownFile(
            file.size_bytes, file.modified_at, file.sha256, file.dialect, reader, REFUSED, error.what, error.next_step
        )
        if before == now:
            return
        row = {
            "cluster_id": file.cluster_id, "path": file.path, "kind": self.reader.KIND, "run_id": self.run_id,
            "lines_in": 0, "loaded": 0, "skipped": 0, "quarantined": 0, "is_partial": False, "warnings": [],
            **{name: value for name, value in now.__dict__.items() if name not in {"loaded", "has_open_line"}},
        }  # fmt: skip
        with transaction(self.con):
            if before is not None and before.status == REFUSED:
                forget_files(self.con, self.reader, [file.key])
            elif before is not None:
                self._note_versions(become_versions(self.con, self.reader, {file.key: before}, self.run_id))
            _insert_row(self.con, "ops.files", row)
        self.known_files[file.key] = now


def _insert_row(con: duckdb.DuckDBPyConnection, table: str, row: dict[str, Any]) -> None:
    """Insert one row, given by its columns."""
    columns = ", ".join(identifier(column) for column in row)
    con.execute(f"insert into {table} ({columns}) values ({', '.join('?' * len(row))})", list(row.values()))
