"""A warehouse of five clusters, small enough to work out by hand.

large      failures above 128 GPUs, two of them one incident, and a job that still runs
small      a failure, but no job above 128 GPUs
quiet      exposure without any failure, and one attempt whose GPU count is unknown
untracked  no GPU count is known
empty      configured, and no attempt at all
"""

from datetime import datetime

from assets.estimates.est_attribution_chance import est_attribution_chance
from assets.estimates.est_attribution_windows import est_attribution_windows
from assets.estimates.est_cause_rates import est_cause_rates
from assets.estimates.est_checkpoint_plans import est_checkpoint_plans
from assets.estimates.est_ettr_by_qos import est_ettr_by_qos
from assets.estimates.est_ettr_by_size import est_ettr_by_size
from assets.estimates.est_ettr_grid import est_ettr_grid
from assets.estimates.est_failure_rates import est_failure_rates
from assets.estimates.est_forecast_scores import est_forecast_scores
from assets.estimates.est_lemon_effects import est_lemon_effects
from assets.estimates.est_lemon_evaluations import est_lemon_evaluations
from assets.estimates.est_lemon_nodes import est_lemon_nodes
from assets.estimates.est_lemon_root_causes import est_lemon_root_causes
from assets.estimates.est_mttf_by_size import est_mttf_by_size
from assets.estimates.est_mttf_projections import est_mttf_projections
from assets.estimates.est_rate_changes import est_rate_changes
from assets.estimates.est_rate_ratios import est_rate_ratios
from assets.estimates.est_scale_tests import est_scale_tests
from assets.estimates.est_time_to_failure import est_time_to_failure
from assets.warehouse import Warehouse
from tests.estimates import lemon_marts

ASSETS = (
    est_failure_rates,
    est_cause_rates,
    est_forecast_scores,
    est_mttf_by_size,
    est_mttf_projections,
    est_ettr_by_size,
    est_ettr_by_qos,
    est_ettr_grid,
    est_checkpoint_plans,
    est_attribution_chance,
    est_attribution_windows,
    est_scale_tests,
    est_rate_changes,
    est_rate_ratios,
    est_time_to_failure,
    est_lemon_nodes,
    est_lemon_evaluations,
    est_lemon_effects,
    est_lemon_root_causes,
)

MARTS = """
create schema marts;
create schema staging;
create schema intermediate;
create table intermediate.int_failure_draws (
    cluster_id varchar, attempt_id varchar, draw bigint, probability double
);
create table marts.dim_clusters (
    cluster_id varchar, is_simulated boolean, gpus_per_node integer, gpu_count bigint,
    has_health_checks boolean default true, has_kernel_messages boolean default false,
    has_node_events boolean default false, has_slurmctld_log boolean default false,
    has_accounting boolean default true,
    study_from_at timestamp default timestamp '2026-01-01', study_to_at timestamp default timestamp '2026-12-31'
);
create table marts.fct_attempts (
    cluster_id varchar, attempt_id varchar, run_id varchar, is_terminal boolean, is_infrastructure_failure boolean,
    incident_id varchar, gpu_count bigint, gpu_size_bin bigint, node_count bigint, runtime_seconds bigint,
    node_days double,
    started_at timestamp, ended_at timestamp, culprit_node_id varchar
);
create table marts.fct_incidents (
    cluster_id varchar, incident_id varchar, started_at timestamp, failure_category varchar,
    touched_node_count integer generated always as (1)
);
create table marts.agg_failure_rates_daily (
    cluster_id varchar, day_date date, failure_category varchar, failure_count bigint, node_days double
);
create table marts.dim_annotations (cluster_id varchar, annotated_date date, annotation varchar);
create table marts.agg_check_introductions (
    cluster_id varchar, check_name varchar, failure_category varchar, first_reported_at timestamp,
    is_introduction boolean
);
create table marts.fct_job_runs (
    cluster_id varchar, run_id varchar, gpu_size_bin bigint, node_count bigint, attempt_count bigint,
    queue_hours double, productive_hours double, scheduled_hours double, ettr double, ettr_low double,
    ettr_high double, infrastructure_failure_count bigint, qos varchar default 'normal'
);
create table staging.stg_config__clusters (
    cluster_id varchar, checkpoint_minutes double, restart_minutes double, write_minutes double,
    attribution_before_seconds integer default 600, attribution_after_seconds integer default 300
);
create table marts.agg_attribution_controls (
    cluster_id varchar, before_seconds integer, after_seconds integer, is_configured boolean, is_control boolean,
    gpu_size_bin integer, failure_category varchar, attempt_count bigint, hit_count bigint
);
"""

# What the logs of a cluster could show.
SHOWABLE = """
create schema seeds;
create table marts.dim_failure_categories as
from (values ('pcie', true, true), ('node_fail_unattributed', true, true), ('oom', true, false))
    as categories (failure_category, is_cause, is_infrastructure);
create table seeds.kernel_kinds as from (values ('pcie')) as kinds (failure_category);
create table seeds.xids as from (values ('pcie')) as codes (failure_category);
create table seeds.node_reason_rules as from (values ('pcie')) as rules (failure_category);
"""

