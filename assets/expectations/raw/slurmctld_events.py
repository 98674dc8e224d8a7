"""What must hold for raw.slurmctld_events: known kinds of line, and the parts that make each kind useful."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from assets.expectations.rules import believable_time, columns, no_row, of_data, one_of
from assets.expectations.shares import mostly_known_nodes

ROW = ("path", "line_number", "kind")
KINDS = (
    *("preempted", "preempted_without_instigator", "job_node_failure", "node_not_responding", "reason_set"),
    *("state_set", "node_returned", "node_rebooted", "prolog_failure", "epilog_failure", "drained_by_slurm"),
    *("node_invalid", "job_requeued"),
)


def expectations() -> list[Expectation]:
    """Return the suite."""
    rules = [
        columns("cluster_id", "disposition", "logged_at", "kind", "job_id_raw", "instigator_job_id_raw", "node_id"),
        one_of("kind", KINDS, "every line is of a kind the readers name"),
        believable_time("logged_at", *ROW),
        no_row(
            "preemption_complete",
            "kind = 'preempted' and (job_id_raw is null or "
            "coalesce(instigator_job_id_raw, instigator_array_job_id) is null)",
            (*ROW, "job_id_raw", "instigator_job_id_raw", "instigator_array_job_id"),
            "a preemption with an instigator names victim and instigator",
        ),
        no_row(
            "preemption_not_of_itself",
            "kind = 'preempted' and job_id_raw = instigator_job_id_raw",
            (*ROW, "job_id_raw"),
            "no job preempts itself",
        ),
        mostly_known_nodes("node_name is not null"),
    ]
    return of_data(rules)
