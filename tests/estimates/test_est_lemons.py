"""The lemon tables on a planted cluster, and on one with a record that is too short."""

import shutil
from datetime import timedelta
from functools import partial

import pytest

from assets.estimates.est_lemon_effects import est_lemon_effects
from assets.estimates.est_lemon_evaluations import est_lemon_evaluations
from assets.estimates.est_lemon_nodes import est_lemon_nodes
from assets.warehouse import Warehouse
from tests.estimates.five_clusters import build, read
from tests.estimates.lemon_marts import FIRST, LAST, LEMONS, plant
from tests.homes import ask, change

ASSETS = (est_lemon_nodes, est_lemon_evaluations, est_lemon_effects)


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    """The planted cluster with its estimates."""
    house = Warehouse(path=str(tmp_path_factory.mktemp("lemons") / "faultline.duckdb"))
    build(house)
    plant(house)
    for asset in ASSETS:
        asset(warehouse=house)
    return house


@pytest.fixture
def rows(planted):
    return partial(read, planted)


def node(rows, node_id, cluster_id="planted"):
    (row,) = rows("est_lemon_nodes", cluster_id=cluster_id, node_id=node_id)
    return row


def changed(planted, tmp_path, *statements, values=None):
    """Change a copy of the planted cluster and estimate again; return the copy."""
    house = Warehouse(path=shutil.copy(planted.path, tmp_path))
    change(house, *statements, values=values)
    for asset in ASSETS:
        asset(warehouse=house)
    return house


def incidents(house, since, until):
    """Count the planted incidents of a span."""
    counted = "select count(distinct incident_id) from marts.fct_incident_suspects where cluster_id = 'planted'"
    return ask(house, f"{counted} and failed_at >= '{since}' and failed_at < '{until}'")[0][0]


def test_the_planted_lemons_are_called_and_every_node_has_a_rank(rows):
    named = {row["node_id"] for row in rows("est_lemon_nodes", verdict="lemon")}
    assert len(named & set(LEMONS)) >= 7
    assert len(named - set(LEMONS)) <= 2
    found = rows("est_lemon_nodes", cluster_id="planted")
    assert sorted(row["rank"] for row in found) == list(range(1, 401))
    assert sum(row["verdict"] == "ok" for row in found) > 350


def test_a_lemon_tells_its_rate_counts_and_reasons(rows):
    row = node(rows, "n000")
    assert (row["verdict"], row["note"]) == ("lemon", None)
    assert row["rate"] == pytest.approx(130, rel=0.5)
    assert row["fleet_rate"] == pytest.approx(6.5, rel=0.25)
    assert row["exposure"] == pytest.approx(70.0)
    assert row["event_count"] >= 1
    assert row["inferred_failure_count"] > 0
    assert row["signals_above"] == ["tickets", "multi_node_node_fails"]
    for said in (f"{row['event_count']:.0f} failures in 70 node-days", "tickets 2 (limit 2)", "3 (99th percentile 0)"):
        assert said in row["reasons"]
    assert 0 < row["days_since_last_failure"] < 60
    silent = [row for row in rows("est_lemon_nodes", cluster_id="planted") if row["event_count"] == 0]
    assert {row["days_since_last_failure"] for row in silent if row["inferred_failure_count"] < 0.5} == {None}


def test_shares_of_unknown_culprits_count_towards_the_nodes(rows, planted):
    found = rows("est_lemon_nodes", cluster_id="planted")
    everything = incidents(planted, LAST - timedelta(days=83), LAST + timedelta(days=1))
    assert sum(row["event_count"] + row["inferred_failure_count"] for row in found) == pytest.approx(everything)


def test_two_kinds_of_signals_make_a_node_one_to_watch_and_one_does_not(rows):
    assert node(rows, "n007")["verdict"] in {"watch", "lemon"}
    assert node(rows, "n007")["signals_above"] == ["tickets", "multi_node_node_fails"]
    assert node(rows, "n200")["signals_above"] == ["xid_cnt"]


def test_a_burst_of_long_ago_is_no_lemon_and_doubtful_incidents_are_none(planted, tmp_path):
    """n050's failures all move to one week that ended 60 days ago; n100's are coincidences, nine in ten."""
    house = changed(
        planted,
        tmp_path,
        "update marts.fct_incident_suspects set is_known = true, "
        "failed_at = timestamp '2026-02-18' + to_hours((hash(incident_id) % 100)::bigint) "
        "where node_id = 'n050'",
        "update marts.fct_incident_suspects set incident_probability = 0.1 where node_id = 'n100'",
    )
    burst, doubtful = (node(partial(read, house), name) for name in ("n050", "n100"))
    assert (burst["verdict"], "all of one burst, the last on 2026-02-" in burst["reasons"]) == ("watch", True)
    assert 55 < burst["days_since_last_failure"] < 65
    assert burst["posterior_probability"] > 0.9
    assert doubtful["verdict"] != "lemon"
    assert doubtful["event_count"] < 2


