"""A small warehouse for the tests: a real cluster, hostile and full of gaps, and a rich, simulated one.

Attempts are planted with a fixed seed and the rest is derived from them, so that tests can check sums on the page.
"""

from __future__ import annotations

import csv
import datetime as dt
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from assets.estimates.est_lost_gpu_hours import TABLE as LOSSES
from assets.estimates.est_lost_gpu_hours import with_losses, with_sight
from assets.estimates.reference_rate import of_study
from assets.estimates.table import read
from assets.model.failure_rate import dispersed_interval, garwood_interval
from assets.report.answers import Answer
from assets.report.blocks import FirstScreen
from assets.report.first_screen import first_screen
from assets.report.queries import ClusterData, QueryRows
from tests.report.clusters import hostile_cluster, operations, simulated_cluster
from tests.report.planting_lemons import lemon_rows
from tests.report.planting_rates import rate_tables
from tests.report.reading import Element, parse
from tests.warehouses import create_tables, insert, insert_known

HERE = Path(__file__).parent
LABELS = HERE.parents[1] / "dbt_project" / "seeds" / "failure_categories.csv"
CLUSTERS = {"hall-b": (4, 16), "demo": (64, 256)}
MADE_AT = dt.datetime(2026, 9, 22, 2, 0)
EVIDENCE = """
    update marts.fct_attempts
    set gpu_utilisation = if(user_name is null, null, 0.01), run_id = attempt_id, attempt_number = 1,
        source_path = cluster_id || '/sacct/a.psv', source_line_number = 7;
    insert into marts.fct_health_events by name
    select
        cluster_id, attempt_id as event_id, coalesce(culprit_node_id, 'node1') as node_id, failed_at as observed_at,
        'kernel' as source, 'xid' as check_name, attribution_rule as message,
        cluster_id || '/kernel/node' || evidence_count || '.log' as source_path, 42 as source_line_number
    from marts.fct_failures
    where evidence_count > 0;
    insert into marts.fct_failure_evidence by name
    select
        cluster_id, event_id, event_id as attempt_id, node_id, 'pcie' as failure_category, -1.5 as lag_seconds,
        1 as evidence_rank, true as is_primary
    from marts.fct_health_events;
"""
RATE = "failures_per_1000_node_days"


def data_of(query_rows: QueryRows, **changed: Any) -> ClusterData:
    """Return the data of the simulated cluster, with changed rows of some queries."""
    known = QueryRows({**query_rows, **changed})
    return ClusterData(known, next(row for row in known["clusters"] if row["cluster_id"] == "demo"))


def section_of(data: ClusterData, page: str, key: str) -> Element:
    """Write a page of a cluster, and return one section of it."""
    (found,) = (section for section in Answer(data).write(page) if section.key == key)
    return parse(found.html)


def screen_of(data: ClusterData) -> FirstScreen:
    """Return a cluster's first screen."""
    return first_screen(data, MADE_AT, [], None, 36.0)


def page_of(data: ClusterData, name: str) -> Element:
    """Return a page of a cluster as elements."""
    return parse("".join(part.html for part in Answer(data).write(name)))


def plant(con: duckdb.DuckDBPyConnection) -> None:
    """Fill an open warehouse that has no table of marts and estimates yet."""
    create_tables(con)
    with LABELS.open(encoding="utf-8") as lines:
        labels = [{"failure_category": row["failure_category"], "label": row["label"]} for row in csv.DictReader(lines)]
    insert(con, "marts.dim_failure_categories", labels)
    for tables in (hostile_cluster(), simulated_cluster(), operations()):
        for table, rows in tables.items():
            insert(con, table, rows)
    con.execute((HERE / "aggregates.sql").read_text(encoding="utf-8"))
    con.execute(EVIDENCE)
    plant_causes(con)
    for cluster_id, (node_count, largest) in CLUSTERS.items():
        plant_estimates(con, cluster_id, node_count, largest)
    insert_known(
        con, LOSSES.name, with_losses(of_study(con, with_sight(con, read(con, LOSSES.inputs[0])))).to_dict("records")
    )
    # Its months are planted as fully seen.
    con.execute("update estimates.est_lost_gpu_hours set exposure = 30 where cluster_id = 'demo' and period != 'study'")
    plant_ettr(con)
    for table, rows in (lemon_rows(con) | rate_tables(con)).items():
        insert_known(con, table, rows)


def plant_causes(con: duckdb.DuckDBPyConnection) -> None:
    """Plant rates by cause, and the limit of a cause that was never seen."""
    causes = con.execute("""
        select
            cluster_id, failure_category, 0.75 * count(*) as failure_count, any_value(totals.gpu_hours) as gpu_hours,
            sum(posterior_probability * lost_gpu_hours) as expected_lost_gpu_hours, 0.9 as confidence_level
        from marts.fct_failures
        inner join (select cluster_id, sum(gpu_hours) as gpu_hours from marts.fct_attempts group by all) as totals
            using (cluster_id)
        group by cluster_id, failure_category
    """).df()
    insert(con, "marts.agg_failure_rates_by_cause", causes.to_dict("records"))
    found = dispersed_interval(causes["failure_count"], causes["gpu_hours"], 1.0)
    rate = "failures_per_gpu_hour"
    fitted = causes.assign(**{rate: found.value, f"{rate}_low": found.low, f"{rate}_high": found.high})
    unseen = {"cluster_id": "demo", "failure_category": "gpu_nvlink", "failure_count": 0, "gpu_hours": 1.2e6}
    unseen |= {"seen_ratio": 1.0, f"{rate}_high": 2.5e-6, "confidence_level": 0.9, "counted_as": "attempts"}
    rows = fitted.assign(counted_as="attempts").to_dict("records")
    insert_known(con, "estimates.est_cause_rates", [*rows, unseen])


