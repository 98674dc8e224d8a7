"""The assumptions of a plan, their effects, and spare nodes."""

import pytest

from assets.model.spares import enough_spares, probability_without_spare
from tests.homes import change

ASKED = ("--gpus", 4096, "--rate", 6.5)
COSTS = {"write_minutes": "--write", "restart_minutes": "--restart", "queue_minutes": "--queue"}


def by_name(found):
    return {each["name"]: each for each in found["assumptions"]}


def test_each_assumption_says_what_the_answer_would_become(answer):
    found = by_name(answer(*ASKED))
    assert set(found) == {*COSTS, "spare_count", "checkpoint_minutes", "gpus_per_node"}
    for name, option in COSTS.items():
        other = answer(*ASKED, option, f"{found[name]['other_value']:g}m")
        assert found[name]["ettr"] == other["ettr_optimal"]
        assert found[name]["checkpoint_minutes"] == other["checkpoint_minutes_optimal"]
        assert name not in by_name(other), "given values are no assumptions"
    assert (found["write_minutes"]["value"], found["write_minutes"]["other_value"]) == (5, 10)
    assert found["gpus_per_node"]["ettr"] == answer(*ASKED, "--gpus-per-node", 4)["ettr_optimal"]
    twice = found["checkpoint_minutes"]
    assert twice["other_value"] == pytest.approx(2 * answer(*ASKED)["checkpoint_minutes_optimal"])
    other = answer(*ASKED, "--checkpoint", f"{60 * twice['other_value']}s")
    assert twice["ettr"] == pytest.approx(other["ettr_expected_exact"], rel=1e-6)
    assert (found["spare_count"]["other_value"], found["spare_count"]["ettr"]) == (None, None)
    best, others = answer(*ASKED)["ettr_optimal"], [each["ettr"] for each in found.values() if each["ettr"] is not None]
    assert others == sorted(others, key=lambda ettr: -abs(ettr - best)), "the largest effect comes first"


def test_what_a_cluster_tells_is_taken_before_what_is_usual(answer, own_home):
    asked = ("--gpus", 1024, "--cluster", "large")
    found = by_name(answer(*asked))
    assert {found[name]["source"] for name in ("write_minutes", "restart_minutes")} == {"usual"}
    change(
        own_home,
        "update marts.dim_clusters set write_minutes = 0.5, restart_minutes = 7",
        "insert into marts.fct_node_outages by name from (values "
        "('large', timestamp '2026-01-01 00:00', timestamp '2026-01-01 06:00', false), "
        "('large', timestamp '2026-01-02 00:00', timestamp '2026-01-02 10:00', false), "
        "('large', timestamp '2026-01-03 00:00', timestamp '2026-01-13 00:00', true), "
        "('large', timestamp '2026-01-04 00:00', null, false)) as o (cluster_id, started_at, ended_at, is_planned)",
    )
    found = answer(*asked, "--queue", "1h", "--spares", 2, root=own_home.root)
    assert (found["write_minutes"], found["restart_minutes"], found["repair_hours"]) == (0.5, 7, 8)
    assert {each["source"] for each in found["assumptions"] if each["name"] != "checkpoint_minutes"} == {"cluster"}
    given = answer(*asked, "--write", "5m", "--restart", "5m", root=own_home.root)
    assert given["ettr_optimal"] == answer(*asked)["ettr_optimal"]


def test_spares_take_the_wait_from_failures_that_find_one(answer):
    waiting = answer(*ASKED, "--queue", "1h")
    none = answer(*ASKED, "--queue", "1h", "--spares", "none")
    assert none["ettr_optimal"] == waiting["ettr_optimal"] and none["probability_without_spare"] == 1
    two = answer(*ASKED, "--queue", "1h", "--spares", 2, "--repair", "12h")
    per_day = 512 * 0.0065
    without = float(probability_without_spare(per_day, 0.5, 2))
    assert two["probability_without_spare"] == pytest.approx(without)
    assert two["ettr_optimal"] == pytest.approx(
        answer(*ASKED, "--queue", f"{3600 * without}s")["ettr_optimal"], rel=1e-6
    )
    assert two["ettr_optimal"] > none["ettr_optimal"]
    many = by_name(waiting)["spare_count"]
    assert many["other_value"] == enough_spares(per_day, 1.0)
    assert many["ettr"] == answer(*ASKED, "--queue", "1h", "--spares", int(many["other_value"]))["ettr_optimal"]
    assert by_name(two).keys() & {"repair_hours", "spare_count"} == set()


def test_without_a_rate_no_assumption_is_said_to_matter(answer):
    found = answer("--gpus", 64, "--cluster", "quiet")["assumptions"]
    assert {each["ettr"] for each in found} == {None}
