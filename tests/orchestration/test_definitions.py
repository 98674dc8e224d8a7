"""Dagster's definitions load, name every table by its path, and have a schedule in the configured zone."""

import json

import dagster as dg
import pytest

from orchestration import jobs
from orchestration.dbt.build import manifest_of
from orchestration.environment import HomeSettings, read_settings
from orchestration.home import PROJECT, Home


@pytest.fixture(scope="module")
def definitions(tmp_path_factory):
    from orchestration.definitions import build

    return build(HomeSettings(Home.at(tmp_path_factory.mktemp("home"))))


@pytest.fixture(scope="module")
def keys(definitions):
    return [tuple(key.path) for key in definitions.resolve_asset_graph().get_all_asset_keys()]


def test_everything_loads(definitions):
    dg.Definitions.validate_loadable(definitions)
    assert definitions.resolve_job_def("refresh")


def defining_file(schema: str, table: str) -> str:
    """The path is the name."""
    return {
        "raw": "assets/raw/assets.py",
        "estimates": f"assets/estimates/{table}.py",
        "report": f"assets/report/{table}.py",
        "ops": "orchestration/publication/last_good.py" if table == "cluster_failures" else "assets/raw/assets.py",
        "published": "orchestration/publication/publish.py",
        "seeds": f"dbt_project/seeds/{table}.csv",
    }.get(schema, f"dbt_project/models/{schema}/**/{table}.*")


def test_one_table_one_file(keys):
    missing = [f"{schema}.{table}" for schema, table in keys if not list(PROJECT.glob(defining_file(schema, table)))]
    assert missing == []


def test_every_stage_is_there(keys):
    assert {schema for schema, _ in keys} == {
        "raw", "seeds", "staging", "intermediate", "marts", "estimates", "ops", "report", "published",
    }  # fmt: skip


def test_the_group_is_the_schema(definitions):
    graph = definitions.resolve_asset_graph()
    wrong = [key for key in graph.get_all_asset_keys() if graph.get(key).group_name != key.path[0]]
    assert wrong == []


def test_every_stage_border_has_blocking_checks(definitions):
    graph = definitions.resolve_asset_graph()
    blocking = {key.asset_key.path[0] for key in graph.asset_check_keys if graph.get_check_spec(key).blocking}
    assert {"raw", "marts", "estimates"} <= blocking


def test_every_dbt_test_is_a_check_of_a_table(definitions, tmp_path):
    known = {key.name for key in definitions.resolve_asset_graph().asset_check_keys}
    nodes = json.loads(manifest_of(Home.at(tmp_path)).read_text(encoding="utf-8"))["nodes"].values()
    tests = {node["name"] for node in nodes if node["resource_type"] == "test"}
    assert len(tests) > 100
    assert tests - known == set()


def test_the_schedule_keeps_its_zone(monkeypatch, tmp_path):
    monkeypatch.setenv("FAULTLINE_TIMEZONE", "America/Los_Angeles")
    schedule = jobs.nightly(read_settings(tmp_path))
    assert schedule.cron_schedule == "0 2 * * *"
    assert schedule.execution_timezone == "America/Los_Angeles"
    assert schedule.default_status == dg.DefaultScheduleStatus.RUNNING


@pytest.mark.parametrize(("is_pinned", "is_up_to_date", "is_due"), [(0, 1, 1), (1, 1, 0), (1, 0, 1)])
def test_the_schedule_leaves_what_a_rollback_pinned_until_there_is_something_new(
    monkeypatch, tmp_path, is_pinned, is_up_to_date, is_due
):
    monkeypatch.setattr(jobs, "pinned_publication", lambda _: "some publication" if is_pinned else None)
    monkeypatch.setattr(jobs, "is_up_to_date", lambda _: bool(is_up_to_date))
    schedule = jobs.nightly(HomeSettings(Home.at(tmp_path)))
    found = schedule.evaluate_tick(dg.build_schedule_context())
    assert len(found.run_requests or []) == is_due
