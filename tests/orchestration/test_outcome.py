"""What the last lines of a refresh say about each cluster."""

from __future__ import annotations

import io

import pytest

from assets.sources.errors import SourceError
from orchestration.refresh.outcome import Outcome
from orchestration.terminal.output import console

ROW = {
    "cluster_id": "c1", "is_simulated": False, "is_stale": False, "node_count": 16, "attempts": 102, "failures": 8,
    "expected_failures": 7.61, "expected_lost_gpu_hours": 120.4, "expected_lost_gpu_hours_low": 60.0,
    "expected_lost_gpu_hours_high": 240.0,
    "rate": 6.5, "rate_low": 2.5, "rate_high": 13.1, "rate_failures": 8, "node_days": 1230.0,
    "population": "gpus_gt_128", "has_enough_data": True, "rate_note": None, "has_accounting": True,
    "recorded_failures": 0,
}  # fmt: skip


def printed(cluster, *more) -> str:
    """Return the output of a refresh of one cluster."""
    out = io.StringIO()
    lines = dict.fromkeys(("lines_in", "loaded", "skipped", "quarantined"), 0)
    checks = dict.fromkeys(("passed", "failed", "warned"), 0)
    Outcome("published", 1.0, "r", "w", [cluster], lines, checks, *more).print(console(out))
    return out.getvalue()


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ({}, "6.5 per 1,000 node-days, 90% interval 2.5 to 13.1 (8 failures in 1,230 node-days, jobs of more than 128"),
        ({"rate": 0.0, "rate_low": 0.0, "rate_failures": 0}, "days: none seen, below 13.1 (90%; 0 failures in 1,230"),
        ({"has_enough_data": False, "rate_note": "too little: 3 minutes; other"}, "too little: 3 minutes; other"),
        ({"rate_high": None}, "failure rate unknown"),
        ({"has_accounting": False, "recorded_failures": 584}, "c1: no accounting, 584 recorded failures\n"),
        ({}, "16 nodes, 7.61 infrastructure failures expected, which cost 120 [60, 240] GPU-hours"),
        ({"has_enough_data": False}, "7.61 infrastructure failures expected, which cost 120 GPU-hours"),
        ({"expected_failures": 0.0, "expected_lost_gpu_hours": 0.0}, " 0 infrastructure failures expected\n"),
        ({"expected_failures": None, "failures": None, "expected_lost_gpu_hours": None}, "failures unknown"),
    ],
)
def test_numbers_come_with_what_they_rest_on_and_are_unknown_where_nothing_could_be_seen(found, words) -> None:
    text = printed(ROW | found)
    assert words in text
    assert ("failure rate" in text) is found.get("has_accounting", True)


def test_a_name_with_a_line_break_begins_no_line() -> None:
    odd = "c1\nreport    /forged"
    failing = [{"cluster_id": odd, "is_stale": True, "reasons": [str(SourceError(odd, "wrong", "Mend it."))]}]
    refused = [{"path": f"{odd}/sacct/a", "reason": "empty", "next_step": "Export it again."}]
    apart = [{"path": f"{odd}/kernel/a", "days": "2022-06-01 to 2022-06-03"}]
    lines = printed(ROW | {"cluster_id": odd}, None, failing, refused, apart).splitlines()
    assert sum("forged" in line for line in lines) == 5
    assert [line for line in lines if line.startswith("no jobs") and line.endswith("2022-06-01 to 2022-06-03")]
    assert [line for line in lines if line.startswith("report")] == ["report    r"]
