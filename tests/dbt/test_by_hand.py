"""dbt in its own folder without any setting builds the same as a refresh, in a separate file."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from orchestration.settings.home import DBT_PROJECT, PROJECT


@pytest.fixture(scope="module")
def checkout(testbed_home, tmp_path_factory):
    """The project, with the working file of a refreshed home in the default home."""
    folder = tmp_path_factory.mktemp("checkout")
    shutil.copytree(DBT_PROJECT, folder / "dbt_project")
    (folder / "data" / "work").mkdir(parents=True)
    shutil.copy(testbed_home.working_file, folder / "data" / "work")
    return folder


def dbt(checkout, *arguments):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("FAULTLINE_")}
    command = [Path(sys.executable).with_name("dbt"), *arguments]
    return subprocess.run(
        command, cwd=checkout / "dbt_project", env=environment | {"PYTHONPATH": str(PROJECT)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.slow
def test_it_builds_tests_and_describes_the_marts_that_readers_see(checkout, testbed_home):
    for command in ("build", "test", "docs generate"):
        # Only tests with all tables selected.
        cautiously = () if command == "docs generate" else ("--indirect-selection", "cautious")
        done = dbt(checkout, *command.split(), *cautiously)
        assert done.returncode == 0, done.stdout
        assert command != "docs generate" or (checkout / "dbt_project" / "target" / "catalog.json").exists()
    with duckdb.connect(str(checkout / "data" / "work" / "dev.duckdb"), read_only=True) as con:
        con.execute(f"attach '{testbed_home.published_file}' as published (read_only)")
        built = (
            "select table_name from duckdb_columns() where database_name = 'dev' and schema_name = 'marts' group by 1"
        )
        marts = [name for (name,) in con.execute(built).fetchall()]
        assert len(marts) > 30
        for mart in marts:
            dev, published = (con.sql(f"from {file}.marts.{mart}") for file in ("dev", "published"))
            assert dev.except_(published).fetchall() == published.except_(dev).fetchall() == [], mart
