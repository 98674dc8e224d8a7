"""What a plan assumed, what it changes, and spare nodes."""

import re

import duckdb
import pytest

from assets.model.spares import enough_spares, probability_without_spare

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
        assert name not in by_name(other), "what is given is not assumed"
    assert (found["write_minutes"]["value"], found["write_minutes"]["other_value"]) == (5, 10)
    assert found["gpus_per_node"]["ettr"] == answer(*ASKED, "--gpus-per-node", 4)["ettr_optimal"]
    twice = found["checkpoint_minutes"]
    assert twice["other_value"] == pytest.approx(2 * answer(*ASKED)["checkpoint_minutes_optimal"])
    other = answer(*ASKED, "--checkpoint", f"{60 * twice['other_value']}s")
    assert twice["ettr"] == pytest.approx(other["ettr_expected_exact"], rel=1e-6)
    assert (found["spare_count"]["other_value"], found["spare_count"]["ettr"]) == (None, None)


def test_what_matters_most_comes_first(answer):
    found = answer(*ASKED)
    changes = [abs(each["ettr"] - found["ettr_optimal"]) for each in found["assumptions"] if each["ettr"] is not None]
    assert changes == sorted(changes, reverse=True) and changes[0] > 2 * changes[-1]
    assert found["assumptions"][-1]["name"] == "spare_count"


def test_lines_name_what_was_assumed(run):
    text = " ".join(run(*ASKED, "--queue", "30m").stdout.split())
    assert re.search(r"write 5 min: with 10 min the ETTR would be 0\.\d+", text)
    assert re.search(r"spare nodes none: with 8 the ETTR would be 0\.\d+", text)
    assert "queue 30 min:" not in text
    text = " ".join(run(*ASKED).stdout.split())
    assert "spare nodes none: another value changes nothing where no attempt waits in a queue" in text


def test_what_a_cluster_tells_is_taken_before_what_is_usual(answer, run, own_home):
    asked = ("--gpus", 1024, "--cluster", "large")
    found = by_name(answer(*asked))
    assert {found[name]["source"] for name in ("write_minutes", "restart_minutes")} == {"usual"}
    with duckdb.connect(str(own_home.published_file)) as con:
        con.execute("alter table marts.dim_clusters add column if not exists write_minutes double")
        con.execute("alter table marts.dim_clusters add column if not exists restart_minutes double")
        con.execute("update marts.dim_clusters set write_minutes = 0.5, restart_minutes = 7")
        con.execute(
            "insert into marts.fct_node_outages by name from (values "
            "('large', timestamp '2026-01-01 00:00', timestamp '2026-01-01 06:00', false), "
            "('large', timestamp '2026-01-02 00:00', timestamp '2026-01-02 10:00', false), "
            "('large', timestamp '2026-01-03 00:00', timestamp '2026-01-13 00:00', true), "
            "('large', timestamp '2026-01-04 00:00', null, false)) as o (cluster_id, started_at, ended_at, is_planned)"
        )
    found = answer(*asked, "--queue", "1h", "--spares", 2, root=own_home.root)
    assert (found["write_minutes"], found["restart_minutes"], found["repair_hours"]) == (0.5, 7, 8)
    assert {each["source"] for each in found["assumptions"] if each["name"] != "checkpoint_minutes"} == {"cluster"}
    text = run(*asked, "--queue", "1h", "--spares", 2, root=own_home.root).stdout
    assert "write 30 s, as on this cluster: with 1 min" in text
    assert "2 spare nodes, nodes out for 8.00 h" in text
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


def test_without_a_rate_no_assumption_is_said_to_matter(answer, run):
    found = answer("--gpus", 64, "--cluster", "quiet")["assumptions"]
    assert {each["ettr"] for each in found} == {None}
    text = run("--gpus", 64, "--cluster", "quiet").stdout
    assert "write 5 min: what it changes cannot be told without a failure rate" in text
    assert "nan" not in text and "None" not in text
