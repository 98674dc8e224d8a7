"""What must hold for estimates.est_lemon_root_causes: shares of the lemons that sum to 1."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from assets.expectations.fitted import EVIDENCE, evidenced
from assets.expectations.rules import columns, interval, no_finding, no_row, one_of, ratio

ROW = ("cluster_id", "root_cause")
COMPONENTS = ("GPU", "DIMM", "PCIe", "EUD", "BIOS", "NIC", "PSU", "Optics", "CPU", "unknown")


def expectations() -> list[Expectation]:
    """Return the suite."""
    return [
        columns(*ROW, "node_count", "ratio", "ratio_low", "ratio_high", *EVIDENCE),
        one_of("root_cause", COMPONENTS, "the root cause is a component or unknown"),
        ratio("ratio", *ROW),
        interval("ratio", *ROW),
        no_row("causes_occur", "node_count < 1", (*ROW, "node_count"), "a cause that is listed occurs"),
        no_finding("every_lemon_once", EVERY_LEMON_ONCE, "every lemon has one root cause"),
        *evidenced(*ROW),
    ]


EVERY_LEMON_ONCE = """
    select cluster_id, concat(cluster_id, ': ', coalesce(here, 0), ' here, ', coalesce(lemons, 0), ' lemons') as finding
    from (select cluster_id, sum(node_count) as here from {batch} group by cluster_id)
    full join (
        select cluster_id, count(*) as lemons
        from estimates.est_lemon_nodes
        where verdict = 'lemon'
        group by cluster_id
    ) using (cluster_id)
    where coalesce(here, 0) <> coalesce(lemons, 0)
    order by finding
"""
