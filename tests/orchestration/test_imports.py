"""What is imported when: a command that reads answers at once, and a refresh imports no library before it needs it."""

import os
import subprocess
import sys

import pytest

from orchestration.settings.home import PROJECT

LIBRARIES = {
    "altair", "dagster", "dagster_dbt", "dbt", "great_expectations", "networkx", "numpy", "pandas", "pyarrow", "scipy",
    "sqlalchemy", "sqlglot",
}  # fmt: skip
"""Each takes a tenth of a second or more to import."""
COMMAND = """
import sys
from orchestration.cli import app
{before}
try:
    app(sys.argv[1:], standalone_mode=False)
finally:
    print(*sys.modules, file=sys.stderr)
"""
STOP_BEFORE_DAGSTER = """
from orchestration.refresh import run
def stop(*_):
    raise SystemExit
run._prepare = stop
"""


def imported(code: str, *arguments: object) -> set[str]:
    """Run a program, and give those of the libraries that it has imported."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    environment = os.environ | {"PYTHONPATH": str(PROJECT)}
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False, env=environment)
    modules = done.stderr.split("\n")[-2].split()
    assert "orchestration.cli" in modules, done.stderr
    return LIBRARIES & set(modules)


@pytest.mark.parametrize(
    ("arguments", "libraries"),
    [
        (["status"], set()),
        (["query", "select count(*) from fct_attempts"], set()),
        (["plan", "--gpus", "64", "--rate", "6.5"], {"numpy", "scipy"}),
    ],
)
def test_a_command_that_reads(small_home, arguments, libraries):
    assert imported(COMMAND.format(before=""), *arguments, "--home", small_home.root) == libraries


def test_the_start_of_a_refresh(small_home):
    by_readers = {"numpy", "pyarrow"}
    assert imported(COMMAND.format(before=STOP_BEFORE_DAGSTER), "refresh", "--home", small_home.root) == by_readers


def test_completing_loads_nothing_heavy():
    code = "from orchestration.cli.completion import *; complete_profiles(''); complete_tables('')"
    assert imported(f"import sys, orchestration.cli; {code}; print(*sys.modules, file=sys.stderr)") == set()


def test_what_dagster_loads_judges_nothing_and_builds_nothing():
    code = "import sys, orchestration.cli, orchestration.definitions\nprint(*sys.modules, file=sys.stderr)"
    found = imported(code)
    assert {"dagster", "dagster_dbt"} <= found
    assert not {"altair", "great_expectations"} & found
