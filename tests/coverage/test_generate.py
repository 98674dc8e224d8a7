"""The generator plants what it says."""

import json
from dataclasses import replace

import numpy as np
import pytest

from tests.coverage.checks import check_results, kernel_lines
from tests.coverage.generate import write_cluster
from tests.coverage.happenings import live_through
from tests.coverage.logs import first_moment
from tests.coverage.sites import SITES
from tests.coverage.truth import planted

SITE = replace(SITES[0], node_count=60, fault_rate=30.0, false_alarm_share=0.02, month_cv=0.3, switch_rate=40.0)


@pytest.fixture(scope="module")
def truths():
    made = []
    for seed in range(6):
        happenings = live_through(SITE, 25, seed, first_moment(2))
        rng = np.random.default_rng(seed)
        made.append(planted(happenings, check_results(happenings, rng), kernel_lines(happenings, rng)))
    return made


@pytest.mark.parametrize("population", ["all", "gpus_gt_128"])
def test_failures_come_at_the_planted_rate(truths, population):
    rates = [truth["planted_per_1000_node_days"][population] for truth in truths]
    expected = sum(rate["rate"] * rate["node_days"] / 1000 for rate in rates)
    count = sum(rate["failure_count"] for rate in rates)
    assert expected > 50
    assert abs(count - expected) < 4 * np.sqrt(3 * expected), "an incident ends up to about three attempts"


def test_false_alarms_stand_in_the_windows_of_so_many_completed_attempts(truths):
    done = [a for truth in truths for a in truth["attempts"] if a["state"] == "COMPLETED"]
    share = np.mean([a["has_evidence_in_window"] for a in done])
    assert 0.012 < share < 0.03


def test_flaky_nodes_may_give_their_false_alarms_in_rows():
    """As many of them, and closer together."""
    lone = live_through(SITE, 25, 1, first_moment(2))
    rows = live_through(replace(SITE, alarms_in_a_row=12.0), 25, 1, first_moment(2))

    def next_within_the_hour(happenings):
        of_node = {}
        for alarm in happenings.alarms:
            of_node.setdefault(alarm.node, []).append(alarm.start)
        gaps = np.concatenate([np.diff(starts) for starts in of_node.values()])
        return np.mean(gaps < 3600)

    assert 0.5 < len(rows.alarms) / len(lone.alarms) < 2
    assert next_within_the_hour(rows) > 0.7 > 0.4 > next_within_the_hour(lone)


def test_planned_maintenance_and_users_are_no_faults(truths):
    hazel = live_through(replace(SITES[7], node_count=60, load=0.9), 25, 3, first_moment(1))
    truth = planted(hazel, [], [])
    assert any(a["is_planned_end"] for a in truth["attempts"])
    assert not any(a["is_planned_end"] and a["fault"] is not None for a in truth["attempts"])
    assert sum(a["state"] == "FAILED" and a["fault"] is None for a in truth["attempts"]) > 50


def test_the_same_seed_writes_the_same_files(tmp_path):
    for home in (tmp_path / "a", tmp_path / "b"):
        write_cluster(home, replace(SITE, node_count=40, switch_rate=0), 6, 1, first_moment(0))
    files = sorted(path.relative_to(tmp_path / "a") for path in (tmp_path / "a").rglob("*") if path.is_file())
    assert len(files) >= 5
    for path in files:
        assert (tmp_path / "a" / path).read_bytes() == (tmp_path / "b" / path).read_bytes()
    truth = json.loads((tmp_path / "a" / "truth" / "alder.json").read_text())
    assert truth["attempts"]
