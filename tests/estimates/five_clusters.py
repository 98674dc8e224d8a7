"""A warehouse of five clusters, small enough to compute by hand.

large      failures above 128 GPUs, two of them one incident, and a job that still runs
small      a failure, but no job above 128 GPUs
quiet      exposure without any failure, and one attempt whose GPU count is unknown
untracked  no GPU count is known
empty      configured, and no attempt at all
"""

from datetime import datetime, timedelta
from importlib import import_module

from assets.warehouse import Warehouse
from tests.warehouses import Row, create_tables, insert

NAMES = (
    "evidence_reach", "failure_rates", "failure_rates_monthly", "lost_gpu_hours", "cause_rates", "forecast_scores",
    "mttf_by_size", "mttf_projections", "ettr_by_size", "ettr_by_qos", "ettr_grid", "checkpoint_plans",
    "attribution_chance", "check_scores", "hidden_failures", "scale_tests", "rate_changes", "changes", "rate_ratios",
    "repairs", "time_to_failure", "lemon_nodes", "lemon_evaluations", "lemon_effects", "location_rates",
)  # fmt: skip
ASSETS = [getattr(import_module(f"assets.estimates.est_{name}"), f"est_{name}") for name in NAMES]
"""Every estimate, first those that others read."""

DEFAULTS = """
alter table marts.dim_clusters alter is_simulated set default false;
alter table marts.dim_clusters alter has_health_checks set default true;
alter table marts.dim_clusters alter has_kernel_messages set default false;
alter table marts.dim_clusters alter has_node_events set default false;
alter table marts.dim_clusters alter has_slurmctld_log set default false;
alter table marts.dim_clusters alter study_from_at set default timestamp '2026-01-01';
alter table marts.dim_clusters alter study_to_at set default timestamp '2026-12-31';
alter table marts.fct_failures alter culprit_node_id set default 'n1';
alter table marts.fct_failures alter failure_category set default 'pcie';
"""
"""Clusters have checks and a study of one year, and one node is the culprit of every failure."""

# What the logs of a cluster could show.
SHOWABLE = """
insert into marts.dim_failure_categories by name
from (values ('pcie', true, true), ('node_fail_unattributed', true, true), ('oom', true, false))
    as categories (failure_category, is_cause, is_infrastructure);
insert into seeds.kernel_rules (failure_category) values ('pcie');
insert into ops.sight
select cluster_id, node_id, 'kernel', day_date from marts.fct_node_days;
"""

# The view of that name, of attempts that were never suspended; a failure without a row in fct_failures is certain.
EXPOSURES = """
drop table marts.fct_attempt_exposures;
create view marts.fct_attempt_exposures as
with watched as (
    select
        attempts.*,
        failures.posterior_probability,
        if(failures.attempt_id is null, 'n1', failures.culprit_node_id) as culprit_node_id,
        gpus_per_node,
        study_from_at,
        study_to_at,
        case
            when attempts.runtime_seconds is not null
                then least(
                    greatest(coalesce(epoch(study_from_at) - epoch(attempts.started_at), 0), 0),
                    attempts.runtime_seconds
                )
        end as entry_seconds,
        attempts.runtime_seconds
            - greatest(coalesce(epoch(attempts.ended_at) - epoch(study_to_at), 0), 0) as exit_seconds
    from marts.fct_attempts as attempts
    inner join marts.dim_clusters using (cluster_id)
    left join marts.fct_failures as failures using (cluster_id, attempt_id)
)

select
    cluster_id,
    attempt_id,
    if(is_infrastructure_failure, 'NODE_FAIL', 'COMPLETED') as state,
    gpu_count,
    node_count,
    gpu_size_bin,
    gpu_count >= node_count * gpus_per_node as is_whole_node,
    entry_seconds,
    exit_seconds,
    0 as gap_seconds,
    exit_seconds - entry_seconds as exposure_seconds,
    node_count * (exit_seconds - entry_seconds) / 86400 as node_days,
    gpu_count * (exit_seconds - entry_seconds) / 3600 as gpu_hours,
    is_terminal as has_ended,
    if(is_infrastructure_failure, ended_at, null) as failed_at,
    case
        when is_infrastructure_failure and coalesce(ended_at between study_from_at and study_to_at, true)
            then coalesce(posterior_probability, 1)
        else 0
    end as failure_probability,
    coalesce(is_infrastructure_failure, false) as is_paper_failure,
    incident_id,
    culprit_node_id,
    if(is_infrastructure_failure, 'pcie', null) as failure_category,
    started_at,
    greatest(started_at, study_from_at) as seen_from_at,
    least(ended_at, study_to_at) as seen_to_at
from watched;
"""

