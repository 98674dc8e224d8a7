"""Many data sets as clusters of one warehouse: histories become rows of the raw tables, the rest is the pipeline's own.

Only the reading of files is left out, which costs half a second a file: one small cluster is read from its logs, the
settings and accounts of its files stand for those of all others. dbt and the estimates run as in a refresh.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import dagster as dg
import duckdb
import numpy as np
import pandas as pd

import assets.estimates
import assets.raw
from assets.sources.formats import READERS
from assets.sources.intake.account.spans import write_spans
from assets.sources.intake.find.folder import Survey
from assets.sources.reader import Reader
from assets.sources.settings import ClusterSettings
from assets.warehouse import Warehouse
from orchestration.dbt.command import DBT
from orchestration.lifecycle.resources import resources
from orchestration.settings.environment import HomeSettings, environment_of_dbt
from orchestration.settings.home import DBT_PROJECT, Home
from tests.coverage.checks import SECONDS_OF_RUN, KernelLine, Result
from tests.coverage.generate import write_cluster
from tests.coverage.happenings import Happenings, node_name
from tests.coverage.logs import GCM_CHECKS, KERNEL_MESSAGES, is_exported, reason_of
from tests.coverage.sites import Site

TEMPLATE = Site("template", node_count=20, load=0.3)
KERNEL_KINDS = {
    "gpu_unavailable": ("xid", 79),
    "gpu_memory": ("xid", 95),
    "gpu_nvlink": ("xid", 74),
    "ib_link": ("ib_link", None),
    "pcie": ("pcie_aer_fatal", None),
    "filesystem_mount": ("fs_mount", None),
    "user": ("xid", 31),
}
NOT_TRIED = frozenset({"est_checkpoint_plans", "est_ettr_grid", "est_lemon_evaluations"})
"""Estimates that no claim reads and that take a second for each cluster."""

Seen = tuple[Happenings, list[Result], list[KernelLine]]


def new_home(root: Path) -> Home:
    """Make a home whose raw tables hold the template alone."""
    home = Home.at(root)
    write_cluster(root, TEMPLATE, 3, 1, datetime(2025, 1, 1, tzinfo=UTC).timestamp())
    _materialise(home, assets.raw)
    return home


def _materialise(home: Home, package: object, leave_out: frozenset[str] = frozenset()) -> None:
    found = dg.load_assets_from_package_module(package)
    wanted = [asset for asset in found if not leave_out.intersection(key.path[-1] for key in asset.keys)]
    assert dg.materialize(wanted, resources=resources(HomeSettings(home))).success


def warehouse_of(home: Home) -> Warehouse:
    """Open the home's working files."""
    return Warehouse(path=str(home.working_file), publication=str(home.build_file))


def insert(home: Home, seen: Iterable[Seen]) -> None:
    """Put histories into the raw tables and take the template out."""
    frames: dict[str, list[pd.DataFrame]] = {}
    names = []
    for happenings, results, lines in seen:
        names.append(happenings.site.name)
        tables = {
            "raw.sacct": _accounting(happenings),
            "raw.health_checks": _health(happenings, results),
            "raw.kernel_messages": _kernel(happenings, lines),
            "raw.node_events": _outages(happenings),
            "raw.nodes": _nodes(happenings),
        }
        for table, frame in tables.items():
            if len(frame):
                frames.setdefault(table, []).append(frame)
    with warehouse_of(home).writing() as con:
        con.register("names", pd.DataFrame({"name": names}))
        con.execute("insert into raw.clusters select c.* replace (name as cluster_id) from raw.clusters as c, names")
        con.execute(
            "insert into ops.files select f.* replace (name as cluster_id, replace(path, 'template', name) as path) "
            "from ops.files as f, names"
        )
        for table, parts in frames.items():
            con.register("rows", pd.concat(parts, ignore_index=True))
            con.execute(f"insert into {table} by name select * from rows")
        for reader in READERS.values():
            _note_what_is_covered(con, reader)
        con.execute(
            "insert into raw.node_names select distinct cluster_id, node_name, node_id from raw.nodes "
            "where cluster_id <> 'template'"
        )
        con.execute(
            "insert into raw.node_lists select distinct cluster_id, node_list, node_ids, node_ids from raw.sacct "
            "where cluster_id <> 'template' and node_list is not null"
        )
        tables = con.execute(
            "select schema_name || '.' || table_name from duckdb_columns() where column_name = 'cluster_id' "
            "and schema_name in ('raw', 'ops')"
        ).fetchall()
        for (table,) in tables:
            con.execute(f"delete from {table} where cluster_id = 'template'")
        write_spans(con, Survey(clusters={name: ClusterSettings(cluster_id=name) for name in names}))


def _note_what_is_covered(con: duckdb.DuckDBPyConnection, reader: Reader) -> None:
    """Give the accounts of the files the times of the rows, as reading them would; no row tells its file's time."""
    first, last = reader.COVERS
    con.execute(
        f"""
        update ops.files set first_at = covered.first_at, last_at = covered.last_at
        from (
            select cluster_id, {first} as first_at, {last} as last_at
            from raw.{reader.TABLE} cross join (select null::timestamp as modified_at) as batch_files
            group by cluster_id
        ) as covered
        where covered.cluster_id = files.cluster_id and files.kind = $kind
        """,
        {"kind": reader.KIND},
    )


