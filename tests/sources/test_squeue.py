"""squeue snapshots: excluded nodes where they are shown, nothing invented where they are not."""

from __future__ import annotations

from assets.sources.squeue import reader as squeue
from tests.sources.batches import TESTBED, load, read

HEADER = "JOBID|EXC_NODES|STATE\n"


def test_the_genuine_capture_has_no_column_of_excluded_nodes() -> None:
    outcome = read(squeue, (TESTBED / "squeue" / "squeue.txt").read_text(encoding="utf-8"))
    assert outcome.skips == {"no_excluded_nodes_column": 81, "header": 1}
    assert not outcome.loaded
    assert not outcome.quarantined


def test_the_first_sight_of_an_exclusion_counts_whatever_the_order() -> None:
    snapshots = [{f"squeue.{1795248220 + 300 * number}.txt": HEADER + "7|n1,n2|RUNNING\n"} for number in range(3)]
    for order in (snapshots, snapshots[::-1]):
        table = load(squeue, *order)
        assert {row["path"] for row in table if row["disposition"] == "loaded"} == {"c1/squeue/squeue.1795248220.txt"}
        assert sum(row["disposition"] == "duplicate" for row in table) == 4
