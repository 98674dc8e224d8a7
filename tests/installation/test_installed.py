"""The wheel in an isolated, read-only environment, used from a folder with modules of the same names as ours."""

import json
import os
from pathlib import Path

import pytest

from orchestration.settings.home import code_version
from tests.installation.environments import VERSIONS, find_python, install, run_read_only
from tests.installation.wheel import build_wheel

pytestmark = pytest.mark.slow

HOSTILE = ("assets", "orchestration", "dbt", "dagster", "json")
"""Modules in the current folder that must not be imported."""


class Installed:
    """An installed copy, and a user with an empty home directory, in one folder."""

    def __init__(self, environment, faultline, folder):
        self.environment, self.faultline, self.cwd = environment, faultline, folder / "somewhere"
        self.user = folder / "user"
        self.user.mkdir()
        for name in HOSTILE:
            (self.cwd / name).mkdir(parents=True)
            (self.cwd / name / "__init__.py").write_text("raise ImportError('of the current folder')")
        self.variables = {"HOME": str(self.user), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}

    def run(self, *command, status=0):
        done = run_read_only(self.environment, [self.faultline, *command], self.cwd, self.variables)
        assert done.returncode == status, done.stdout + done.stderr
        return done

    def answer(self, *command):
        return json.loads(self.run(*command, "--json").stdout)


@pytest.fixture(scope="module", params=VERSIONS)
def installed(request, tmp_path_factory):
    python = find_python(request.param)
    if python is None:
        pytest.skip(f"there is no Python {request.param}")
    folder = tmp_path_factory.mktemp("installed")
    environment = folder / "environment"
    copy = Installed(environment, install(build_wheel(folder), python, environment), folder)
    copy.run("simulate", "demo", "--out", "home", "--days", "14")
    copy.first = copy.answer("refresh", "--home", "home")
    return copy


def test_the_environment_is_of_the_python_that_is_asked_for_and_cannot_be_written(installed, request):
    file, python = installed.environment / "x", installed.environment / "bin" / "python"
    assert run_read_only(installed.environment, ["touch", file], installed.cwd, os.environ).returncode
    assert not file.exists()
    done = run_read_only(installed.environment, [python, "--version"], installed.cwd, os.environ)
    assert done.stdout.startswith(f"Python {request.node.callspec.params['installed']}.")
    assert installed.run("--version").stdout == f"faultline {code_version()}\n"


def test_a_refresh_publishes_and_a_second_one_finds_nothing_new(installed):
    assert installed.first["status"] == "published"
    assert installed.answer("refresh", "--home", "home")["status"] == "unchanged"


def test_the_pages_are_there(installed):
    pages = Path("".join(installed.run("--help").stdout.partition("Documentation:")[2].split()))
    assert (pages / "logs.md").read_text(encoding="utf-8").startswith("# Logs: ")
    assert (pages / "deploy" / "faultline-ui.service").exists()


def test_what_is_published_can_be_asked(installed):
    question = "select count(*) as attempts from marts.fct_attempts"
    (row,) = json.loads(installed.run("query", question, "--home", "home", "--format", "json").stdout)
    assert row["attempts"] > 500
    assert "marts.fct_failures" in {table["name"] for table in installed.answer("tables", "--home", "home")}
    assert installed.answer("status", "--home", "home")["published"]["code_version"] == code_version()
    installed.run("plan", "--gpus", "64", "--cluster", "demo-llm", "--home", "home")
    installed.run("report", "--home", "home", "--out", "pages")
    assert (installed.cwd / "pages" / "index.html").stat().st_size > 10_000


def test_every_table_is_found_in_the_environment(installed):
    for table in ("fct_failures", "est_failure_rates", "raw.sacct", "seeds.xids"):
        path = installed.answer("tables", table)["file"]
        assert path.startswith(str(installed.environment))
        installed.run("tables", table)


def test_caches_lie_in_the_user_s_cache_folder_alone(installed):
    (folder,) = (installed.user / ".cache" / "faultline").glob(f"{code_version()}-*")
    assert {"manifest.json", "partial_parse.msgpack", "column_lineage.json"} <= {file.name for file in folder.iterdir()}
    assert [file.name for file in installed.user.iterdir()] == [".cache"]
    assert {file.name for file in installed.cwd.iterdir()} == {*HOSTILE, "home", "pages"}
