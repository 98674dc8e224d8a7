"""Runs that fail, restart and fail again, and preempt the work of others each time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from assets.simulation.ledger import Ledger

MIN_CRASH_LOOP = 3


def crash_loops(ledger: Ledger, is_failed: NDArray[np.bool_]) -> dict[str, NDArray[np.int64]]:
    """Find the runs that failed at least three times in a row.

    Parameters
    ----------
    ledger
        A frozen ledger.
    is_failed
        Per attempt, whether it counts as failed by infrastructure.

    Returns
    -------
    dict
        Columns `run`, `failures` (the longest row of failed attempts), `restarts` (how many of these were followed by
        another attempt of the run), `victims` (attempts that any attempt of the run preempted).
    """
    attempts, count = ledger.attempts, len(ledger.runs)
    run = ledger.jobs["run"][attempts["job"]]
    often = np.bincount(run[is_failed], minlength=count) >= MIN_CRASH_LOOP
    rows = np.flatnonzero(often[run] & (attempts["start"] >= 0))
    rows = rows[np.lexsort((attempts["start"][rows], run[rows]))]
    of, failed = run[rows], is_failed[rows]
    goes_on = np.zeros(len(rows), np.bool_)
    goes_on[1:] = failed[1:] & failed[:-1] & (of[1:] == of[:-1])
    streak = np.cumsum(~goes_on) - 1
    firsts = np.flatnonzero(~goes_on)
    lasts = np.append(firsts, len(rows))[1:] - 1
    lengths = np.bincount(streak, failed, minlength=len(firsts)).astype(np.int64)
    followed = (lasts + 1 < len(rows)) & (of[np.minimum(lasts + 1, len(rows) - 1)] == of[lasts])
    order = np.lexsort((-lengths, of[firsts]))
    longest = order[np.unique(of[firsts][order], return_index=True)[1]]
    longest = longest[lengths[longest] >= MIN_CRASH_LOOP]
    instigators = run[ledger.preemptions["instigator"]]
    found = of[firsts][longest].astype(np.int64)
    return {
        "run": found,
        "failures": lengths[longest],
        "restarts": lengths[longest] - ~followed[longest],
        "victims": np.bincount(instigators, minlength=count)[found],
    }
