"""A refresh as OpenLineage events: the logs that were read, the lineage of tables and columns, and the checks.

The refresh is a run. Each table is a job with its own run; the parent of that run is the refresh. A raw table's inputs
are folders of logs, by cluster and kind. Tables are named `schema.table`, and folders by their paths in the sources.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid5

import duckdb

PRODUCER = "urn:faultline:refresh"
"""The project has no address, so a name identifies its events."""
SPECIFICATION = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
FACETS = {
    "columnLineage": "1-2-0/ColumnLineageDatasetFacet",
    "dataQualityAssertions": "1-1-0/DataQualityAssertionsDatasetFacet",
    "datasetVersion": "1-0-1/DatasetVersionDatasetFacet",
    "documentation": "1-1-0/DocumentationDatasetFacet",
    "errorMessage": "1-0-1/ErrorMessageRunFacet",
    "jobType": "2-0-4/JobTypeJobFacet",
    "outputStatistics": "1-0-2/OutputStatisticsOutputDatasetFacet",
    "parent": "1-2-0/ParentRunFacet",
    "processing_engine": "1-1-1/ProcessingEngineRunFacet",
    "schema": "1-2-0/SchemaDatasetFacet",
}
"""Facets by key, with the versions of their schemas."""
REFRESH, CHECKS = "refresh", "checks"
Event = dict[str, Any]

LINEAGE = "select table_name, column_name, upstream_table, upstream_column from ops.lineage order by all"
COLUMNS = """
    select schema_name || '.' || table_name, column_name, data_type, comment
    from duckdb_columns()
    where not internal
    order by schema_name, table_name, column_index
"""
DESCRIPTIONS = """
    select schema_name || '.' || table_name, comment, estimated_size from duckdb_tables() where not internal
    union all
    select schema_name || '.' || view_name, comment, null from duckdb_views() where not internal
"""
CHECKED = """
    select table_name, check_name, passed, is_blocking, observed, expected, cluster_id
    from ops.checks where run_id = ? order by all
