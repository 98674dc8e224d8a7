"""The dbt project as Dagster assets: one build, its tests as asset checks, its column lineage kept in ops.lineage.

It holds no rule about the data. `prepare` makes the manifest; an import never does.
"""

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import dagster as dg
from dagster_dbt import DagsterDbtTranslator, DbtCliInvocation, DbtCliResource, DbtProject, dbt_assets

from assets.bad_clusters.errors import may_be_of_rows
from assets.bad_clusters.search import leave_out_bad_clusters
from assets.warehouse import Warehouse, remove_file
from orchestration.checks.asset_checks import failed_checks
from orchestration.dbt.column_lineage import kept_lineage, lineage_metadata, record_lineage
from orchestration.dbt.command import DBT, RESULTS_ONLY
from orchestration.dbt.descriptions import describe_test
from orchestration.dbt.processes import end_started, note_started, require_not_killed
from orchestration.dbt.results import record_dbt_results
from orchestration.runs.refresh_errors import DBT_TELLS_NOTHING
from orchestration.settings.code_cache import cache_folder
from orchestration.settings.environment import HomeSettings, environment_of_dbt, given_to_dbt
from orchestration.settings.home import DBT_PROJECT, Home

PROJECT = DbtProject(DBT_PROJECT)
JUDGED_WITH_THE_CODE = "judged_with_the_code"
"""Tag of the tests that no input can fail, such as those of seeds. They run only with the tests of the code."""
ONE_THREAD = ["--threads", "1", "--log-level-file", "info"]
"""Statements are in files next to the log: writing them to the log too would take a twentieth of dbt's own time."""
TESTS_OF_CODE = f"resource_type:test,tag:{JUDGED_WITH_THE_CODE}"
"""dbt's selection of these tests.

A selection by path fails: dbt looks in the current folder, and adds the tests of models that read a seed.
"""
STAGE = "build"
"""Stage in ops.cluster_failures for clusters whose rows make a statement fail."""
OF_EARLIER_VERSIONS = ("built", "touched", "kept")
"""Schemas that earlier versions left in the working file."""
OF_ALL_TABLES = {"unique_id", "invocation_id", "status"}
"""Metadata of dagster-dbt that only repeat the table's name and that it was built."""
MAX_SHOWN = 3
"""The message of a failed build names at most this many failed statements."""


def manifest_of(home: Home) -> Path:
    """Return the path of the parsed project; `partial_parse.msgpack`, dbt's own cache, is in the same folder."""
    return cache_folder(home) / "manifest.json"


def lineage_of(home: Home) -> Path:
    """Return the path of the kept lineage of the models' columns."""
    return cache_folder(home) / "column_lineage.json"


class Translator(DagsterDbtTranslator):
    """Asset key = schema and table; group = schema: the path of a model is the name of its table.

    Parameters
    ----------
    lineage
        Metadata with the lineage of columns, by `schema.table`.
    """

    def __init__(self, lineage: Mapping[str, Mapping[str, Any]]) -> None:
        super().__init__()
        self._lineage = lineage

    def get_metadata(self, dbt_resource_props: Mapping[str, Any]) -> Mapping[str, Any]:
        """Add the lineage of columns, which is unknown in the first refresh of a code version."""
        table = ".".join(self.get_asset_key(dbt_resource_props).path)
        return {**super().get_metadata(dbt_resource_props), **self._lineage.get(table, {})}

    def get_asset_key(self, dbt_resource_props: Mapping[str, Any]) -> dg.AssetKey:
        """Return [schema, table] for models, seeds and sources."""
        return dg.AssetKey([dbt_resource_props["schema"], dbt_resource_props["name"]])

    def get_group_name(self, dbt_resource_props: Mapping[str, Any]) -> str | None:
        """Return the schema."""
        return str(dbt_resource_props["schema"])

    def get_asset_check_spec(
        self, asset_spec: dg.AssetSpec, manifest: Mapping[str, Any], unique_id: str, project: DbtProject | None
    ) -> dg.AssetCheckSpec | None:
        """Add a description, which dagster-dbt takes only from `meta`."""
        spec = super().get_asset_check_spec(asset_spec, manifest, unique_id, project)
        if spec is None:
            return None
        return dg.AssetCheckSpec(
            spec.name,
            asset=spec.asset_key,
            description=describe_test(manifest["nodes"][unique_id]),
            additional_deps=spec.additional_deps,
            metadata=spec.metadata,
            blocking=spec.blocking,
        )