def counted(con: duckdb.DuckDBPyConnection, cluster_id: str, above: int) -> tuple[int, float]:
    """Failures and node-days of the attempts with more GPUs than `above`."""
    return con.execute(
        "select count(*) filter (where is_infrastructure_failure), coalesce(sum(node_days), 0) "
        "from marts.fct_attempts where cluster_id = ? and is_terminal and coalesce(gpu_count, 0) > ?",
        [cluster_id, above],
    ).fetchall()[0]


def plant_estimates(con: duckdb.DuckDBPyConnection, cluster_id: str, node_count: int, largest: int) -> None:
    """Plant rates, MTTF by size and projections of one cluster, with the model's own limits."""
    has_enough_data = counted(con, cluster_id, -1)[1] >= 30
    about = {"cluster_id": cluster_id, "confidence_level": 0.9, "has_enough_data": has_enough_data}
    for population, above in (("all", -1), ("gpus_gt_128", 128)):
        k, days = counted(con, cluster_id, above)
        rate = garwood_interval(k, days)
        note = None if days else "no finished attempt with more than 128 GPUs"
        row = about | {"population": population, "failure_count": k, "node_days": days, "event_count": k, "note": note}
        row["failure_variance"] = k
        row |= {RATE: 1000 * float(rate.value) if k else None, "is_reference": population == "all"}
        row |= {f"{RATE}_low": 1000 * float(rate.low), f"{RATE}_high": 1000 * float(rate.high)}
        insert(con, "estimates.est_failure_rates", [row | {"counted_as": way} for way in ("attempts", "incidents")])

    k, days = counted(con, cluster_id, -1)
    rate = garwood_interval(k, days)
    projections = []
    for gpus in (8, 16, 32, 64, 128, 256, 512, 1024, 16384):
        value, low, high = (24 / (-(-gpus // 8) * float(limit)) for limit in (rate.value, rate.high, rate.low))
        row = about | {"gpu_count": gpus, "population": "all", "event_count": k, "exposure": days}
        row |= {"is_cluster_size": gpus == 8 * node_count, "is_largest_job": gpus == largest}
        projections.append(row | {"mttf_hours": value, "mttf_hours_low": low, "mttf_hours_high": high})
    insert(con, "estimates.est_mttf_projections", projections)

    sizes = con.execute(
        "select gpu_size_bin, count(*) filter (where is_infrastructure_failure), sum(runtime_seconds) / 3600 "
        "from marts.fct_attempts where cluster_id = ? and is_terminal group by 1",
        [cluster_id],
    ).fetchall()
    rows = []
    for size, count, hours in sizes:
        own = garwood_interval(count, hours)
        row = about | {"gpu_size_bin": size, "failure_count": count, "event_count": count, "runtime_hours": hours}
        row |= {"mttf_hours": 1 / float(own.value) if count else None, "mttf_hours_low": 1 / float(own.high)}
        row |= {"mttf_hours_high": 1 / float(own.low) if count else None, "exposure": hours}
        if size:
            theory = 24 / (-(-size // 8) * np.array([rate.value, rate.high, rate.low], dtype=float))
            row |= dict(
                zip(("mttf_theory_hours", "mttf_theory_hours_low", "mttf_theory_hours_high"), theory, strict=True)
            )
        rows.append(row)
    insert(con, "estimates.est_mttf_by_size", rows)


def plant_ettr(con: duckdb.DuckDBPyConnection) -> None:
    """Plant long runs of the simulated cluster; the largest size has a single run with an unknown waiting time."""
    rows = []
    hours = {"queue": 8.0, "restart": 0.5, "lost_work": 1.0, "write": 0.0, "productive": 38.5, "wallclock": 48.0}
    measured = {"ettr_measured": 0.0, "progress_ratio": 0.02}
    limits = {"ettr_measured": (-0.02, 0.01), "progress_ratio": (0.01, 0.025)}
    limits |= {"ettr_bound": (-0.04, 0.015), "progress_ratio_bound": (0.0, 0.04)}
    limits |= dict.fromkeys(("ettr_expected", "ettr_expected_exact", "ettr_expected_v2"), (-0.03, 0.0))
    for size, runs, value in ((32, 14, 0.97), (64, 9, 0.96), (128, 5, 0.94), (256, 1, 0.91)):
        row = {"cluster_id": "demo", "gpu_size_bin": size, "run_count": runs, "event_count": runs, "note": None}
        row |= {"exposure": 40.0 * runs, "has_enough_data": True, "confidence_level": 0.9, "checkpoint_minutes": 60}
        row |= {"restart_minutes": 5, "write_minutes": 0}
        row |= {name: value + after for name, after in measured.items()}
        row |= {name: value - 0.01 for name in limits if "expected" in name}
        for name, (low, high) in limits.items():
            row |= {f"{name}_low": value + low, f"{name}_high": value + high}
        row |= {f"{part}_hours": runs * value for part, value in hours.items()}
        row |= {f"{part}_wallclock_ratio": value / 48 for part, value in hours.items() if part != "wallclock"}
        if runs == 1:
            row |= dict.fromkeys(f"{name}_{end}" for name in measured for end in ("low", "high"))
            row |= dict.fromkeys(("ettr_measured", *(name for name in row if "queue" in name or "wallclock" in name)))
            row |= {"note": "a single run: no limits"}
        rows.append(row)
    insert(con, "estimates.est_ettr_by_size", rows)
    kept = {name: rows[0][name] for name in rows[0] if not name.startswith("ettr_expected") and "minutes" not in name}
    insert(con, "estimates.est_ettr_by_qos", [kept | {"qos": "high"}, kept | {"qos": "low", "ettr_measured": 0.95}])
