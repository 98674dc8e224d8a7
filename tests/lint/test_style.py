"""The tree keeps its own rules: style, types, imports, and one table, one file."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent

SQL = ("dbt_project/models", "dbt_project/data_tests")
"""Folders of models. Of statements of code less is asked, which `test_sql` does in a hundredth of the time."""
MYPY = "import gc; gc.disable(); from mypy.__main__ import console_entry; console_entry()"
SQLFLUFF = "import gc; gc.disable(); from sqlfluff.cli.commands import cli; cli()"
"""Their trees hold millions of small objects: looking for cycles among them is a third of the time (7 s and 14 s)."""
COMMANDS = {
    "ruff check": ["ruff", "check", "."],
    "ruff format": ["ruff", "format", "--check", "."],
    "mypy": ["python", "-c", MYPY],
    "import-linter": ["lint-imports", "--no-cache"],
    "sqlfluff": ["python", "-c", SQLFLUFF, "lint", "--disable-progress-bar", *SQL],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_tree_passes(name, tmp_path, monkeypatch):
    monkeypatch.setenv("FAULTLINE_WAREHOUSE", str(tmp_path / "faultline.duckdb"))
    command = COMMANDS[name]
    program = shutil.which(str(BIN / command[0]))
    assert program, f"{command[0]} is not installed beside {sys.executable}"
    done = subprocess.run([program, *command[1:]], cwd=PROJECT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{name}\n{done.stdout}\n{done.stderr}"
