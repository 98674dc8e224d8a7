"""Find the clusters at fault where a step fails: try it again, in place, on the rows of some clusters.

A step is dbt's build or an estimate. In a trial the other clusters are left out by rows of stage `trial`. What a trial
writes into the tables of the step stays there until the step is built again; nothing is published before that.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from assets.bad_clusters.errors import described, may_be_of_rows
from assets.bad_clusters.failures import TRIAL, add_failures, record_failures, running_run, suspects
from assets.warehouse import Warehouse


def leave_out_bad_clusters(
    warehouse: Warehouse,
    stage: str,
    error: Exception,
    attempt: Callable[[], object],
    explain: Callable[[Exception], str] = described,
) -> list[str]:
    """Find the clusters on whose rows a step fails, and leave them out of the run that is under way.

    Parameters
    ----------
    warehouse
        What the step reads and writes.
    stage
        The stage of `ops.cluster_failures` under which they are recorded.
    error
        Raised by the step.
    attempt
        Runs the step again, on the clusters that the run does not leave out.
    explain
        Turns an error into the reason that is recorded.

    Returns
    -------
    The clusters; none if it is the step's own error.

    Raises
    ------
    Exception
        An error of a trial that rows cannot cause.
    """
    if not may_be_of_rows(error):
        return []
    with warehouse.writing() as con:
        run_id = running_run(con)
        clusters, left_out_before = suspects(con, run_id, stage)

    def attempt_on(group: Collection[str]) -> None:
        with warehouse.writing() as con:
            others = {cluster_id: ["not on trial"] for cluster_id in clusters if cluster_id not in group}
            record_failures(con, run_id, TRIAL, others)
        attempt()

    try:
        found = find_bad_clusters(clusters, attempt_on, error, left_out_before)
    finally:
        with warehouse.writing() as con:
            record_failures(con, run_id, TRIAL, {})
    with warehouse.writing() as con:
        add_failures(con, run_id, stage, {cluster_id: [explain(error)] for cluster_id, error in found.items()})
    return list(found)


def find_bad_clusters(
    suspects: Sequence[str],
    attempt: Callable[[Sequence[str]], object],
    error: Exception,
    left_out_before: Sequence[str] = (),
) -> dict[str, Exception]:
    """Find every cluster on whose rows alone a step fails, where it has failed on the rows of all.

    Parameters
    ----------
    suspects
        The clusters, the likeliest first.
    attempt
        Tries the step on some clusters, and raises its error.
    error
        Raised on the rows of all.
    left_out_before
        Those that the last publication was made without. If the step works without them, only they are searched.

    Returns
    -------
    The errors by cluster. There is none if no cluster fails alone, or if all do: leaving out a cluster is no help then.

    Raises
    ------
    Exception
        An error of a trial that rows cannot cause.
    """

    def error_on(group: Sequence[str]) -> Exception | None:
        try:
            attempt(group)
        except Exception as error:
            if not may_be_of_rows(error):
                raise
            return error
        return None

    def search(group: Sequence[str], *, must_fail: bool) -> dict[str, Exception]:
        # A cluster is at fault only if it was tried alone: rows of two clusters may fail together and in no other way.
        if len(group) == 1 or not must_fail:
            error = error_on(group)
            if error is None or len(group) == 1:
                return {group[0]: error} if error else {}
        middle = len(group) // 2
        found = search(group[:middle], must_fail=False)
        return found | search(group[middle:], must_fail=not found)

    if len(suspects) < 2:
        return {}
    others = [cluster_id for cluster_id in suspects if cluster_id not in left_out_before]
    if left_out_before and others and error_on(others) is None:
        # One of several may be well again; a single one is at fault without a further trial.
        found = search(left_out_before, must_fail=True) if len(left_out_before) > 1 else {}
        return found or dict.fromkeys(left_out_before, error)
    found = search(suspects, must_fail=True)
    return {} if len(found) == len(suspects) else found