"""
FOLDERS = "select distinct kind, cluster_id from ops.files where status <> 'refused' and is_present order by all"
RUN = "select started_at, ended_at, code_version from ops.runs where run_id = ?"


@dataclass(frozen=True)
class Namespaces:
    """How the events of a home name things: its jobs and tables, and the folders of its logs."""

    home: str
    sources: str


@dataclass(frozen=True)
class _Run:
    run_id: str
    version: str
    names: Namespaces

    def event(self, job: str, state: str, at: datetime, **parts: Any) -> Event:
        """Return an event of the refresh, or of one of its jobs."""
        is_refresh = job == REFRESH
        facets = parts.pop("facets", {})
        if not is_refresh:
            parent = {"run": {"runId": self.run_id}, "job": {"namespace": self.names.home, "name": REFRESH}}
            facets |= {"parent": facet("parent", **parent)}
        facets |= {"processing_engine": facet("processing_engine", name="Faultline", version=self.version)}
        return {
            "eventTime": at.replace(tzinfo=at.tzinfo or UTC).isoformat(),
            "eventType": state,
            "producer": PRODUCER,
            "schemaURL": SPECIFICATION,
            "run": {"runId": self.run_id if is_refresh else str(uuid5(UUID(self.run_id), job)), "facets": facets},
            "job": {
                "namespace": self.names.home,
                "name": job,
                "facets": {"jobType": facet("jobType", processingType="BATCH", integration="FAULTLINE", jobType="JOB")},
            },
            "inputs": [],
            "outputs": [],
            **parts,
        }

    def table(self, name: str, **facets: Any) -> dict[str, Any]:
        """Return a table as a dataset with facets."""
        return {"namespace": self.names.home, "name": name, "facets": facets}


def facet(key: str, **parts: Any) -> dict[str, Any]:
    """Return a facet with its producer, its schema and its content."""
    schema = FACETS[key]
    kind = schema.partition("/")[2]
    url = f"https://openlineage.io/spec/facets/{schema}.json#/$defs/{kind}"
    return {"_producer": PRODUCER, "_schemaURL": url, **parts}


def events_of_publication(con: duckdb.DuckDBPyConnection, run_id: str, names: Namespaces) -> Iterator[Event]:
    """Yield the events of the refresh that made a publication: its start, each table, the checks, its end.

    Parameters
    ----------
    con
        The published file.
    run_id
        The run, which has a row in `ops.runs`.
    names
        How the home and its sources are named.
    """
    ((started_at, ended_at, version),) = con.execute(RUN, [run_id]).fetchall()
    run = _Run(run_id, version, names)
    edges = con.execute(LINEAGE).fetchall()
    columns = _grouped(con.execute(COLUMNS).fetchall())
    described = {table: (comment, size) for table, comment, size in con.execute(DESCRIPTIONS).fetchall()}
    of_table = _grouped(edges)
    tables = dict.fromkeys([*(row[2] for row in edges), *of_table])
    folders = _folders(con, names)
    yield run.event(REFRESH, "START", started_at)
    for table in tables:
        description, row_count = described.get(table, (None, None))
        output = run.table(table, **_described(columns.get(table, ()), description, run_id))
        if table in of_table:
            output["facets"]["columnLineage"] = _column_lineage(of_table[table], names)
        if row_count is not None:
            output["outputFacets"] = {"outputStatistics": facet("outputStatistics", rowCount=row_count)}
        above = dict.fromkeys(upstream for _, upstream, _ in of_table.get(table, ()))
        inputs = [*map(run.table, above), *folders.get(table, ())]
        yield run.event(table, "COMPLETE", ended_at, inputs=inputs, outputs=[output])
    checked = [
        run.table(table) | {"inputFacets": {"dataQualityAssertions": facet("dataQualityAssertions", assertions=found)}}
        for table, found in _assertions(con.execute(CHECKED, [run_id]).fetchall()).items()
    ]
    yield run.event(CHECKS, "COMPLETE", ended_at, inputs=checked)
    yield run.event(REFRESH, "COMPLETE", ended_at, outputs=[run.table(table) for table in tables if table in of_table])


def event_of_failure(run_id: str, message: str, version: str, names: Namespaces) -> Event:
    """Return the event of a failed refresh; `message` has no secrets."""
    facets = {"errorMessage": facet("errorMessage", message=message, programmingLanguage="Python")}
    return _Run(run_id, version, names).event(REFRESH, "FAIL", datetime.now(UTC), facets=facets)


def _grouped(rows: Iterable[tuple[Any, ...]]) -> dict[str, list[tuple[Any, ...]]]:
    found: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for table, *rest in rows:
        found[table].append(tuple(rest))
    return found


def _folders(con: duckdb.DuckDBPyConnection, names: Namespaces) -> dict[str, list[dict[str, Any]]]:
    """Return the folders of logs behind each raw table."""
    from assets.sources.formats import READERS

    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for kind, cluster_id in con.execute(FOLDERS).fetchall():
        if kind in READERS:
            folder = {"namespace": names.sources, "name": f"{cluster_id}/{kind}", "facets": {}}
            found[f"raw.{READERS[kind].TABLE}"].append(folder)
    return found


def _described(columns: Sequence[tuple[Any, ...]], description: str | None, run_id: str) -> dict[str, Any]:
    facets = {"datasetVersion": facet("datasetVersion", datasetVersion=run_id)}
    if columns:
        fields = [
            {"name": name, "type": kind} | ({"description": comment} if comment else {})
            for name, kind, comment in columns
        ]
        facets["schema"] = facet("schema", fields=fields)
    if description:
        facets["documentation"] = facet("documentation", description=description)
    return facets


def _column_lineage(edges: Iterable[tuple[Any, ...]], names: Namespaces) -> dict[str, Any]:
    fields: dict[str, dict[str, list[Mapping[str, str]]]] = {}
    for column, upstream, upstream_column in edges:
        origin = {"namespace": names.home, "name": upstream, "field": upstream_column}
        fields.setdefault(column, {"inputFields": []})["inputFields"].append(origin)
    return facet("columnLineage", fields=fields)


def _assertions(rows: Iterable[tuple[Any, ...]]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for table, check, passed, is_blocking, observed, expected, cluster_id in rows:
        assertion = {
            "assertion": check,
            "success": passed,
            "severity": "error" if is_blocking else "warn",
            "actual": observed,
            "expected": expected,
        }
        found[table].append(assertion | ({"name": f"{check} of {cluster_id}"} if cluster_id else {}))
    return found