def test_failures_of_nodes_that_were_never_in_use_stop_nothing(planted, tmp_path):
    """n050 is known to have failed, n100 is one of several suspects; neither ran anything."""
    house = changed(
        planted,
        tmp_path,
        "update marts.fct_incident_suspects set is_known = true where node_id = 'n050'",
        "update marts.fct_node_days set study_hours = 0 where node_id in ('n050', 'n100')",
    )
    for name in ("n050", "n100"):
        unused = node(partial(read, house), name)
        assert (unused["event_count"], unused["inferred_failure_count"], unused["exposure"]) == (0, 0, 0)
        assert unused["verdict"] != "lemon"
    assert ask(house, "select count(*) from ops.cluster_failures where cluster_id = 'planted'") == [(0,)]


def test_use_and_failures_outside_the_study_count_for_nothing(planted, tmp_path):
    """The study ends on 30 March at noon: 61 of 84 days, 5 of the last 28, and 80 of 120 large jobs."""
    house = changed(
        planted,
        tmp_path,
        "update marts.dim_clusters set study_to_at = timestamp '2026-03-30 12:00'",
        "update marts.fct_node_days set study_hours = 0 where day_date > date '2026-03-30'",
    )
    found = read(house, "est_lemon_nodes", cluster_id="planted")
    expected = incidents(house, "2026-01-29", "2026-03-30 12:00")
    assert sum(row["event_count"] + row["inferred_failure_count"] for row in found) == pytest.approx(expected)
    assert [row["exposure"] for row in found] == pytest.approx([61 * 20 / 24] * 400)
    effects = read(house, "est_lemon_effects", cluster_id="planted", population="all")[0]
    assert (effects["failure_count"], effects["attempt_count"]) == (0, 80)
    last = read(house, "est_lemon_evaluations", cluster_id="planted")[-1]
    assert last["exposure"] == pytest.approx(last["named_count"] * 5 * 20 / 24)
    assert last["large_job_count"] == 0


def test_a_short_record_is_not_ranked_and_says_why(rows):
    found = rows("est_lemon_nodes", cluster_id="short")
    verdicts = {(row["verdict"], row["rank"], row["posterior_probability"]) for row in found}
    assert verdicts == {("not enough data", None, None)}
    assert found[0]["note"].startswith("only 6 failures of nodes")
    (row,) = rows("est_lemon_evaluations", cluster_id="short")
    assert (row["window_end_date"], row["precision"], row["method"]) == (None, None, "no_period")
    effects = rows("est_lemon_effects", cluster_id="short", population="all")[0]
    assert (effects["failure_ratio"], effects["attempt_count"]) == (None, 0)


def test_each_period_judges_the_list_made_before_it_and_lists_come_true(rows):
    found = rows("est_lemon_evaluations", cluster_id="planted")
    assert [row["window_start_date"] for row in found] == [FIRST] * 3
    assert [(row["judged_end_date"] - row["window_end_date"]).days for row in found] == [28] * 3
    assert [row["judged_count"] for row in found] == [400] * 3
    row = found[-1]
    assert (row["judged_end_date"], row["window_end_date"]) == (LAST, LAST.replace(month=3, day=25))
    assert row["named_count"] >= 6
    assert row["lift"] > 10
    assert row["event_count"] > 5
    assert row["exposure"] == pytest.approx(row["named_count"] * 28 * 20 / 24)
    assert row["lost_gpu_hours_avoidable"] == pytest.approx(4 * row["event_count"], rel=0.2)
    assert (row["large_gpu_count"], row["large_job_count"]) == (512, 40)
    assert row["large_job_failure_ratio"] == pytest.approx(6 / 40)
    assert row["large_job_failure_ratio_without_lemons"] == pytest.approx(2 / 40)


def test_large_jobs_with_and_without_lemons(rows):
    """Over the last 84 days: 120 attempts, half on n000; it failed 4 of the 6 that failed."""
    found = {row["population"]: row for row in rows("est_lemon_effects", cluster_id="planted")}
    counts = {name: (row["failure_count"], row["attempt_count"]) for name, row in found.items()}
    assert counts == {
        "all": (6, 120), "all_without_lemon_failures": (2, 120), "with_lemon_node": (5, 60),
        "without_lemon_node": (1, 60),
    }  # fmt: skip
    assert found["all"]["failure_ratio"] == pytest.approx(0.05)
    assert found["all"]["failure_ratio_low"] == pytest.approx(0.0220, abs=5e-4)


def test_the_root_cause_is_the_component_most_tickets_name(rows):
    """n000: two PSU against one DIMM; the ticket of n050 was closed before; n100's names nothing; n150: GPU."""
    lemons = {row["node_id"]: row["root_cause"] for row in rows("est_lemon_nodes", verdict="lemon")}
    assert lemons.pop("n000") == "PSU (2 of 3 tickets)"
    assert lemons.pop("n150") == "GPU (1 of 1 ticket)"
    assert {*lemons.values()} == {"unknown (no ticket names a component)"}
    assert {row["root_cause"] for row in rows("est_lemon_nodes") if row["verdict"] != "lemon"} == {None}
