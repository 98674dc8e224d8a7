"""The environment is read when a process starts, and other programs get only their own variables."""

import os
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from orchestration.cli import app
from orchestration.settings.environment import (
    HomeSettings,
    WrongSetting,
    environment_of_dagster,
    given_to_dbt,
    read_settings,
)
from orchestration.settings.home import Home

VARIABLES = {
    "FAULTLINE_HOME": "/srv/faultline",
    "FAULTLINE_SOURCES": "/logs",
    "FAULTLINE_MEMORY": "7GB",
    "FAULTLINE_THREADS": "3",
    "FAULTLINE_SCHEDULE": "30 4 * * *",
    "FAULTLINE_TIMEZONE": "Asia/Tokyo",
    "FAULTLINE_KEEP_PUBLICATIONS": "5",
    "FAULTLINE_PUBLISH_GROUP": "analysts",
}


@pytest.fixture(autouse=True)
def no_variables(monkeypatch):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def all_variables(monkeypatch):
    for name, value in VARIABLES.items():
        monkeypatch.setenv(name, value)


class TestSettings:
    def test_every_variable_is_read(self, all_variables):
        assert read_settings() == HomeSettings(
            home=Home(Path("/srv/faultline"), Path("/logs")),
            memory_limit="7GB",
            threads=3,
            schedule="30 4 * * *",
            schedule_timezone="Asia/Tokyo",
            keep_publications=5,
            publish_group="analysts",
        )

    def test_a_home_that_duckdb_cannot_have_is_refused(self, tmp_path):
        with pytest.raises(WrongSetting, match=r"a\?b has a question mark in its path.*rename the folder"):
            read_settings(tmp_path / "a?b")
        assert read_settings(tmp_path / "a$b", Path("/c?d")).home.sources == Path("/c?d")

    def test_without_variables_or_with_empty_ones_the_defaults_hold(self, monkeypatch):
        assert read_settings() == HomeSettings(Home.at(Path("data")))
        for name in VARIABLES:
            monkeypatch.setenv(name, "")
        assert read_settings() == HomeSettings(Home.at(Path("data")))

    def test_options_come_before_variables_and_a_home_of_an_option_has_its_own_sources(self, all_variables):
        assert read_settings(Path("/other")).home == Home(Path("/other"), Path("/other/sources"))
        assert read_settings(None, Path("/more")).home == Home(Path("/srv/faultline"), Path("/more"))

    @pytest.mark.parametrize(
        ("name", "values"),
        {
            "FAULTLINE_KEEP_PUBLICATIONS": ("0", "many"),
            "FAULTLINE_THREADS": ("0", "many", "-1", "1.5"),
            "FAULTLINE_MEMORY": ("foo", "-1GB", "0GB", "2", "80%", "2GB or so"),
            "FAULTLINE_SCHEDULE": ("nightly", "0 2 * *", "0 25 * * *", "0 2 * * * ; rm"),
            "FAULTLINE_TIMEZONE": ("Mars", "../etc/passwd", "Europe/"),
        }.items(),
    )
    def test_a_value_that_cannot_be_is_named(self, monkeypatch, name, values):
        for value in values:
            monkeypatch.setenv(name, value)
            with pytest.raises(WrongSetting, match=f"{name} is .*, not '{re.escape(value)}'; correct it or unset it"):
                read_settings()

    @pytest.mark.parametrize(
        ("name", "values"),
        {
            "FAULTLINE_MEMORY": ("512MB", "1.5 GiB", "0.5gb", "3G", "500000000B", ".5GB", "2 gigabytes"),
            "FAULTLINE_SCHEDULE": ("*/30 1-5 * jan-mar MON,FRI", "@daily", "0 0 29 2 *", "0 2 * * 1#2"),
        }.items(),
    )
    def test_other_ways_to_write_a_value_are_taken(self, monkeypatch, name, values):
        for value in values:
            monkeypatch.setenv(name, value)
            assert value in (read_settings().memory_limit, read_settings().schedule)

    @pytest.mark.parametrize("command", [["refresh", "--json"], ["status", "--json"]], ids=" ".join)
    def test_a_variable_that_is_no_setting_is_one_line_on_stderr(self, monkeypatch, tmp_path, command):
        for name in ("FAULTLINE_X", "FAULTLINE_OWNERS", "FAULTLINE_SPARK_MASTER", "FAULTLINE_MEMORY"):
            monkeypatch.setenv(name, "1GB")
        monkeypatch.setenv("FAULTLINE_WATCH_MINUTES", "")
        result = CliRunner().invoke(app, [*command, "--home", str(tmp_path)])
        assert result.stderr.splitlines()[:-1] == [
            "faultline: FAULTLINE_OWNERS is not read any more: assets have no owners; unset it",
            "faultline: FAULTLINE_X is no setting; docs/configuration.md has all of them",
        ]
        assert "FAULTLINE" not in result.stdout

    @pytest.mark.parametrize("command", [["refresh"], ["refresh", "--json"], ["status"], ["ui"]], ids=" ".join)
    def test_a_command_says_which_variable_is_wrong(self, monkeypatch, tmp_path, command):
        monkeypatch.setenv("FAULTLINE_THREADS", "many")
        result = CliRunner().invoke(app, [*command, "--home", str(tmp_path)])
        assert result.exit_code == 1
        assert ('"status": "failed"' in result.stdout) == ("--json" in command)
        assert result.stderr == (
            "faultline: FAULTLINE_THREADS is a whole number of at least 1, not 'many'; correct it or unset it\n"
        )
        assert list(tmp_path.iterdir()) == []


class TestOtherPrograms:
    def test_dagster_s_processes_read_the_same_settings(self, monkeypatch, tmp_path):
        settings = HomeSettings(Home.at(tmp_path, tmp_path / "logs"))
        given = environment_of_dagster(settings)
        assert given["DAGSTER_HOME"] == str(tmp_path / "dagster")
        monkeypatch.setattr(os, "environ", given)
        assert read_settings() == settings

    def test_what_dbt_reads_in_this_process_is_taken_out_again(self, monkeypatch, tmp_path):
        monkeypatch.setenv("FAULTLINE_MEMORY", "1GB")
        before = dict(os.environ)
        settings = HomeSettings(Home.at(tmp_path), memory_limit="3GB", threads=5)
        with pytest.raises(ZeroDivisionError), given_to_dbt(settings, tmp_path):
            assert (os.environ["FAULTLINE_MEMORY"], os.environ["FAULTLINE_THREADS"]) == ("3GB", "5")
            assert os.environ["FAULTLINE_WAREHOUSE"] == str(tmp_path / "work" / "faultline.duckdb")
            assert os.environ["FAULTLINE_PUBLICATION"] == str(tmp_path / "work" / "publication.duckdb")
            raise ZeroDivisionError
        assert dict(os.environ) == before
