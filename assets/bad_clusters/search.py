"""Find the clusters that make a step fail: repeat the step, in place, on the rows of some clusters.

A step is dbt's build or an estimate. In a trial, rows of stage `trial` leave out the other clusters. The tables keep
the rows of a trial until the step is built again; nothing is published before that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from assets.bad_clusters.errors import described, may_be_of_rows
from assets.bad_clusters.left_out import TRIAL, clusters_to_try, record_failures, running_run
from assets.warehouse import Warehouse


def leave_out_bad_clusters(
    warehouse: Warehouse,
    stage: str,
    error: Exception,
    attempt: Callable[[], object],
    explain: Callable[[Exception], str] = described,
) -> list[str]:
    """Leave out of the running run the clusters with rows on which a step fails, and return them.

    The step has raised `error`; `attempt` repeats it on the clusters that the run does not leave out, and `explain`
    turns an error into the recorded reason. No cluster is returned if the error is the step's own.
    """
    if not may_be_of_rows(error):
        return []
    with warehouse.writing() as con:
        run_id = running_run(con)
        clusters, left_out_before = clusters_to_try(con, stage)

    def attempt_on(group: Sequence[str]) -> None:
        with warehouse.writing() as con:
            record_failures(con, run_id, TRIAL, {name: ["not on trial"] for name in clusters if name not in group})
        attempt()

    found = {}
    try:
        found = find_bad_clusters(clusters, attempt_on, error, left_out_before)
    finally:
        with warehouse.writing() as con:
            record_failures(con, run_id, stage, {name: [explain(own)] for name, own in found.items()})
    return list(found)


def find_bad_clusters(
    clusters: Sequence[str],
    attempt: Callable[[Sequence[str]], object],
    error: Exception,
    left_out_before: Sequence[str] = (),
) -> dict[str, Exception]:
    """Return the clusters on whose rows alone a step fails, with their errors.

    `attempt` tries the step on some clusters; `error` is the error on all of them. If the step works without the
    clusters that the last publication left out, only these are searched. The result is empty if no cluster fails alone,
    or if all do, because leaving one out does not help then. An error of a trial that rows cannot cause is raised.
    """

    def error_on(group: Sequence[str]) -> Exception | None:
        try:
            attempt(group)
        except Exception as found:
            if not may_be_of_rows(found):
                raise
            return found
        return None

    def search(group: Sequence[str], *, must_fail: bool) -> dict[str, Exception]:
        # A cluster is at fault only if it fails alone: rows of two clusters may fail only together.
        if len(group) == 1 or not must_fail:
            own = error_on(group)
            if own is None or len(group) == 1:
                return {group[0]: own} if own else {}
        middle = len(group) // 2
        found = search(group[:middle], must_fail=False)
        return found | search(group[middle:], must_fail=not found)

    if len(clusters) < 2:
        return {}
    others = [cluster_id for cluster_id in clusters if cluster_id not in left_out_before]
    if left_out_before and others and error_on(others) is None:
        # One of several may work again; a single one is at fault without a further trial.
        found = search(left_out_before, must_fail=True) if len(left_out_before) > 1 else {}
        return found or dict.fromkeys(left_out_before, error)
    found = search(clusters, must_fail=True)
    return {} if len(found) == len(clusters) else found
