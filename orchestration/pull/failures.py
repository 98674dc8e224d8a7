"""Why logs could not be fetched: what happened, and what to do next. Secrets in quoted texts are masked."""

from __future__ import annotations

from assets.sources.text.masking import mask


class PullFailed(Exception):
    """A query that gave nothing that can be kept."""

    def __init__(self, what: str, next_step: str) -> None:
        self.what, self.next_step = mask(what), next_step
        super().__init__(f"{self.what}; {next_step}")


class HostUnreachable(PullFailed):
    """No further query would be answered: the host, or the folder for the answers, cannot be reached."""


class PullRunning(PullFailed):
    """Another process fetches the logs of this cluster."""