# The view of that name, of attempts that were never suspended; a failure without a row in fct_failures is certain.
EXPOSURES = """
create view marts.fct_attempt_exposures as
with watched as (
    select
        attempts.*,
        failures.posterior_probability,
        if(attempts.is_infrastructure_failure, 'NODE_FAIL', 'COMPLETED') as state,
        attempts.gpu_count >= attempts.node_count * gpus_per_node as is_whole_node,
        study_from_at,
        study_to_at,
        case
            when runtime_seconds is not null
                then least(greatest(coalesce(epoch(study_from_at) - epoch(started_at), 0), 0), runtime_seconds)
        end as entry_seconds,
        runtime_seconds - greatest(coalesce(epoch(ended_at) - epoch(study_to_at), 0), 0) as exit_seconds
    from marts.fct_attempts as attempts
    inner join marts.dim_clusters using (cluster_id)
    left join marts.fct_failures as failures using (cluster_id, attempt_id)
)

select
    * exclude (node_days),
    exit_seconds - entry_seconds as exposure_seconds,
    node_count * (exit_seconds - entry_seconds) / 86400 as node_days,
    gpu_count * (exit_seconds - entry_seconds) / 3600 as gpu_hours,
    if(is_infrastructure_failure, 'pcie', null) as failure_category,
    if(is_infrastructure_failure, ended_at, null) as failed_at,
    case
        when is_infrastructure_failure and coalesce(ended_at between study_from_at and study_to_at, true)
            then coalesce(posterior_probability, 1)
        else 0
    end as failure_probability,
    coalesce(is_infrastructure_failure, false) as is_paper_failure,
    is_terminal as has_ended
from watched;
"""

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

# cluster, before, after, is_configured, is_control, size bin, category, attempts, hits
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

# Days that nodes were in use: as many as attempts had, save where jobs of the large cluster shared some.
NODE_DAYS = """
insert into marts.fct_node_days
select cluster_id, 'n' || n, date '2026-01-01' + cast(d as integer), 24
from
    (values ('large', 32, 29), ('small', 3, 1), ('quiet', 21, 5), ('untracked', 2, 5))
    as uses (cluster_id, nodes, days),
    range(nodes) as numbers (n), range(days) as spans (d);
insert into marts.fct_incidents
select distinct cluster_id, coalesce(incident_id, attempt_id), timestamp '2025-06-01', 'pcie'
from marts.fct_attempts where is_infrastructure_failure;
"""

# Two months of the large cluster: an incident every fourth day, and a day's worth of them two days in three after that.
DAYS = """
insert into marts.agg_failure_rates_daily
select
    'large', date '2026-01-01' + cast(d as integer), 'pcie', if(d < 40, if(d % 4 = 0, 2, 0), if(d % 3 = 0, 0, 2)), 13.8
from range(60) as days (d);
insert into marts.fct_incidents
select cluster_id, 'i' || cast(day_date as varchar), day_date, failure_category
from marts.agg_failure_rates_daily where failure_count > 0;
insert into marts.fct_failures (cluster_id, attempt_id, incident_id)
select cluster_id, incident_id, incident_id from marts.fct_incidents;
insert into marts.dim_annotations values
    ('large', date '2026-02-08', 'driver 550'), ('large', date '2026-01-05', 'new racks'),
    ('quiet', date '2026-01-05', 'moved');
insert into marts.agg_check_introductions values
    ('large', 'check_pcie', 'pcie', timestamp '2026-02-11 08:00', true);
"""


def build(house: Warehouse) -> None:
    """Fill the marts of the five clusters; nothing is estimated yet."""
    with house.writing() as con:
        con.execute(MARTS)
        con.executemany(
            "insert into marts.dim_clusters (cluster_id, is_simulated, gpus_per_node, gpu_count) "
            "values ($1, false, $2, $3)",
            CLUSTERS,
        )
        con.executemany(
            "insert into marts.fct_attempts values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10 * 86400, $9 * $10, "
            "$11, $11 + to_seconds($10 * 86400), 'n1')",
            [(*attempt, datetime(2026, 1, 1 + int(attempt[1][1]))) for attempt in ATTEMPTS],
        )
        lemon_marts.create(con)
        con.execute(EXPOSURES)
        con.execute(NODE_DAYS)
        con.execute(SHOWABLE)
        con.execute(DAYS)
        con.executemany(
            "insert into marts.agg_attribution_controls values ($1, $2, $3, $4, $5, $6, $7, $8, $9)", CONTROLS
        )
        con.executemany(
            "insert into marts.fct_job_runs values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, default)", RUNS
        )
        con.executemany(
            "insert into staging.stg_config__clusters (cluster_id, checkpoint_minutes, restart_minutes, write_minutes) "
            "values ($1, 60, 5, 0)",
            [(cluster[0],) for cluster in CLUSTERS],
        )


def read(house: Warehouse, table: str, **key: object) -> list[dict[str, object]]:
    """Read the rows of an estimate whose columns have the given values."""
    with house.reading() as con:
        found = con.execute(f"from estimates.{table}").fetchall()
        names = [column[0] for column in con.description]
    rows = [dict(zip(names, row, strict=True)) for row in found]
    return [row for row in rows if all(row[name] == value for name, value in key.items())]
