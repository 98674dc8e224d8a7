"""A pull on the console: on a terminal the window under way, and in any case a line for each kind of log at the end."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.markup import escape
from rich.status import Status

from orchestration.pull.outcomes import BUSY, in_words
from orchestration.pull.pulling import Pulled


class PullProgress:
    """Shows the last window on a terminal, and nothing anywhere else.

    Parameters
    ----------
    cluster_id
        The cluster that is pulled.
    console
        Where to write.
    """

    def __init__(self, cluster_id: str, console: Console) -> None:
        self._cluster_id = cluster_id
        self._status: Status | None = console.status(f"pulling {cluster_id}") if console.is_terminal else None

    def say(self, line: str) -> None:
        """Show a line about the pull until there is another one."""
        if self._status is not None:
            self._status.update(escape(f"{self._cluster_id}: {line}"[:150]))

    def __enter__(self) -> PullProgress:
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._status is not None:
            self._status.stop()


def lines_of(pulled: Pulled) -> Iterator[str]:
    """Say what a pull fetched, a line for each kind of log."""
    if pulled.status == BUSY:
        yield f"{pulled.cluster_id} is being pulled by another process"
        return
    for kind, counts in pulled.kinds.items():
        queries = "query" if counts.asked == 1 else "queries"
        files = "file" if counts.written == 1 else "files"
        yield (
            f"{pulled.cluster_id} {kind:<10}{counts.asked:>5,} {queries}, {counts.records:,} records, "
            f"{counts.written:,} new {files}"
        )
    yield f"{pulled.cluster_id} accounting is there up to {in_words(pulled.pulled_to)}; {pulled.seconds:.0f} s"
