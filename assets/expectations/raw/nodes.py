"""What must hold for raw.nodes: machines that can exist."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from assets.expectations.rules import believable_time, columns, no_row, of_data

MAX_GPUS_PER_NODE = 64
ROW = ("path", "line_number", "node_name")


def expectations() -> list[Expectation]:
    """Return the suite."""
    rules = [
        columns("cluster_id", "disposition", "node_name", "node_id", "gpu_count", "captured_at"),
        no_row(
            "gpu_count_possible",
            f"gpu_count not between 0 and {MAX_GPUS_PER_NODE}",
            (*ROW, "gpu_count"),
            f"a node has between 0 and {MAX_GPUS_PER_NODE} GPUs, unless they are parts of GPUs (MIG)",
            warns=True,
        ),
        no_row(
            "size_possible",
            "cpu_count < 1 or memory_mib < 0",
            (*ROW, "cpu_count", "memory_mib"),
            "a node has at least one CPU and no negative memory",
        ),
        believable_time("captured_at", *ROW),
        believable_time("booted_at", *ROW),
    ]
    return of_data(rules)
