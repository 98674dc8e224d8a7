"""Planted lemons and checkpoint plans: two lemons, a fleet with too little data, real plans."""

from __future__ import annotations

import datetime as dt
from typing import Any

import duckdb
import pandas as pd

from assets.estimates import est_checkpoint_plans, est_ettr_grid
from assets.model.coincidence import binomial_share
from tests.report.clusters import START

REFUSAL = "only 1 failure of nodes: fewer than 10 may be bad luck"
LEMONS = ("sim007", "sim021")
FIRST_DATE = START.date()
LAST_DATE = FIRST_DATE + dt.timedelta(days=19)
SIGNALS = (
    "excl_jobid_count", "xid_cnt", "tickets", "out_count", "multi_node_node_fails", "single_node_node_fails",
    "single_node_node_failure_rate",
)  # fmt: skip
TICKETED, UNTICKETED = "GPU (1 of 1 ticket)", "unknown (no ticket names a component)"
RATIOS = ("large_job_failure_ratio", "large_job_failure_ratio_without_lemons")

Rows = list[dict[str, Any]]


def lemon_rows(con: duckdb.DuckDBPyConnection) -> dict[str, Rows]:
    """Rows of the lemon tables by name, for the planted nodes."""
    nodes = con.execute("""
        select nodes.cluster_id, nodes.node_id, count(failures.attempt_id) as event_count
        from marts.dim_nodes as nodes
        left join marts.fct_failures as failures
            on nodes.cluster_id = failures.cluster_id and nodes.node_id = failures.culprit_node_id
        group by all
        order by event_count desc, nodes.node_id
    """).fetchall()
    demo = [(node, count) for cluster, node, count in nodes if cluster == "demo"]
    order = [node for node, _ in sorted(demo, key=lambda pair: (pair[0] not in LEMONS, -pair[1], pair[0]))]
    judged = [judged_row(node, count, order.index(node) + 1) for node, count in demo]
    judged += [
        about("hall-b", node) | {"verdict": "not enough data", "event_count": count, "exposure": 0.004,
                                 "reasons": f"{count} failures in 0.004 node-days in use", "note": REFUSAL}
        for cluster, node, count in nodes if cluster == "hall-b"
    ]  # fmt: skip
    return {
        "marts.agg_lemon_signals": [
            *(signals_row("demo", node, number, LAST_DATE) for number, (node, _) in enumerate(demo)),
            {"cluster_id": "hall-b", "node_id": "node1", "window_end_date": FIRST_DATE, "window_days": 1, "xid_cnt": 0},
        ],
        "marts.fct_tickets": [
            {"cluster_id": "demo", "ticket_id": "T-17", "node_id": "sim007", "opened_at": START, "component": "GPU"}
        ],
        "estimates.est_lemon_nodes": judged,
        "estimates.est_lemon_evaluations": [
            list_row(7, 2, 3) | {"precision": 0.5, "precision_low": 0.03, "precision_high": 0.97, "recall": 1 / 3,
                                 "recall_low": 0.02, "recall_high": 0.86, "lift": 10.7, "method": "forward",
                                 "lost_gpu_hours_avoidable": 120.0, "lost_gpu_hours_avoidable_low": 40.0,
                                 "lost_gpu_hours_avoidable_high": 260.0},
            list_row(14, 0, 1) | {"method": "not_ranked", "note": "one group of nodes explains the failures"},
            {"cluster_id": "hall-b", "method": "no_period", "note": "the record is too short to make a list"},
        ],
        "estimates.est_ettr_grid": est_ettr_grid.with_expectations(est_ettr_grid.combinations()).to_dict("records"),
        "estimates.est_checkpoint_plans": plans(con).to_dict("records"),
        "estimates.est_lemon_effects": [
            effect_row("all", 12, 90), effect_row("all_without_lemon_failures", 7, 90),
            effect_row("with_lemon_node", 8, 30), effect_row("without_lemon_node", 4, 60),
            effect_row("all", 0, 0) | {"cluster_id": "hall-b", "note": "no large attempt", "large_gpu_count": None},
        ],
    }  # fmt: skip


def about(cluster_id: str, node_id: str) -> dict[str, Any]:
    """The columns that every judged node has."""
    return {
        "cluster_id": cluster_id,
        "node_id": node_id,
        "inferred_failure_count": 0.0,
        "window_start_date": FIRST_DATE,
        "window_end_date": LAST_DATE if cluster_id == "demo" else FIRST_DATE,
        "thresholds": '{"tickets": 3}' if cluster_id == "demo" else "{}",
        "confidence_level": 0.9,
    }


