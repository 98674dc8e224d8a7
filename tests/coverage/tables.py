"""Data sets as rows of the tables that rates, MTTF and scale tests are estimated from: many, in seconds.

Attempts of six sizes run until they end by themselves or fail. Failures come alone or several attempts at a time, and
some that are counted are none: their probability is as good as it says. The estimates' own SQL and
models do the rest; `warehouse` makes whole warehouses instead, which takes minutes.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from assets.warehouse import Warehouse
from tests.warehouses import columns_of, create_tables

GPUS = np.array([8, 16, 64, 256, 512, 1024])
ATTEMPTS = np.array([40, 30, 24, 24, 12, 6])
DAYS = 60
RATE = 0.0065
"""Failures per node-day."""
KINDS = {"alone": (1.0, 0.0), "together": (2.0, 0.0), "uncertain": (1.2, 0.2)}
"""Attempts that an incident would end, and candidates that are no failure as a share of the failures."""

TABLES = """
create schema made;
create table made.dim_clusters as
    select
        cluster_id, false as is_simulated, 8 as gpus_per_node, 8192 as gpu_count, true as has_accounting,
        true as has_health_checks, true as has_kernel_messages, true as has_node_events, true as has_slurmctld_log,
        timestamp '2025-01-01' as study_from_at, timestamp '2025-03-02' as study_to_at,
        timestamp '2025-03-02' as data_through_at
    from (select distinct cluster_id from rows);
create table made.fct_attempt_exposures as
    select
        cluster_id, attempt_id, if(is_failure, 'FAILED', 'COMPLETED') as state, gpu_count, gpu_count // 8 as node_count,
        gpu_count as gpu_size_bin, true as is_whole_node, 0.0 as entry_seconds, seconds as exit_seconds,
        seconds as exposure_seconds, gpu_count // 8 * seconds / 86400 as node_days,
        gpu_count * seconds / 3600 as gpu_hours, true as has_ended,
        if(is_failure, timestamp '2025-01-01' + to_seconds(started + seconds), null) as failed_at,
        if(is_failure, probability, 0) as failure_probability, is_failure as is_paper_failure, incident_id,
        if(is_failure, 'n1', null) as culprit_node_id, if(is_failure, 'pcie', null) as failure_category,
        0.0 as gap_seconds, timestamp '2025-01-01' as seen_from_at, timestamp '2025-03-01' as seen_to_at
    from rows;
create table made.fct_attempts as
    select
        *, gpu_count as job_gpu_count, attempt_id as run_id, true as is_terminal,
        is_paper_failure as is_infrastructure_failure, exit_seconds as runtime_seconds,
        timestamp '2025-01-01' as started_at, timestamp '2025-03-01' as ended_at, null::varchar as end_reason
    from made.fct_attempt_exposures;
create table made.fct_incidents as
    select distinct cluster_id, incident_id, 1 as touched_node_count from rows where incident_id is not null;
create table made.fct_node_days as
    select
        cluster_id, 'n1' as node_id, date '2025-01-01' as day_date, 24 * sum(node_days) as study_hours,
        24 * sum(node_days) as in_use_hours, sum(gpu_hours) as allocated_gpu_hours
    from made.fct_attempt_exposures group by cluster_id;
create table made.fct_failures as
    select *, failure_probability as posterior_probability, true as is_attributed
    from made.fct_attempt_exposures where failed_at is not null;
"""


def draw(kind: str, rng: np.random.Generator) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return one data set's attempts, and by size the hours run and the failures expected in them.

    Attempts that an incident would end together share one moment of failure; some of them end by themselves before it.
    """
    together, false_share = KINDS[kind]
    gpus = np.repeat(GPUS, ATTEMPTS)
    nodes = gpus / 8
    gang = np.cumsum((rng.random(gpus.size) < 1 / together) | (np.diff(gpus, prepend=0) != 0)) - 1
    hazard = RATE * (1 + false_share) * nodes
    failed_after = rng.exponential(1.0, gpus.size)[gang] / hazard
    own_end = rng.exponential(2.0, gpus.size)
    is_failure, days = failed_after < own_end, np.minimum(own_end, failed_after)
    true_share = 1 / (1 + false_share)
    probability = rng.beta(0.6 * true_share, 0.6 * (1 - true_share), gpus.size) if false_share else 1.0
    rows = pd.DataFrame(
        {
            "gpu_count": gpus,
            "seconds": days * 86400,
            "started": rng.uniform(0, np.maximum(DAYS - days, 0)) * 86400,
            "is_failure": is_failure,
            "probability": probability,
            "incident_id": [f"i{g}" if failed else None for g, failed in zip(gang, is_failure, strict=True)],
        }
    )
    truth = pd.DataFrame({"gpu_count": gpus, "hours": 24 * days, "node_days": nodes * days})
    return rows, truth.assign(expected=RATE * nodes * days)


def fill(folder: Path, sets: dict[str, pd.DataFrame]) -> Warehouse:
    """Make a warehouse whose clusters are these data sets."""
    frames = [frame.assign(cluster_id=name) for name, frame in sets.items()]
    rows = pd.concat(frames, ignore_index=True)
    rows["attempt_id"] = [f"a{i}" for i in range(len(rows))]
    house = Warehouse(path=str(folder / "faultline.duckdb"))
    with house.writing() as con:
        con.register("rows", rows)
        create_tables(con)
        con.execute(TABLES)
        for (name,) in con.execute("select table_name from duckdb_tables() where schema_name = 'made'").fetchall():
            made = [column for column, *_ in con.execute(f"describe made.{name}").fetchall()]
            known = ", ".join(column for column in made if column in columns_of(f"marts.{name}"))
            con.execute(f"insert into marts.{name} ({known}) select {known} from made.{name}")
        con.execute("drop schema made cascade")
    return house