OF_CLUSTERS = ("cluster_id", "gpus_per_node", "gpu_count")
CLUSTERS = [("large", 8, 2000), ("small", 4, 16), ("quiet", 8, 512), ("untracked", 8, None), ("empty", 8, 64)]

# cluster, attempt, run, is_terminal, is_failure, incident, GPUs, size bin, nodes, days
ATTEMPTS = [
    ("large", "a1", "r1", True, False, None, 256, 256, 32, 6.0),
    ("large", "a2", "r2", True, True, "i1", 256, 256, 32, 5.0),
    ("large", "a3", "r4", True, True, "i1", 512, 512, 64, 5.0),
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

OF_RUNS = (
    "cluster_id", "run_id", "gpu_size_bin", "node_count", "attempt_count", "queue_hours", "productive_hours",
    "scheduled_hours", "ettr", "ettr_low", "ettr_high", "infrastructure_failure_count",
)  # fmt: skip
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

PARTS_OF_RUNS = """
update marts.fct_job_runs set
    wallclock_hours = queue_hours + scheduled_hours,
    working_seconds = 3600 * scheduled_hours - 300 * attempt_count,
    productive_hours_high = productive_hours + 0.5,
    progress_ratio = productive_hours / scheduled_hours,
    progress_ratio_low = (productive_hours - 0.5) / scheduled_hours,
    progress_ratio_high = (productive_hours + 0.5) / scheduled_hours;
"""
"""Each start cost five minutes, half an hour of work was lost, and checkpoints were written in the rest."""

OF_CONTROLS = (
    "cluster_id", "before_seconds", "after_seconds", "is_configured", "is_control", "gpu_size_bin",
    "failure_category", "attempt_count", "hit_count",
)  # fmt: skip
CONTROLS = [
    ("large", 600, 300, True, False, 8, "pcie", 80, 4),
    ("large", 600, 300, True, True, 8, "pcie", 100, 1),
    ("large", 600, 300, True, False, 256, "pcie", 20, 6),
    ("large", 600, 300, True, True, 256, "pcie", 10, 1),
    ("large", 600, 300, True, False, 8, "ib_link", 80, 0),
    ("large", 600, 300, True, True, 8, "ib_link", 100, 0),
    ("large", 600, 300, True, False, 256, "ib_link", 20, 2),
    ("large", 600, 300, True, True, 256, "ib_link", 10, 0),
    ("large", 1200, 300, False, False, 8, "pcie", 80, 6),
    ("large", 1200, 300, False, True, 8, "pcie", 100, 2),
    ("large", 1200, 300, False, False, 256, "pcie", 20, 6),
    ("large", 1200, 300, False, True, 256, "pcie", 10, 1),
    ("small", 600, 300, True, False, None, "pcie", 30, 3),
    ("small", 600, 300, True, False, 4, "pcie", 10, 1),
    ("small", 600, 300, True, True, 4, "pcie", 50, 0),
    ("quiet", 600, 300, True, False, 8, "pcie", 5, 1),
]

# Days that nodes were in use: as many as attempts had, except where jobs of the large cluster shared some.
NODE_DAYS = """
insert into marts.fct_node_days by name
select
    cluster_id, 'n' || n as node_id, date '2026-01-01' + cast(d as integer) as day_date, 24 as in_use_hours,
    24 as study_hours
from
    (values ('large', 32, 29), ('small', 3, 1), ('quiet', 21, 5), ('untracked', 2, 5))
    as uses (cluster_id, nodes, days),
    range(nodes) as numbers (n), range(days) as spans (d);
insert into marts.fct_incidents by name
select distinct
    cluster_id, coalesce(incident_id, attempt_id) as incident_id, timestamp '2025-06-01' as started_at,
    'pcie' as failure_category
from marts.fct_attempts where is_infrastructure_failure;
"""

# Two months of the large cluster: an incident every fourth day, and a day's worth of them two days in three after that.
DAYS = """
insert into intermediate.int_covered_node_days by name
select 'large' as cluster_id, date '2026-01-01' + cast(d as integer) as day_date, 13.8 as node_days
from range(60) as days (d);
insert into intermediate.int_covered_node_days by name
select 'quiet' as cluster_id, date '2026-01-02' + cast(d as integer) as day_date, 21.0 as node_days
from range(5) as days (d);
insert into marts.fct_incidents by name
select
    'large' as cluster_id, 'i' || cast(started_at as varchar) as incident_id, started_at, 'pcie' as failure_category
from (
    select d, timestamp '2026-01-01 12:00' + to_days(cast(d as integer)) as started_at from range(60) as days (d)
) where if(d < 40, d % 4 = 0, d % 3 > 0);
insert into marts.fct_failures (cluster_id, attempt_id, incident_id, culprit_node_id)
select cluster_id, incident_id, incident_id, null from marts.fct_incidents;
insert into marts.dim_annotations (cluster_id, annotated_date, annotation) values
    ('large', date '2026-02-08', 'driver 550'), ('large', date '2026-01-05', 'new racks'),
    ('quiet', date '2026-01-05', 'moved');
insert into marts.agg_check_introductions by name
select
    'large' as cluster_id, 'check_pcie' as check_name, 'pcie' as failure_category,
    timestamp '2026-02-11 08:00' as first_reported_at, true as is_introduction;
"""


def build(house: Warehouse) -> None:
    """Fill the marts of the five clusters, without estimates."""
    settings = {"checkpoint_minutes": 60, "restart_minutes": 5, "write_minutes": 0}
    with house.writing() as con:
        create_tables(con)
        con.execute(DEFAULTS)
        insert(con, "marts.dim_clusters", [dict(zip(OF_CLUSTERS, row, strict=True)) for row in CLUSTERS])
        insert(con, "marts.fct_attempts", [attempt_row(*attempt) for attempt in ATTEMPTS])
        insert(con, "marts.fct_job_runs", [dict(zip(OF_RUNS, row, strict=True)) for row in RUNS])
        insert(con, "marts.agg_attribution_controls", [dict(zip(OF_CONTROLS, row, strict=True)) for row in CONTROLS])
        insert(con, "staging.stg_config__clusters", [settings | {"cluster_id": cluster[0]} for cluster in CLUSTERS])
        for script in (PARTS_OF_RUNS, EXPOSURES, NODE_DAYS, SHOWABLE, DAYS):
            con.execute(script)


def attempt_row(
    cluster_id: str,
    attempt_id: str,
    run_id: str,
    is_terminal: bool,
    is_failure: bool | None,
    incident_id: str | None,
    gpu_count: int | None,
    gpu_size_bin: int | None,
    node_count: int,
    days: float,
) -> Row:
    """Return an attempt that began on the day of January of its number."""
    started_at = datetime(2026, 1, 1 + int(attempt_id[1]))
    return {
        "cluster_id": cluster_id, "attempt_id": attempt_id, "run_id": run_id, "is_terminal": is_terminal,
        "is_infrastructure_failure": is_failure, "incident_id": incident_id, "gpu_count": gpu_count,
        "job_gpu_count": gpu_count, "gpu_size_bin": gpu_size_bin, "node_count": node_count,
        "runtime_seconds": round(days * 86400), "node_days": node_count * days, "started_at": started_at,
        "ended_at": started_at + timedelta(days=days),
    }  # fmt: skip


def read(house: Warehouse, table: str, **key: object) -> list[dict[str, object]]:
    """Read the rows of an estimate that have the given values."""
    with house.reading() as con:
        found = con.execute(f"from estimates.{table}").fetchall()
        names = [column[0] for column in con.description]
    rows = [dict(zip(names, row, strict=True)) for row in found]
    return [row for row in rows if all(row[name] == value for name, value in key.items())]
