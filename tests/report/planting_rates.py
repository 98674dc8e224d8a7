"""Planted rates over time, changes, comparisons and the quality of attribution, with the models' own limits.

The daily rates follow from the planted attempts. The simulated cluster has a check that was added, days whose
node-days are unknown and a change of its rate; the hostile one has a single day, and no result.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

import duckdb
import numpy as np
import pandas as pd

from assets.estimates.est_attribution_chance import row_of
from assets.estimates.est_check_scores import with_scores
from assets.estimates.est_forecast_scores import with_forecasts
from assets.estimates.est_rate_changes import with_changes
from assets.estimates.est_rate_ratios import with_ratios
from assets.estimates.est_repairs import with_relapses
from assets.estimates.est_scale_tests import tested
from assets.estimates.est_time_to_failure import fitted
from tests.report.clusters import HOSTILE, START

CONTROL = ("failed_hit_count", "failed_count", "control_hit_count", "control_count")
DAILY = """
    with days as (
        select cluster_id, cast(unnest(generate_series(
            cast(first_at as date), cast(data_through_at as date), interval 1 day)) as date) as day_date
        from marts.dim_clusters
    ),

    daily as (
        select
            cluster_id, day_date, failure_category,
            count(failures.attempt_id) as failure_count,
            any_value(exposure.node_days) as node_days
        from days
        inner join (select distinct cluster_id, failure_category from marts.fct_failures) using (cluster_id)
        left join (select *, cast(failed_at as date) as day_date from marts.fct_failures) as failures
            using (cluster_id, day_date, failure_category)
        left join (
            select cluster_id, cast(started_at as date) as day_date, sum(node_days) as node_days
            from marts.fct_attempts group by all
        ) as exposure using (cluster_id, day_date)
        group by all
    )

    select
        *,
        count(*) over month as window_day_count,
        sum(failure_count) over month as failure_count_30d,
        0.75 * failure_count as expected_failure_count,
        sum(0.75 * failure_count) over month as expected_failure_count_30d,
        -- Two days of unknown node-days.
        if(day_date in ('2026-09-13', '2026-09-14'), null, sum(node_days) over month) as node_days_30d,
        1000 * failure_count_30d / node_days_30d as failures_per_1000_node_days_30d
    from daily
    window month as (
        partition by cluster_id, failure_category order by day_date rows between 29 preceding and current row
    )
