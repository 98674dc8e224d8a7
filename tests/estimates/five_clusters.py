"""A warehouse of five clusters, small enough to work out by hand.

large      failures above 128 GPUs, two of them one incident
small      a failure, but no job above 128 GPUs
quiet      exposure without any failure, and one attempt whose GPU count is unknown
untracked  no GPU count is known
empty      configured, and no attempt at all
"""

from assets.estimates.est_ettr_by_size import est_ettr_by_size
from assets.estimates.est_failure_rates import est_failure_rates
from assets.estimates.est_mttf_by_size import est_mttf_by_size
from assets.estimates.est_mttf_projections import est_mttf_projections
from assets.warehouse import Warehouse

ASSETS = (est_failure_rates, est_mttf_by_size, est_mttf_projections, est_ettr_by_size)

MARTS = """
create schema marts;
create schema staging;
create table marts.dim_clusters (cluster_id varchar, is_simulated boolean, gpus_per_node integer, gpu_count bigint);
create table marts.fct_attempts (
    cluster_id varchar, attempt_id varchar, run_id varchar, is_terminal boolean, is_infrastructure_failure boolean,
    incident_id varchar, gpu_count bigint, gpu_size_bin bigint, node_count bigint, runtime_seconds bigint,
    node_days double
);
create table marts.fct_job_runs (
    cluster_id varchar, run_id varchar, gpu_size_bin bigint, node_count bigint, attempt_count bigint,
    queue_hours double, productive_hours double, scheduled_hours double, ettr double, ettr_low double,
    ettr_high double, infrastructure_failure_count bigint
);
create table staging.stg_config__clusters (
    cluster_id varchar, checkpoint_minutes double, restart_minutes double, write_minutes double
);
"""

CLUSTERS = [("large", 8, 2000), ("small", 4, 16), ("quiet", 8, 512), ("untracked", 8, None), ("empty", 8, 64)]

# cluster, attempt, run, is_terminal, is_failure, incident, GPUs, size bin, nodes, days
ATTEMPTS = [
    ("large", "a1", "r1", True, False, None, 256, 256, 32, 10.0),
    ("large", "a2", "r2", True, True, "i1", 256, 256, 32, 5.0),
    ("large", "a3", "r4", True, True, "i1", 500, 512, 64, 5.0),
    ("large", "a4", "r5", True, True, "i2", 8, 8, 1, 10.0),
    ("large", "a5", "r6", True, False, None, 1, 1, 1, 2.0),
    ("large", "a6", "r7", True, None, None, 128, 128, 16, 1.0),
    ("large", "a7", "r8", False, False, None, 1024, 1024, 128, 1.0),
    ("small", "a1", "r1", True, True, None, 4, 4, 1, 1.0),
    ("small", "a2", "r2", True, False, None, 16, 16, 4, 0.5),
    ("quiet", "a1", "r1", True, False, None, 256, 256, 32, 3.125),
    ("quiet", "a2", "r2", True, False, None, None, None, 1, 5.0),
    ("untracked", "a1", "r1", True, True, "i1", None, None, 2, 5.0),
]

# cluster, run, size bin, nodes, attempts, queue, productive, scheduled hours, ETTR with bounds, failures
RUNS = [
    ("large", "r1", 256, 32, 1, 1.0, 238.0, 240.0, 0.98, 0.97, 0.99, 0),
    ("large", "r2", 256, 32, 2, 3.0, 118.0, 120.0, 0.94, 0.92, 0.96, 1),
    ("large", "r3", 256, 30, 1, 0.0, 28.0, 30.0, 0.93, 0.93, 0.93, 0),
    ("large", "r4", 512, 64, 1, 2.0, 119.0, 120.0, 0.97, 0.96, 0.98, 1),
    ("large", "r6", 1, 1, 1, 0.0, 23.0, 23.9, 0.96, 0.96, 0.96, 0),
    ("quiet", "r1", 256, 32, 1, 0.5, 74.0, 75.0, 0.98, 0.98, 0.98, 0),
    ("quiet", "r2", None, 0, 1, 0.5, 119.0, 120.0, 0.99, 0.99, 0.99, 0),
    ("untracked", "r1", None, 2, 1, 0.5, 119.0, 120.0, 0.99, 0.99, 0.99, 1),
]


def build(house: Warehouse) -> None:
    """Fill the marts of the five clusters; nothing is estimated yet."""
    with house.writing() as con:
        con.execute(MARTS)
        con.executemany("insert into marts.dim_clusters values ($1, false, $2, $3)", CLUSTERS)
        con.executemany(
            "insert into marts.fct_attempts values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10 * 86400, $9 * $10)",
            ATTEMPTS,
        )
        con.executemany(
            "insert into marts.fct_job_runs values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)", RUNS
        )
        con.executemany(
            "insert into staging.stg_config__clusters values ($1, 60, 5, 0)", [(cluster[0],) for cluster in CLUSTERS]
        )


def read(house: Warehouse, table: str, **key: object) -> list[dict[str, object]]:
    """Read the rows of an estimate whose columns have the given values."""
    with house.reading() as con:
        found = con.execute(f"from estimates.{table}").fetchall()
        names = [column[0] for column in con.description]
    rows = [dict(zip(names, row, strict=True)) for row in found]
    return [row for row in rows if all(row[name] == value for name, value in key.items())]
