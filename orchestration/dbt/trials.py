"""Statements of dbt that fail on the rows of some clusters: they alone are run again on halves of the clusters.

A trial has a home of its own, with copies of what the statements read. Views among it are made there.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from assets.bad_clusters.errors import may_be_of_rows
from assets.bad_clusters.search import find_bad_clusters, relations, scratch_database, show_rows
from assets.warehouse import READER_SCHEMAS, Warehouse
from orchestration.code_cache import cache_folder
from orchestration.dbt.command import RESULTS_ONLY
from orchestration.dbt.processes import note_started, require_not_killed
from orchestration.environment import HomeSettings, given_to_dbt
from orchestration.failures import DBT_TELLS_NOTHING
from orchestration.home import Home

if TYPE_CHECKING:
    from dagster_dbt import DbtCliResource

ONE_THREAD = ["--threads", "1", "--log-level-file", "info"]
"""Statements lie in files beside the log: in the log as well they would cost a twentieth of dbt's own time."""
OF_READERS = tuple(f"{schema}." for schema in READER_SCHEMAS)
Nodes = Mapping[str, Mapping[str, Any]]


class StatementsFailed(Exception):
    """Statements that failed, by dbt's ids of the models, with their errors."""

    def __init__(self, errors: Mapping[str, str]) -> None:
        self.errors = errors
        self.messages = [f"{key.rpartition('.')[2]} could not be built: {error}" for key, error in errors.items()]
        super().__init__("; ".join(self.messages))


def failed_statements(run_results: Path) -> StatementsFailed:
    """Read which statements of a build failed."""
    results = json.loads(run_results.read_text(encoding="utf-8"))["results"] if run_results.exists() else []
    return StatementsFailed(
        {
            str(result["unique_id"]): " ".join(str(result.get("message") or "").split())[:300]
            for result in results
            if result["status"] == "error"
        }
    )


def run_dbt(settings: HomeSettings, dbt: DbtCliResource, arguments: Sequence[str], home: Home, target: Path) -> None:
    """Run dbt on the files of a home, without telling Dagster of what it builds; raise `StatementsFailed`."""
    with given_to_dbt(replace(settings, home=home), cache_folder(settings.home)):
        invocation = dbt.cli([*arguments, RESULTS_ONLY, *ONE_THREAD], target_path=target, raise_on_error=False)
    note_started(invocation.process)
    invocation.wait()
    require_not_killed(invocation.process.returncode)
    if invocation.process.returncode:
        failed = failed_statements(target / "run_results.json")
        raise failed if failed.errors else RuntimeError(f"{DBT_TELLS_NOTHING}; its log: {target / 'dbt.log'}")


@dataclass(frozen=True)
class Trials:
    """What trials run on: the home with its files, dbt, and the project's models, tests, seeds and sources by id."""

    settings: HomeSettings
    dbt: DbtCliResource
    warehouse: Warehouse
    nodes: Nodes

    def bad_clusters(self, failed: StatementsFailed, suspects: Sequence[str]) -> dict[str, Exception]:
        """Find the clusters on whose rows statements fail that failed in a build; the likeliest suspects come first."""
        if not failed.errors or not may_be_of_rows(failed):
            return {}
        run, read = _with_views(failed.errors, self.nodes)
        # Of the tests none but those that failed.
        selected = " ".join(sorted(self.nodes[key]["name"] for key in run))
        arguments = ["build", "--indirect-selection", "empty", "--select", selected]
        names = [f"{self.nodes[key]['schema']}.{self.nodes[key]['name']}" for key in sorted(read)]

        def attempt(clusters: Sequence[str]) -> None:
            with TemporaryDirectory(prefix="scratch-", dir=self.settings.home.work) as folder:
                scratch = Home.at(Path(folder), self.settings.home.sources)
                _fill(scratch, self.warehouse, clusters, names)
                run_dbt(self.settings, self.dbt, arguments, scratch, scratch.work / "dbt")

        return find_bad_clusters(suspects, attempt)


def _with_views(failed: Collection[str], nodes: Nodes) -> tuple[set[str], set[str]]:
    """Give what has to be run with the failed statements, the views that they read, and the tables that all read."""
    run, read, pending = set(), set(), [*failed]
    while pending:
        key = pending.pop()
        if key in run:
            continue
        run.add(key)
        for parent in nodes[key]["depends_on"]["nodes"]:
            if nodes[parent].get("config", {}).get("materialized") in ("view", "ephemeral"):
                pending.append(parent)
            else:
                read.add(parent)
    return run, read - run


def _fill(home: Home, warehouse: Warehouse, clusters: Collection[str], names: Sequence[str]) -> None:
    """Create the files of a trial, with the rows of some clusters."""
    with Warehouse(path=str(home.working_file), publication=str(home.build_file)).writing():
        pass
    with warehouse.writing() as con:
        for file in (home.working_file, home.build_file):
            of_file = [
                name
                for name in relations(con).keys() & set(names)
                if name.startswith(OF_READERS) == (file == home.build_file)
            ]
            with scratch_database(con, str(file)):
                show_rows(con, clusters, of_file, is_copy=True)
    warehouse.close()