"""


def rate_tables(con: duckdb.DuckDBPyConnection) -> dict[str, list[dict[str, Any]]]:
    """Rows by table, including columns that the report does not read."""
    frames = {
        "marts.agg_failure_rates_daily": con.execute(DAILY).df(),
        "estimates.est_rate_changes": with_changes(_series().assign(logs=None)),
        "estimates.est_scale_tests": tested(_sizes()),
        "estimates.est_time_to_failure": fitted(_ages()),
        "estimates.est_rate_ratios": with_ratios(_sides().assign(has_enough_data=True)),
        "estimates.est_forecast_scores": with_forecasts(_months()),
        "estimates.est_check_scores": with_scores(_onsets()),
        "estimates.est_repairs": with_relapses(_repairs()),
    }
    place = {"cluster_id": "demo", "node_count": 8, "expected_burst_count": 0.2, "confidence_level": 0.9,
             "method": "garwood"}  # fmt: skip
    check = {"cluster_id": "demo", "source": "health_check", "failure_category": "unmapped"}
    return {table: frame.to_dict("records") for table, frame in frames.items()} | {
        "marts.agg_check_introductions": [
            check | {"check_name": name, "first_reported_at": START + after, "is_introduction": new}
            for name, after, new in (
                ("nvidia smi", dt.timedelta(0), False),
                ("dcgmi nvlink", dt.timedelta(days=9), True),
                ("on failure only", dt.timedelta(days=4), None),
            )
        ],
        "estimates.est_changes": [
            {"cluster_id": "demo", "change_kind": kind, "changed_at": START + dt.timedelta(days=12), "change": change,
             "last_changed_at": START + dt.timedelta(days=14), "failure_category": cause, "verdict": verdict,
             "changed_node_count": nodes, "node_count": nodes and 80, "incident_count_before": 60.0,
             "node_days_before": 400.0, "unchanged_ratio": 1.25, "incident_count_after": 30.0, "node_days_after": 410.0,
             "ratio": ratio, "low": low, "high": 0.71, "q_value": 0.01, "smallest_ratio": smallest,
             "change_group": 1 + (kind == "driver"), "inseparable_from": None, "confidence_level": 0.9, "note": note}
            for kind, change, cause, verdict, nodes, ratio, low, smallest, note in (
                ("annotation", HOSTILE, "all", "cannot tell", None, None, None, None, "within 7 days of it: x"),
                ("driver", "driver 550.54.15", "all", "no change shown", 40, 0.9, 0.6, 0.6, None),
                ("driver", "driver 550.54.15", "pcie", "helped", 40, 0.49, 0.33, 0.55, None),
                ("driver", "driver 550.54.15", "ib_link", "cannot tell", 40, 0.8, 0.2, 0.1, None),
            )
        ],
        "estimates.est_hidden_failures": [
            {"cluster_id": cluster_id, "kind": kind, "node_id": node_id, "odds_ratio": None, "low": low,
             "is_suspect": sure, "q_value": None if low is None else 0.001 / low, "detectable_effect": 3.5,
             "event_count": 30.0, "expected_count": 1.5, "note": note,
             "attempt_count": 40, "user_count": 7, "method": "measured" if low is None else "one_sided_limit",
             "confidence_level": 0.9, "held_gpu_hours": 250.0 if low is None else None, "exposure": 1000.0}
            for cluster_id, kind, node_id, low, sure, note in (
                ("demo", "failed_early", HOSTILE, 20.0, True, "a black hole"),
                ("demo", "timeout", "n2", 3.0, True, "jobs hang"),
                ("demo", "timeout", HOSTILE, 0.1, False, None),
                ("demo", "idle_gpus", None, None, False, None),
                ("hall-b", "timeout", "n2", 0.1, False, None),
            )
        ],
        "estimates.est_location_rates": [
            place | {"place_kind": kind, "place": name, "verdict": verdict, "event_count": count, "exposure": 480.0,
                     "failures_per_1000_node_days": count / 0.48, "failures_per_1000_node_days_low": count / 0.7,
                     "failures_per_1000_node_days_high": count / 0.3, "ratio": ratio, "low": low, "high": high,
                     "q_value": q, "burst_count": bursts, "common_cause_share": share,
                     "common_cause_share_low": share / 2, "common_cause_share_high": 1.0}
            for kind, name, verdict, count, ratio, low, high, q, bursts, share in (
                ("rack", f"r7 {HOSTILE}", "fails more", 40.0, 5.25, 3.5, 7.75, 0.004, 0, 0.0),
                ("rack", "r8", "no difference", 6.0, 0.5, 0.25, 1.5, 0.9, 1, 0.1),
                ("switch", "leaf3", "fails together", 12.0, 1.25, 0.5, 4.0, 0.4, 4, 0.75),
                ("switch", "leaf4", "cannot tell", 0.0, None, 0.0, 9.0, None, 0, 0.0),
            )
        ] + [
            place | {"place_kind": kind, "verdict": "fails together", "event_count": 58.0, "exposure": 960.0,
                     "burst_count": 4, "common_cause_share": share, "common_cause_share_low": share / 2,
                     "common_cause_share_high": share * 2, "large_gpu_count": 256, "mttf_hours": 9.5,
                     "mttf_hours_low": 7.0, "mttf_hours_high": 13.0, "independent_mttf_hours": 8.0}
            for kind, share in (("rack", 0.05), ("switch", 0.16))
        ],
        "marts.agg_unmapped_signals": [
            {"cluster_id": "hall-b", "kind": "check", "signal": HOSTILE, "event_count": 7, "node_count": 2,
             "first_seen_at": START, "last_seen_at": START + dt.timedelta(days=3), "example": HOSTILE,
             "example_path": f"hall-b/health/{HOSTILE}", "example_line_number": 12, "failed_end_count": 3,
             "failed_end_ratio": 0.3, "completed_end_count": 2, "completed_end_ratio": 0.02, "ratio": 15.0,
             "ratio_low": 3.1, "ratio_high": 99.0}
        ],
        "marts.dim_annotations": [
            {"cluster_id": cluster_id, "annotation_number": 1, "annotated_date": START + after, "annotation": text}
            for cluster_id, after, text in (
                ("demo", dt.timedelta(days=10), f"driver 550 {HOSTILE}"),
                ("hall-b", dt.timedelta(0), HOSTILE),
            )
        ],
        "marts.agg_cooccurrence": [
            {"cluster_id": "demo", "failure_category": cause, "other_category": other, "other_kind": kind,
             "failure_count": count, "both_count": both, "both_ratio": None if both is None else both / count}
            for cause, other, kind, count, both in (
                ("pcie", "xid 79", "symptom", 40, 17),
                ("pcie", "xid 79 with ipmi critical interrupt", "symptom", 40, None),
                ("ib_link", "any gpu category", "group", 50, 1),
                ("ib_link", "any other category", "group", 50, 3),
                ("ib_link", "gpu_memory", "category", 50, 2),
                ("eth_link", "any other category", "group", 2, 1),
            )
        ],
        "estimates.est_attribution_chance": [
            {"cluster_id": "demo", "failure_category": cause}
            | row_of(pd.DataFrame([dict(zip(CONTROL, counts, strict=True))]))
            for cause, *counts in (("ib_link", 40, 400, 6, 2000), ("pcie", 30, 400, 0, 0))
        ],
    }  # fmt: skip


def _onsets() -> pd.DataFrame:
    """A check that is noise, one that leads, one that is both, and one that cannot be judged."""
    none = ("chance_count", "rate_variance", "interrupted_count", "interruption_chance_count")
    about = {"cluster_id": "demo", "node_days": 300.0, "hours": 720, "survived_count": 3, "failure_count": 20.0}
    rows = (
        ("link flaps", 40, 40, 0.1, 0.09, 6.5, [], 0.0),
        ("check pci", 30, 30, 29.9, 0.0, 0.0, [240, 250, 0], 0.0),
        ("service status", 40, 40, 2.0, 0.0, 0.0, [], 2.0),
        ("disk <usage>", 9, 0, 0.0, 0.0, 0.0, [], 0.0),
    )
    return pd.DataFrame([
        about | dict.fromkeys(none, 0.0)
        | {"check_name": name, "onset_count": count, "judged_count": judged, "true_count": true,
           "doubt_variance": doubt,
           "squared_count": count, "followed_count": true, "drained_node_hours": drained, "lead_seconds": leads,
           "lead_weights": [1.0 for _ in leads], "alone_count": lost, "lost_count": lost}
        for name, count, judged, true, doubt, drained, leads, lost in rows
    ])  # fmt: skip


def _repairs() -> pd.DataFrame:
    """Reboots that do not cure PCIe faults, exchanged parts that do, and nodes returned untouched."""
    kinds = (("pcie", "reboot", 20, 3, 0.9), ("pcie", "exchange", 20, 30, 17.0), ("ib_link", "none", 6, 2, 0.4))
    return pd.DataFrame([
        {"cluster_id": "demo", "node_id": f"{'none' if action == 'none' else 'both'}{number}", "is_relapse": days < 30,
         "failure_category": category, "repair_action": action, "hours": hours, "days": float(days),
         "earlier_count": 0, "records_days": np.nan}
        for category, action, count, days, hours in kinds
        for number in range(count)
    ])  # fmt: skip


def _months() -> pd.DataFrame:
    """Five months of the simulated cluster, the last of them not over."""
    months = zip(
        range(5, 10), (31, 30, 31, 31, 30), (1000.0, 980.0, 1010.0, 990.0, 700.0), (7.0, 5.0, 30.0, 8.0, 4.0),
        strict=True,
    )  # fmt: skip
    return pd.DataFrame([
        {"cluster_id": "demo", "month_date": pd.Timestamp(2026, month, 1), "population": "gpus_gt_128",
         "counted_as": "attempts", "seen_days": 21.0 if month == 9 else float(days), "month_days": days,
         "is_over": month != 9, "node_days": node_days, "failure_count": count, "failure_variance": count}
        for month, days, node_days, count in months
    ])  # fmt: skip


def _series() -> pd.DataFrame:
    """A rate that rises fivefold on the eleventh of twenty days, and a cluster with a single day."""
    days = [(START + dt.timedelta(days=number)).date() for number in range(20)]
    risen = {"days": days, "incident_probabilities": [[1.0] * 2] * 10 + [[1.0] * 10] * 10, "node_days": [40.0] * 20}
    risen["notes"] = [{"day": days[9], "text": "check dcgmi nvlink first reported"}]
    short = {"days": days[:1], "incident_probabilities": [[1.0, 1.0]], "node_days": [0.02], "notes": None}
    return pd.DataFrame([
        {"cluster_id": "demo", "failure_category": "all"} | risen,
        {"cluster_id": "demo", "failure_category": "ib_link"} | risen | {"notes": None},
        {"cluster_id": "hall-b", "failure_category": "all"} | short,
    ])  # fmt: skip


def _sizes() -> pd.DataFrame:
    about = {"attempt_count": 100, "has_gpus_per_node": True, "unknown_size_count": 0}
    rows = [("demo", nodes, round(0.05 * 1000 * nodes**0.3), 1000.0) for nodes in (1, 2, 4, 8, 16, 32)]
    rows.append(("hall-b", 1, 1, 0.02))
    names = ("cluster_id", "node_count", "failure_count", "node_days")
    planted = pd.DataFrame([about | dict(zip(names, values, strict=True)) for values in rows])
    return planted.assign(failure_variance=planted["failure_count"])


def _ages() -> pd.DataFrame:
    """Failures early in life at one size, too few at another."""
    rng = np.random.default_rng(3)
    rows = []
    for cluster_id, size, count in (("demo", 8, 60), ("demo", 256, 2), ("hall-b", 8, 1)):
        about = {"cluster_id": cluster_id, "gpu_size_bin": size, "size_attempt_count": count, "late_entry_count": 0}
        about |= {"unknown_runtime_count": 0, "entry_hours": 0.0, "attempt_count": 1, "failure_probability": 1.0}
        about |= {"incident_id": None}
        rows += [about | {"age_hours": float(age)} for age in 20 * rng.weibull(0.6, count)]
    return pd.DataFrame(rows)


def _sides() -> pd.DataFrame:
    names = (
        "comparison", "cluster_id", "other_cluster_id", "boundary_date", "population", "counted_as",
        "is_reference", "is_simulated", "other_is_simulated", "failure_count", "node_days", "other_failure_count",
        "other_node_days", "note",
    )  # fmt: skip
    later, none = (START + dt.timedelta(days=10)).date(), None
    rows: list[tuple[Any, ...]] = []
    for way in ("attempts", "incidents"):
        quoted = way == "attempts"
        rows += [
            ("halves", "demo", "demo", later, "all", way, quoted, True, True, 100, 400.0, 20, 400.0, none),
            ("clusters", "demo", "hall-b", none, "all", way, quoted, True, False, 120, 800.0, 2, 0.02, none),
            ("clusters", "demo", "hall-b", none, "gpus_gt_128", way, False, True, False, 9, 90.0, 0, 0.0, none),
            ("halves", "hall-b", "hall-b", START.date(), "all", way, quoted, False, False, 2, 0.02, 0, 0.0,
             "no node-days on one side"),
        ]  # fmt: skip
    rows += [
        ("months", "demo", "demo", later, population, "incidents", population == "all", True, True, 31, 600.0, 13,
         600.0, none)
        for population in ("all", "gpus_gt_128")
    ]  # fmt: skip
    sides = pd.DataFrame(rows, columns=list(names))
    is_month = sides["comparison"] == "months"
    sides = sides.assign(**{name: is_month.map({True: 30.0}) for name in ("seen_days", "other_seen_days")})
    counts = ("failure_count", "other_failure_count")
    sides["has_enough_data"] = sides["cluster_id"] == "demo"
    return sides.assign(**{name.replace("count", "variance"): sides[name] for name in counts})