def prepare(settings: HomeSettings) -> None:
    """Parse the dbt project, which takes 5 s, unless the cache of this code version has a whole manifest.

    A new manifest replaces the old one in one step, because another process may read it. `DbtProject` parses only under
    `dagster dev`, each time, and writes into the manifest that others read.
    """
    manifest = manifest_of(settings.home)
    if _is_readable(manifest):
        return
    settings.home.work.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="parse-", dir=manifest.parent) as target:
        folders = ["--project-dir", str(DBT_PROJECT), "--profiles-dir", str(DBT_PROJECT)]
        outputs = ["--target-path", target, "--log-path", str(settings.home.work / "dbt-logs")]
        command = [str(DBT), "parse", *folders, *outputs]
        environment = environment_of_dbt(settings)
        parse = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603 -- constants and folders
        require_not_killed(parse.returncode)
        if parse.returncode:
            raise RuntimeError(f"dbt could not parse {DBT_PROJECT}:\n{parse.stdout}{parse.stderr}")
        for name in ("partial_parse.msgpack", manifest.name):
            Path(target, name).replace(manifest.with_name(name))


def _is_readable(file: Path) -> bool:
    try:
        return "nodes" in json.loads(file.read_bytes())
    except (OSError, ValueError, TypeError):
        return False


def dbt_resource(home: Home) -> DbtCliResource:
    """Return the dbt resource."""
    return DbtCliResource(PROJECT, dbt_executable=DBT)


def build_arguments() -> list[str]:
    """Return the arguments of one `dbt build`.

    Unit tests and tests with the tag `judged_with_the_code` test the code, so they run with its tests, not here.
    """
    arguments = ["build", RESULTS_ONLY, *ONE_THREAD, "--exclude-resource-type", "unit_test"]
    return [*arguments, "--exclude", TESTS_OF_CODE]


def dbt_models(settings: HomeSettings) -> dg.AssetsDefinition:
    """Return the assets of every seed and model; dbt's sources make them wait for the raw tables."""

    @dbt_assets(
        manifest=manifest_of(settings.home),
        # Dagster shows no check that never runs.
        exclude=TESTS_OF_CODE,
        name="dbt_models",
        dagster_dbt_translator=Translator(lineage_metadata(kept_lineage(lineage_of(settings.home)) or [])),
    )
    def models(
        context: dg.AssetExecutionContext, dbt: DbtCliResource, warehouse: dg.ResourceParam[Warehouse]
    ) -> Iterator[Any]:
        build = Build(settings, context, dbt, warehouse)
        try:
            yield from build.events()
        finally:
            end_started()
            build.record()
        build.require_success()

    return models


class StatementsFailed(Exception):
    """The failed statements with their errors, by dbt's ids of the models."""

    def __init__(self, errors: Mapping[str, str]) -> None:
        self.errors = errors
        self.messages = [f"{key.rpartition('.')[2]} could not be built: {error}" for key, error in errors.items()]
        super().__init__("; ".join(self.messages))


def failed_statements(run_results: Path) -> StatementsFailed:
    """Return the failed statements of a build."""
    results = json.loads(run_results.read_text(encoding="utf-8"))["results"] if run_results.exists() else []
    return StatementsFailed(
        {
            str(result["unique_id"]): " ".join(str(result.get("message") or "").split())[:300]
            for result in results
            if result["status"] == "error"
        }
    )


