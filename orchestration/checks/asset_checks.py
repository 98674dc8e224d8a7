"""The suites of `assets.expectations` as Dagster checks, one per table; each verdict is also a row in ops.checks.

A check stops the refresh when a finding concerns all clusters, or when no cluster is left to publish. A finding about
one cluster is written to ops.cluster_failures, and that cluster keeps its last good data.
"""

from collections.abc import Container, Iterable, Iterator, Sequence
from pathlib import Path

import dagster as dg
import duckdb

import assets.estimates
from assets.bad_clusters.left_out import failing_clusters, record_failures
from assets.expectations.tables import OWN_RULES, rules_of
from assets.not_computed import COMPUTED
from assets.warehouse import Warehouse
from orchestration.checks import verdicts
from orchestration.checks.verdicts import Verdict
from orchestration.settings.home import DBT_PROJECT

__all__ = [
    "all_checks",
    "checks_of",
    "failed_checks",
    "judge",
    "record_verdicts",
    "suites",
]

DEMANDS = "Numbers, shares, limits and times are what the names of their columns promise"


def suites() -> list[tuple[str, str]]:
    """List (schema, table) of every judged table: those of raw and ops with rules, and all marts and estimates."""
    read = [(schema, table) for schema in ("raw", "ops") for table in OWN_RULES[schema]]
    marts = sorted(path.stem for path in (DBT_PROJECT / "models" / "marts").glob("*.sql"))
    estimates = sorted(path.stem for path in Path(assets.estimates.__path__[0]).glob("est_*.py"))
    return [*read, *(("marts", table) for table in marts), *(("estimates", table) for table in estimates)]


def judge(warehouse: Warehouse, tables: list[tuple[str, str]]) -> dict[tuple[str, str], list[Verdict]]:
    """Return the verdicts on tables of a DuckDB file, by table; the file is closed again afterwards."""
    from orchestration.checks.great_expectations_duckdb import validating

    found = {}
    with validating(warehouse) as validator:
        for schema, table in tables:
            name = f"{schema}.{table}"
            columns = validator.columns.get((schema, table))
            if columns:
                rules = rules_of(schema, table, columns)
                results = validator.validate(schema, table, rules)
                found[schema, table] = verdicts.verdicts_of(name, rules, results)
            else:
                found[schema, table] = [verdicts.missing_table(name)]
    return found


def check_name(schema: str, table: str) -> str:
    """Return the name of a table's Dagster check."""
    return f"{schema}_{table}_expectations"


def all_checks(estimates: Iterable[object]) -> list[dg.AssetChecksDefinition]:
    """Build the checks of every suite.

    One step judges the raw tables, one the marts and one the estimates, because opening the file takes time. An
    estimate that other estimates read has a step of its own, which runs before they are computed.
    """
    made = [asset for asset in estimates if isinstance(asset, dg.AssetsDefinition)]
    are_read = {key for asset in made for key in asset.dependency_keys}
    together: dict[str, list[tuple[str, str]]] = {}
    for schema, table in suites():
        is_read = schema == "estimates" and dg.AssetKey([schema, table]) in are_read
        step = f"{schema}_{table}" if is_read else "raw" if schema == "ops" else schema
        together.setdefault(step, []).append((schema, table))
    return [checks_of(f"{step}_expectations", tables) for step, tables in together.items()]


def checks_of(step: str, tables: list[tuple[str, str]]) -> dg.AssetChecksDefinition:
    """Build one check per table, all in one step; downstream steps stop if no cluster can be published."""
    by_key = {dg.AssetCheckKey(dg.AssetKey([*table]), check_name(*table)): table for table in tables}
    specs = [
        dg.AssetCheckSpec(key.name, asset=key.asset_key, blocking=True, description=_demand(*table))
        for key, table in by_key.items()
    ]

    @dg.multi_asset_check(name=step, specs=specs, can_subset=True)
    def check(
        context: dg.AssetCheckExecutionContext, warehouse: dg.ResourceParam[Warehouse]
    ) -> Iterator[dg.AssetCheckResult]:
        wanted = {key: table for key, table in by_key.items() if key in context.selected_asset_check_keys}
        with warehouse.reading() as con:
            failed = verdicts.read_failed(con, context.run.run_id, is_blocking=False)
        without_rows = {tuple(v.table_name.split(".")): [v] for v in failed if v.check_name == COMPUTED}
        found = judge(warehouse, [table for table in wanted.values() if table not in without_rows])
        with warehouse.writing() as con:
            record_verdicts(
                con, context.run.run_id, step, [verdict for of_table in found.values() for verdict in of_table]
            )
            stops = {str(verdict) for verdict in failed_checks(con, context.run.run_id)}
        for key, table in wanted.items():
            yield result_of(key, without_rows.get(table) or found[table], stops)

    return check


def _demand(schema: str, table: str) -> str:
    """Return what the check of a table demands, in one sentence."""
    of_columns = [] if schema == "ops" else [DEMANDS]
    return "; ".join([*of_columns, *(rule.holds for rule in OWN_RULES[schema].get(table, []))]) + "."


def record_verdicts(con: duckdb.DuckDBPyConnection, run_id: str, step: str, found: Sequence[Verdict]) -> None:
    """Write the verdicts of a step to ops.checks, and the clusters that they block to ops.cluster_failures.

    Verdicts on a cluster that failed in another step are left out: its rows are incomplete anyway.
    """
    failed_before = failing_clusters(con, run_id)
    new = [verdict for verdict in found if verdict.cluster_id not in failed_before]
    verdicts.record(con, run_id, new)
    failures: dict[str, list[str]] = {}
    for verdict in new:
        if verdict.cluster_id is not None and verdict.is_blocking and not verdict.passed:
            failures.setdefault(verdict.cluster_id, []).append(str(verdict))
    record_failures(con, run_id, step, failures)


def result_of(key: dg.AssetCheckKey, found: list[Verdict], stops: Container[str]) -> dg.AssetCheckResult:
    """Combine the verdicts on a table into one Dagster result; `stops` holds the verdicts that stop the refresh."""
    failed = [verdict for verdict in found if not verdict.passed]
    is_blocked = any(str(verdict) in stops for verdict in failed)
    return dg.AssetCheckResult(
        asset_key=key.asset_key,
        check_name=key.name,
        passed=not failed,
        severity=dg.AssetCheckSeverity.ERROR if is_blocked else dg.AssetCheckSeverity.WARN,
        description="\n".join(str(verdict) for verdict in failed) or f"{len(found)} checks passed",
        metadata={
            "checks": len(found),
            "failed": len(failed),
            **{f"check/{verdict.check_name}": f"{verdict.observed} ({verdict.expected})" for verdict in found},
        },
    )


def failed_checks(con: duckdb.DuckDBPyConnection, run_id: str) -> list[Verdict]:
    """Return the failed checks that stop a run.

    These are the checks that concern all clusters and, if no cluster is left to publish, those of single clusters too.
    """
    failed = verdicts.read_failed(con, run_id, is_blocking=True)
    if is_any_cluster_left(con, run_id):
        return [verdict for verdict in failed if verdict.cluster_id is None]
    return failed


def is_any_cluster_left(con: duckdb.DuckDBPyConnection, run_id: str) -> bool:
    """Return whether some cluster of the sources folder did not fail in a run."""
    clusters = {cluster_id for (cluster_id,) in con.execute("select cluster_id from raw.clusters").fetchall()}
    return bool(clusters - failing_clusters(con, run_id).keys())
