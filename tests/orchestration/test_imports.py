"""Imports of commands: a reading command answers at once."""

import os
import subprocess
import sys

import pytest

from orchestration.settings.home import PROJECT

LIBRARIES = {
    "altair", "dagster", "dagster_dbt", "dbt", "great_expectations", "networkx", "numpy", "pandas", "pyarrow", "scipy",
    "sqlalchemy", "sqlglot",
}  # fmt: skip
"""Each import takes at least a tenth of a second."""
COMMAND = """
import sys
from orchestration.cli import app
{before}
try:
    app(sys.argv[1:], standalone_mode=False)
finally:
    print(*sys.modules, file=sys.stderr)
"""


def imported(code: str, *arguments: object) -> set[str]:
    """Run a program, and return the slow libraries that it imports."""
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