class Build:
    """One build of the dbt project; if the rows of some clusters make a statement fail, it is repeated without them."""

    def __init__(
        self, settings: HomeSettings, context: dg.AssetExecutionContext, dbt: DbtCliResource, warehouse: Warehouse
    ) -> None:
        self._settings, self._context, self._dbt, self._warehouse = settings, context, dbt, warehouse
        self._target = settings.home.work / "dbt"
        self._failed: StatementsFailed | None = None
        self._manifest = json.loads(manifest_of(settings.home).read_bytes())

    def events(self) -> Iterator[Any]:
        """Build, and yield one event of dbt for each model and test."""
        announced: set[str] = set()
        invocation = self._begin()
        for event in invocation.stream():
            announced.add(_name(event))
            yield _briefly(event)
        events: list[Any] = []
        while invocation.process.returncode:
            require_not_killed(invocation.process.returncode)
            self._failed = failed_statements(self._target / "run_results.json")
            if not self._leave_out_bad_clusters(self._failed):
                return
            invocation = self._begin()
            events = list(invocation.stream())
        self._failed = None
        for event in events:
            if _name(event) not in announced:
                yield _briefly(event)

    def _leave_out_bad_clusters(self, failed: StatementsFailed) -> bool:
        """Leave out the clusters whose rows make the statements fail; return whether there are any.

        A trial also builds the upstream models of these statements, which a build of chosen models would not.
        """
        if not failed.errors or self._context.is_subset:
            return False
        # No tests except those that failed.
        selected = " ".join(f"+{self._manifest['nodes'][key]['name']}" for key in failed.errors)
        trial = ["build", "--indirect-selection", "empty", "--select", selected]
        attempt = partial(build_again, self._settings, self._warehouse, trial)
        found = leave_out_bad_clusters(self._warehouse, STAGE, failed, attempt, str)
        if found:
            self._context.log.warning(f"{failed}; building once more without {' and '.join(found)}")
        return bool(found)

    def _begin(self) -> DbtCliInvocation:
        if not self._context.is_subset:
            begin_publication(self._settings.home, self._warehouse)
        arguments = build_arguments()
        self._warehouse.close()
        with given_to_dbt(self._settings, cache_folder(self._settings.home)):
            invocation = self._dbt.cli(arguments, context=self._context, target_path=self._target, raise_on_error=False)
        note_started(invocation.process)
        return invocation

    def record(self) -> None:
        """Record the verdicts of dbt's tests, however the build ended."""
        with self._warehouse.writing() as con:
            manifest = manifest_of(self._settings.home)
            record_dbt_results(con, self._context.run_id, self._target / "run_results.json", manifest)

    def require_success(self) -> None:
        """Raise if a statement failed, or if failed tests leave nothing to publish."""
        if self._failed is not None:
            raise dg.Failure(description=self._why(self._failed))
        with self._warehouse.writing() as con:
            stops = failed_checks(con, self._context.run_id)
        if stops:
            raise dg.Failure(description="\n".join(["dbt's tests failed:", *map(str, stops)]))
        compiled = None if self._context.is_subset else self._target / "compiled"
        with self._warehouse.writing() as con:
            kept = lineage_of(self._settings.home)
            record_lineage(con, kept, self._manifest, compiled, self._context.log.warning)

    def _why(self, failed: StatementsFailed) -> str:
        """Return what failed, and that leaving out a cluster does not help."""
        what = "; ".join(failed.messages[:MAX_SHOWN]) or DBT_TELLS_NOTHING
        help_ = " (the rows of no single cluster cause it)" if failed.errors and may_be_of_rows(failed) else ""
        return (
            f"{what}{help_}; nothing was published, readers see the last publication as before; dbt's log: "
            f"{self._target / 'dbt.log'}; send it to the maintainers"
        )


def build_again(settings: HomeSettings, warehouse: Warehouse, arguments: Sequence[str] = ("run",)) -> None:
    """Build models again without events for Dagster, from the clusters that the run has not left out so far.

    Raise `StatementsFailed` if statements fail.
    """
    target = settings.home.work / "dbt-again"
    (target / "run_results.json").unlink(missing_ok=True)
    warehouse.close()
    with given_to_dbt(settings, cache_folder(settings.home)):
        invocation = dbt_resource(settings.home).cli(
            [*arguments, RESULTS_ONLY, *ONE_THREAD], target_path=target, raise_on_error=False
        )
    note_started(invocation.process)
    try:
        invocation.wait()
    finally:
        end_started()
    require_not_killed(invocation.process.returncode)
    if invocation.process.returncode:
        failed = failed_statements(target / "run_results.json")
        raise failed if failed.errors else RuntimeError(f"{DBT_TELLS_NOTHING}; its log: {target / 'dbt.log'}")


def _name(event: Any) -> str:
    """Return the name of an event's model or test."""
    if isinstance(event, dg.Output):
        return str(event.output_name)
    return f"{getattr(event, 'asset_key', '')} {getattr(event, 'check_name', '')}"


def _briefly(event: Any) -> Any:
    """Drop metadata that repeat the table's name: Dagster's history keeps three copies of them for each table."""
    metadata = {name: value for name, value in (event.metadata or {}).items() if name not in OF_ALL_TABLES}
    if isinstance(event, dg.Output):
        return dg.Output(event.value, event.output_name, metadata=metadata)
    return event._replace(metadata=metadata)


def begin_publication(home: Home, warehouse: Warehouse) -> None:
    """Drop what the last build made: tables of deleted models do not stay, and a new file is small."""
    with warehouse.writing() as con:
        for schema in ("inputs", "intermediate", *OF_EARLIER_VERSIONS):
            con.execute(f"drop schema if exists {schema} cascade")
    warehouse.close()
    remove_file(home.build_file)
