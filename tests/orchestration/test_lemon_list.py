"""`faultline lemons`: ranked nodes with evidence and a line for Slurm, and its answer when data are missing."""

import json

import pytest

from assets.estimates.est_lemon_nodes import est_lemon_nodes
from assets.node_lists import exclude_option
from assets.warehouse import Warehouse
from orchestration.settings.home import Home
from tests.estimates.five_clusters import build
from tests.estimates.lemon_marts import plant
from tests.homes import change, copy_of, faultline


@pytest.fixture(scope="module")
def lemon_home(tmp_path_factory):
    """The planted cluster, published as simulated, and a real one with too little data."""
    home = Home.at(tmp_path_factory.mktemp("lemons"))
    warehouse = Warehouse(path=str(home.published_file))
    build(warehouse)
    plant(warehouse)
    change(
        warehouse,
        "update marts.dim_clusters set is_simulated = cluster_id = 'planted', has_tickets = cluster_id = 'planted'",
        "insert into marts.fct_incidents by name "
        "select cluster_id, incident_id, min(failed_at) as started_at, 'pcie' as failure_category "
        "from marts.fct_incident_suspects group by all",
        "insert into marts.fct_node_outages by name select 'planted' as cluster_id, 'n000' as node_id, "
        "timestamp '2026-04-20' as started_at, true as is_open, 'RMA' as reason, 'DOWN' as state",
    )
    est_lemon_nodes(warehouse=warehouse)
    return home


@pytest.fixture
def own(lemon_home, tmp_path):
    """A copy to change."""
    return copy_of(lemon_home, tmp_path)


@pytest.fixture
def run(lemon_home):
    return lambda *arguments, home=lemon_home: faultline(home, "lemons", *arguments)


@pytest.fixture
def answers(run):
    result = run("--json")
    assert result.exit_code == 0, result.output
    return {answer["cluster_id"]: answer for answer in json.loads(result.stdout)}


def test_json_has_the_ranked_nodes_with_their_evidence(answers):
    found = answers["planted"]
    assert (found["is_simulated"], found["is_ranked"], found["refusal"]) == (True, True, None)
    lemons = [node for node in found["nodes"] if node["verdict"] == "lemon"]
    assert len(lemons) == found["lemon_count"] >= 7
    assert [node["rank"] for node in lemons] == list(range(1, len(lemons) + 1))
    (first,) = [node for node in lemons if node["node_id"] == "n000"]
    assert first["rate_low"] < first["rate"] < first["rate_high"]
    assert first["last_failures"][0]["failure_category"] == "pcie"
    assert len(first["last_failures"]) <= 3
    assert [ticket["ticket_id"] for ticket in first["last_tickets"]] == ["3", "2", "1"]
    assert first["out_of_service_reason"] == "RMA"


def test_the_exclude_line_names_every_lemon_whatever_the_limit(run, answers):
    names = [node["node_name"] for node in answers["planted"]["nodes"] if node["verdict"] == "lemon"]
    assert answers["planted"]["exclude"] == exclude_option(names)
    (few,) = json.loads(run("--json", "--cluster", "planted", "--limit", 1).stdout)
    assert len(few["nodes"]) == 1
    assert few["exclude"] == answers["planted"]["exclude"]
    text = run("--cluster", "planted", "--limit", 1).stdout
    assert "more: raise --limit" in text
    assert text.rstrip().splitlines()[-1] == few["exclude"]


NO_NODE = (
    "delete from estimates.est_lemon_nodes where cluster_id = 'short'",
    "delete from marts.fct_attempts where cluster_id = 'short'",
    "insert into marts.fct_attempts by name select 'short' as cluster_id, {} as started_at, {} as has_ended",
)
TOO_LITTLE = "update estimates.est_lemon_nodes set has_enough_data = false, note = 'too little to tell: a day'"


@pytest.mark.parametrize(
    ("cluster", "changes", "values", "reason"),
    [
        ("short", (), (), "only 6 failures of nodes"),
        ("short", NO_NODE, ("now()", "true"), "accounting does not say which nodes a job had"),
        ("short", NO_NODE, ("now()", "false"), "no job has ended"),
        ("short", NO_NODE, ("null", "false"), "no job has run"),
        ("planted", (TOO_LITTLE,), (), "too little to tell: a day"),
    ],
)
def test_where_the_data_cannot_tell_it_says_why_and_names_nobody(run, own, cluster, changes, values, reason):
    change(own, *(statement.format(*values) for statement in changes))
    result = run("--cluster", cluster, home=own)
    assert result.exit_code == 0, result.output
    assert reason in result.stdout and "--exclude" not in result.stdout
    (found,) = json.loads(run("--json", "--cluster", cluster, home=own).stdout)
    assert (found["nodes"], found["exclude"]) == ([], None)
    if cluster == "planted":
        assert (found["lemon_count"], found["fleet_rate"]) == (None, None)


def test_a_stale_or_old_cluster_is_marked_with_the_time_and_the_reason(run, answers, own):
    assert {name: answer["is_stale"] for name, answer in answers.items()} == {"planted": False, "short": False}
    change(
        own,
        "update marts.dim_clusters set is_stale = true, stale_reason = 'all.psv: empty', data_through_at = "
        "'2026-04-22 06:00', built_at = timestamp '2026-04-20 02:10' where cluster_id = 'planted'",
    )
    lines = run("--cluster", "planted", home=own).stdout.splitlines()
    stale_note = "stale, as of 2026-04-20 02:10 UTC. Newer numbers could not be built: all.psv: empty"
    assert stale_note in lines
    assert lines[-2].startswith("# as of 2026-04-2") and lines[-1].startswith("--exclude=n[000,")
    (found,) = json.loads(run("--json", "--cluster", "planted", home=own).stdout)
    assert (found["is_stale"], found["stale_reason"], found["is_old"]) == (True, "all.psv: empty", True)
    assert found["data_through_at"] == "2026-04-22T06:00:00Z"


def test_a_cluster_that_is_not_there_is_wrong_usage_and_none_at_all_a_failure(run, own):
    result = run("--cluster", "moon")
    assert (result.exit_code, "short, planted" in " ".join(result.output.replace("│", "").split())) == (2, True)
    change(own, "delete from estimates.est_lemon_nodes; delete from marts.fct_attempts")
    result = run(home=own)
    assert (result.exit_code, "faultline doctor" in result.output) == (1, True)