def build(home: Home) -> None:
    """Run dbt, without its tests, and the estimates."""
    folders = ["--project-dir", str(DBT_PROJECT), "--profiles-dir", str(DBT_PROJECT)]
    outputs = ["--target-path", str(home.root / "dbt"), "--log-path", str(home.root / "dbt")]
    what = [
        "build",
        "--full-refresh",
        "--threads",
        "1",
        "--exclude-resource-type",
        "unit_test",
        "--exclude-resource-type",
        "test",
    ]
    done = subprocess.run(
        [DBT, *what, *folders, *outputs],
        env=environment_of_dbt(HomeSettings(home)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    _materialise(home, assets.estimates, NOT_TRIED)


def _moments(seconds: list[float] | np.ndarray) -> pd.Series:
    return pd.Series(pd.to_datetime(np.floor(np.asarray(seconds, dtype=float)), unit="s"))


def _base(happenings: Happenings, kind: str, count: int) -> dict[str, object]:
    name = happenings.site.name
    numbers = np.arange(2, count + 2)
    return {"cluster_id": name, "path": f"{name}/{kind}/rows", "line_number": numbers, "disposition": "loaded"}


def _accounting(happenings: Happenings) -> pd.DataFrame:
    shown = [attempt for attempt in happenings.attempts if is_exported(attempt, happenings)]
    is_running = np.array([attempt.ended >= happenings.last for attempt in shown])
    ends = np.array([attempt.ended for attempt in shown])
    starts = np.array([attempt.started for attempt in shown])
    submits = _moments([attempt.submitted for attempt in shown])
    nodes = [[node_name(happenings.site, node) for node in attempt.nodes] for attempt in shown]
    gpus = [attempt.job.gpus for attempt in shown]
    states = np.where(is_running, "RUNNING", [attempt.state for attempt in shown])
    return pd.DataFrame(
        {
            **_base(happenings, "sacct", len(shown)),
            "job_id": [str(attempt.job.number) for attempt in shown],
            "job_id_raw": [attempt.job.number for attempt in shown],
            "user_name": [attempt.job.user for attempt in shown],
            "account": "lab",
            "partition": "gpu",
            "qos": "normal",
            "job_name": [f"train{attempt.job.number}" for attempt in shown],
            "submitted_at": submits,
            "eligible_at": submits,
            "started_at": _moments(starts),
            "ended_at": _moments(ends).where(~is_running),
            "time_quality": "epoch",
            "elapsed_seconds": np.floor(np.minimum(ends, happenings.last)).astype(int) - np.floor(starts).astype(int),
            "state": states,
            "state_raw": states,
            "exit_code": np.where(states == "FAILED", 1, 0),
            "exit_signal": 0,
            "node_list": [",".join(names) for names in nodes],
            "node_ids": nodes,
            "requested_node_count": [attempt.job.node_count for attempt in shown],
            "gpu_count": gpus,
            "gpu_count_source": "tres",
            "requested_gpu_count": gpus,
            "excluded_node_ids": [[] for _ in shown],
            "warnings": [[] for _ in shown],
        }
    )


def _health(happenings: Happenings, results: list[Result]) -> pd.DataFrame:
    nodes = [node_name(happenings.site, result.node) for result in results]
    at = np.array([result.at for result in results])
    return pd.DataFrame(
        {
            **_base(happenings, "health", len(results)),
            "node_name": nodes,
            "node_id": nodes,
            "check_name": [GCM_CHECKS[result.category][0] for result in results],
            "check_type": "periodic",
            "result": ["CRITICAL" if result.is_failure else "OK" for result in results],
            "result_quality": "ran",
            "started_at": _moments(at),
            "observed_at": _moments(at + SECONDS_OF_RUN),
            "xid_codes": [[] for _ in results],
            "message": [GCM_CHECKS[result.category][1] if result.is_failure else "ok" for result in results],
        }
    )


def _kernel(happenings: Happenings, lines: list[KernelLine]) -> pd.DataFrame:
    nodes = [node_name(happenings.site, line.node) for line in lines]
    return pd.DataFrame(
        {
            **_base(happenings, "kernel", len(lines)),
            "node_name": nodes,
            "node_id": nodes,
            "occurred_at": _moments([line.at for line in lines]),
            "time_quality": "second",
            "kind": [KERNEL_KINDS[line.category][0] for line in lines],
            "code": pd.array([KERNEL_KINDS[line.category][1] for line in lines], dtype="Int64"),
            "repeat_count": 1,
            "line_count": 1,
            "message": [KERNEL_MESSAGES[line.category] for line in lines],
        }
    )


def _outages(happenings: Happenings) -> pd.DataFrame:
    outs = [o for o in happenings.withdrawals if o.start < happenings.last and o.end > happenings.first]
    nodes = [node_name(happenings.site, out.node) for out in outs]
    ends = np.array([out.end for out in outs])
    return pd.DataFrame(
        {
            **_base(happenings, "events", len(outs)),
            "event_kind": "node",
            "node_name": nodes,
            "node_id": nodes,
            "started_at": _moments([out.start + 60 for out in outs]),
            "ended_at": _moments(ends).where(ends < happenings.last),
            "state": ["DOWN" if out.kind == "down" else "DRAIN" for out in outs],
            "reason": [reason_of(out.kind, out.category) for out in outs],
            "reason_user": "root",
            "reason_uid": 0,
        }
    )


def _nodes(happenings: Happenings) -> pd.DataFrame:
    nodes = [node_name(happenings.site, node) for node in range(happenings.site.node_count)]
    return pd.DataFrame(
        {
            **_base(happenings, "inventory", len(nodes)),
            "node_name": nodes,
            "node_id": nodes,
            "state": "IDLE",
            "gpu_count": happenings.site.gpus_per_node,
            "partitions": [["gpu"] for _ in nodes],
        }
    )
