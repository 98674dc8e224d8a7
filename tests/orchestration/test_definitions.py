"""Dagster's definitions load, name every table by its path, and have a schedule in the configured zone."""

import json
import os
import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest

from orchestration.dbt.build import JUDGED_WITH_THE_CODE, manifest_of
from orchestration.definitions import build
from orchestration.runs.jobs import REFRESH
from orchestration.settings.environment import HomeSettings, read_settings
from orchestration.settings.home import PROJECT, Home


@pytest.fixture(scope="module")
def definitions(tmp_path_factory):
    return build(HomeSettings(Home.at(tmp_path_factory.mktemp("home"))))


def test_the_one_job_makes_every_asset_and_the_schedule_and_the_sensors_run_it(definitions):
    dg.Definitions.validate_loadable(definitions)
    graph = definitions.resolve_asset_graph()
    job = definitions.resolve_job_def(REFRESH)
    assert job.asset_layer.selected_asset_keys == graph.materializable_asset_keys
    assert job.run_tags["dagster/retry_strategy"] == "ALL_STEPS"
    repository = definitions.get_repository_def()
    assert {name for name in repository.job_names if not name.startswith("__")} == {REFRESH}
    assert repository.get_schedule_def("nightly_refresh").job_name == REFRESH
    for sensor in ("new_files", "alert_on_failure"):
        assert [target.job_name for target in repository.get_sensor_def(sensor).targets] == [REFRESH]


def test_every_dbt_test_is_a_check_of_a_table_but_those_of_the_code(definitions, tmp_path):
    known = {key.name for key in definitions.resolve_asset_graph().asset_check_keys}
    nodes = json.loads(manifest_of(Home.at(tmp_path)).read_text(encoding="utf-8"))["nodes"].values()
    tests = {node["name"]: JUDGED_WITH_THE_CODE in node["tags"] for node in nodes if node["resource_type"] == "test"}
    of_code = {name for name, is_of_code in tests.items() if is_of_code}
    assert of_code
    assert len(tests) - len(of_code) > 35
    assert tests.keys() - known == of_code


def test_the_logs_are_fetched_before_they_are_read_where_a_cluster_is_pulled(tmp_path):
    home = Home.at(tmp_path)
    (home.sources / "c1").mkdir(parents=True)
    (home.sources / "c1" / "cluster.toml").write_text("[pull]\n")
    graph = build(HomeSettings(home)).resolve_asset_graph()
    first = dg.AssetKey(["sources", "pulls"])
    accounting = dg.AssetKey(["sources", "sacct"])
    assert graph.get(accounting).parent_keys == {first}
    assert graph.get(dg.AssetKey(["raw", "sacct"])).parent_keys == {first, accounting}
    assert first in graph.get(dg.AssetKey(["ops", "files"])).parent_keys


@pytest.mark.parametrize("is_dev", [False, True])
def test_the_schedule_keeps_its_zone_and_all_is_off_under_dagster_dev(monkeypatch, tmp_path, is_dev):
    monkeypatch.setenv("FAULTLINE_TIMEZONE", "America/Los_Angeles")
    monkeypatch.setenv("DAGSTER_IS_DEV_CLI", "1" if is_dev else "")
    found = build(read_settings(tmp_path))
    (schedule,) = found.schedules
    assert (schedule.cron_schedule, schedule.execution_timezone) == ("0 2 * * *", "America/Los_Angeles")
    on = {part.name for part in (*found.schedules, *found.sensors) if part.default_status.value == "RUNNING"}
    assert on == (set() if is_dev else {"nightly_refresh", "alert_on_failure", "alert_on_stale_night"})
    assert {sensor.name for sensor in found.sensors} == {"new_files", "alert_on_failure", "alert_on_stale_night"}


@pytest.mark.slow
@pytest.mark.parametrize("command", [("dagster", "definitions", "validate"), ("dg", "check", "defs")])
def test_dagster_s_own_commands_find_the_project(tmp_path, command):
    environment = os.environ | {"FAULTLINE_HOME": str(tmp_path), "PYTHONPATH": str(PROJECT)}
    program = [Path(sys.executable).with_name(command[0]), *command[1:]]
    done = subprocess.run(program, cwd=PROJECT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
