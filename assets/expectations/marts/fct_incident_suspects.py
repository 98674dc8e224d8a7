"""What must hold for marts.fct_incident_suspects: a known culprit stands alone, and everybody suspected is counted."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from assets.expectations.rules import columns, no_finding, no_row, not_negative, ratio

ROW = ("cluster_id", "incident_id", "node_id")


def expectations() -> list[Expectation]:
    """Return the suite."""
    return [
        columns(
            *ROW, "is_known", "incident_probability", "suspect_count", "failed_at", "is_multi_node", "lost_gpu_hours"
        ),
        not_negative("lost_gpu_hours", *ROW),
        ratio("incident_probability", *ROW),
        no_row(
            "known_stands_alone",
            "suspect_count < 1 or (is_known and suspect_count <> 1)",
            (*ROW, "suspect_count"),
            "a known culprit is the only suspect",
        ),
        no_finding("suspects_counted", SUSPECTS_COUNTED, "as many suspects as are counted"),
    ]


SUSPECTS_COUNTED = """
    select cluster_id, concat(incident_id, ': ', any_value(suspect_count), ' counted, ', count(*), ' there') as finding
    from {batch}
    where not is_known
    group by cluster_id, incident_id
    having count(*) <> any_value(suspect_count)
    order by finding
"""
