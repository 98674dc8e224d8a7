"""What must hold for raw.kernel_messages: known kinds of line, possible codes, believable times."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from assets.expectations.rules import believable_time, columns, no_row, of_data, one_of
from assets.expectations.shares import mostly_known_nodes

ROW = ("path", "line_number", "node_name")
KINDS = (
    *("xid", "sxid", "fell_off_bus", "oom_cgroup", "oom_system", "pcie_aer_fatal", "pcie_aer_corrected", "edac_ue"),
    *("edac_ce", "mce", "ib_link", "eth_link", "fs_mount", "block_io", "hung_task", "nccl_segfault", "boot"),
)


def expectations() -> list[Expectation]:
    """Return the suite."""
    rules = [
        columns("cluster_id", "disposition", "node_id", "occurred_at", "kind", "code", "line_count", "repeat_count"),
        one_of("kind", KINDS, "every line is of a kind the readers name"),
        believable_time("occurred_at", *ROW),
        no_row(
            "code_possible",
            "(kind = 'xid' and (code is null or code not between 1 and 999))"
            " or (kind = 'sxid' and (code is null or code not between 1 and 99999))",
            (*ROW, "kind", "code"),
            "an Xid lies between 1 and 999, an SXid between 1 and 99999",
            warns=True,
        ),
        no_row(
            "lines_counted",
            "disposition = 'loaded' and (line_count < 1 or repeat_count < 1)",
            (*ROW, "line_count", "repeat_count"),
            "an event stands for at least one line",
        ),
        mostly_known_nodes(),
    ]
    return of_data(rules)