def judged_row(node_id: str, count: int, rank: int) -> dict[str, Any]:
    """A ranked node of the simulated cluster."""
    is_lemon = node_id in LEMONS
    rate = 1000 * (count + 0.5) / 19
    return about("demo", node_id) | {
        "rank": rank,
        "posterior_probability": 0.99 - 0.01 * rank if is_lemon else 0.3 / rank,
        "false_discovery_ratio": 0.02 * rank if is_lemon else 0.5,
        "rate": rate,
        "rate_low": rate / 2,
        "rate_high": rate * 2,
        "fleet_rate": 40.0,
        "verdict": "lemon" if is_lemon else "watch" if rank == 3 else "ok",
        "reasons": f"{count} failures in 19 node-days in use",
        "root_cause": (TICKETED if rank == 1 else UNTICKETED) if is_lemon else None,
        "signals_above": ["xid_cnt", "tickets"] if is_lemon else [],
        "p_value": 0.001,
        "event_count": count,
        "exposure": 19.0,
        "saved_gpu_hours_per_month": 12.0 * count,
        "saved_gpu_hours_per_month_low": 4.0 * count,
        "saved_gpu_hours_per_month_high": 30.0 * count,
        "given_up_gpu_hours_per_month": 5000.0,
        "break_even_days": 12.0 * count * 30 / 5000,
    }


def signals_row(cluster_id: str, node_id: str, number: int, end: dt.date) -> dict[str, Any]:
    """Signals of one node; no job excludes nodes, and lemons stand out in codes and tickets."""
    is_lemon = node_id in LEMONS
    values = dict.fromkeys(SIGNALS, number % 3) | {
        "excl_jobid_count": None,
        "xid_cnt": 9 if is_lemon else number % 4,
        "tickets": 4 if is_lemon else 0,
        "single_node_node_fails": 0,
        "single_node_node_failure_rate": (number % 5) / 40,
    }
    return {"cluster_id": cluster_id, "node_id": node_id, "window_end_date": end, "window_days": 20, **values}


def list_row(day: int, named: int, bad: int) -> dict[str, Any]:
    """A past list."""
    end = FIRST_DATE + dt.timedelta(days=day)
    row = {"cluster_id": "demo", "window_start_date": FIRST_DATE, "window_end_date": end, "confidence_level": 0.9}
    row |= {"judged_end_date": end + dt.timedelta(days=5), "named_count": named, "bad_count": bad, "judged_count": 64}
    row |= {"large_gpu_count": 128, "large_job_count": 30, "event_count": 6 * named, "exposure": 5.0 * named}
    for name, failed in zip(RATIOS, (6, 6 - named), strict=True):
        found = binomial_share(failed, 30)
        row |= {name: found.value, f"{name}_low": found.low, f"{name}_high": found.high}
    return row


def effect_row(population: str, failed: int, ended: int) -> dict[str, Any]:
    """Failures of large attempts of the simulated cluster."""
    found = binomial_share(failed, ended)
    row = {"cluster_id": "demo", "population": population, "attempt_count": ended, "failure_count": failed}
    row |= {"large_gpu_count": 128, "lemon_count": 2, "confidence_level": 0.9}
    row |= {"note": "too few attempts of 512 GPUs: the largest common size instead"}
    if not ended:
        return row
    return row | {"failure_ratio": found.value, "failure_ratio_low": found.low, "failure_ratio_high": found.high}


def plans(con: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """Plans at the planted reference rates."""
    sizes = con.execute("""
        select
            cluster_id, cast(gpu_count as bigint) as gpu_count, 8 as gpus_per_node, null as fleet_gpu_count,
            null as fleet_node_count, population, failure_count, failure_variance, node_days,
            []::double[] as month_failure_counts, []::double[] as month_node_days,
            5.0 as restart_minutes, 5.0 as write_minutes,
            note as rate_note, null as note, 'write time not configured: 5 minutes assumed' as note_on_writes
        from estimates.est_failure_rates
        cross join (select unnest([64, 1024, 16384]) as gpu_count)
        where is_reference and counted_as = 'attempts'
        order by all
    """).df()
    return est_checkpoint_plans.with_plans(sizes)
