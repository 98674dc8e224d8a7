"""Report the outcome of a refresh: alerts, lineage and metrics for other programs. It never makes a refresh fail."""

from __future__ import annotations

import os

from orchestration.alerts.sending import Say, tell_of_failure, tell_of_publication
from orchestration.metrics.collecting import keep_metrics
from orchestration.open_lineage.sending import send_failure, send_publication
from orchestration.settings.environment import HomeSettings


def report_end(
    settings: HomeSettings, say: Say, message: str | None, run_id: str | None, *, has_published: bool = False
) -> None:
    """Report how a refresh ended, after it released its lock: the metrics read the working file.

    Parameters
    ----------
    settings
        The home, and where reports go.
    say
        Called with a line for each problem.
    message
        Why the refresh failed; None if it did not.
    run_id
        The run, if one was started.
    has_published
        The run has published what readers see.
    """
    if message is None:
        tell_of_publication(settings, say)
    else:
        tell_of_failure(settings, message, run_id, say)
        send_failure(settings, run_id, message, say)
    if run_id is not None and has_published:
        send_publication(settings, run_id, say)
    # If the home cannot be written, the failure says so already.
    if settings.metrics_file or os.access(settings.home.work, os.W_OK):
        keep_metrics(settings, say)
