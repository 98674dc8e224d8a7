"""dbt on a copy of a refreshed home, because dbt needs the tables that the selected nodes read."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from orchestration.dbt.build import manifest_of
from orchestration.dbt.command import DBT, RESULTS_ONLY
from orchestration.settings.environment import HomeSettings, environment_of_dbt
from orchestration.settings.home import DBT_PROJECT, Home


def copy_of(refreshed: Home, folder: Path) -> Home:
    """Copy the files of a home that dbt reads and writes into an empty folder, with the parsed project."""
    home = Home(root=folder, sources=refreshed.sources)
    home.work.mkdir()
    shutil.copy(manifest_of(home).with_name("partial_parse.msgpack"), folder)
    shutil.copy(refreshed.working_file, home.working_file)
    shutil.copy(refreshed.build_file, home.build_file)
    return home


def dbt(home: Home, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command of dbt as a refresh does, with its output in the home's folder."""
    command = [DBT, *arguments, RESULTS_ONLY, "--log-path", home.root]
    command += ["--project-dir", DBT_PROJECT, "--profiles-dir", DBT_PROJECT]
    environment = {**environment_of_dbt(HomeSettings(home)), "DBT_TARGET_PATH": str(home.root)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def compiled_in(folder: Path, name: str) -> str:
    """Return the compiled SQL of a model or a test from a folder."""
    (path,) = (folder / "compiled").rglob(f"{name}.sql")
    return path.read_text(encoding="utf-8")
