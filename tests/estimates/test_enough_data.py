"""Whether enough was seen of a cluster: its study period, its incidents, and the usual number in its time."""

from datetime import datetime, timedelta

import duckdb
import pytest

from assets.estimates.est_failure_rates import est_failure_rates
from assets.estimates.table import ENOUGH_DATA
from tests.warehouses import create_tables, inputs, insert

BEGIN = datetime(2026, 1, 1)


def enough(*, days, incidents=(), node_days=0.0):
    """Return the judgement of a cluster with incidents of these probabilities, each of two attempts."""
    end = None if days is None else BEGIN + timedelta(days=days)
    attempt = {"cluster_id": "c", "seen_from_at": BEGIN, "seen_to_at": end, "node_days": 0.0, "state": "NODE_FAIL"}
    failed = [
        attempt | {"attempt_id": f"{number}.{of}", "incident_id": str(number), "failure_probability": probability,
                   "is_paper_failure": True}
        for number, probability in enumerate(incidents) for of in (1, 2)
    ]  # fmt: skip
    other = attempt | {"attempt_id": "whole", "state": "COMPLETED", "node_days": node_days, "failure_probability": 0.0}
    with duckdb.connect() as con:
        create_tables(con)
        study = {"study_from_at": None if days is None else BEGIN, "study_to_at": end}
        insert(con, "marts.dim_clusters", [{"cluster_id": "c", **study}])
        if days is not None:
            insert(con, "marts.fct_attempt_exposures", [*failed, other])
        found = con.execute(f"select has_enough_data, note from ({inputs()[ENOUGH_DATA]})").fetchone()
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("seen", "note"),
    [
        ({"days": None}, "accounting has no study period"),
        ({"days": 0.0025, "incidents": [1] * 7}, "the study period has 3.6 minutes, and 7 days are needed"),
        ({"days": 2, "incidents": [1] * 7}, "the study period has 2 days, and 7 days are needed"),
        ({"days": 6.9, "node_days": 9000.0}, "the study period has 6.9 days, and 7 days are needed"),
        (
            {"days": 30, "incidents": [1, 1, 0.5], "node_days": 100.0},
            "incidents seen: 2.5 in 100 node-days, where 0.42 would be usual; 3 are needed",
        ),
    ],
    ids=["no period", "minutes", "days", "almost a week", "few incidents in little time"],
)
def test_too_little_is_said_with_its_reason(seen, note):
    assert enough(**seen) == (False, f"too little to tell: {note}")


@pytest.mark.parametrize(
    "seen",
    [{"days": 7, "incidents": [1, 1, 1]}, {"days": 7, "node_days": 720.0}],
    ids=["incidents", "three would be usual"],
)
def test_a_week_is_enough_with_incidents_or_with_time_for_them(seen):
    assert enough(**seen) == (True, None)


def test_every_row_of_a_cluster_says_so_and_its_note_begins_with_the_reason(redo):
    rows = redo(est_failure_rates, f"create or replace view inputs.{ENOUGH_DATA} as {inputs()[ENOUGH_DATA]}")
    short, long = (rows("est_failure_rates", cluster_id=name) for name in ("empty", "large"))
    assert {row["has_enough_data"] for row in short} == {False}
    reason = "too little to tell: incidents seen: 0 in 0 node-days, where 0 would be usual; 3 are needed; "
    assert all(row["note"].startswith(f"{reason}no attempt ran") for row in short)
    assert {row["has_enough_data"] for row in long} == {True}
    assert not any("too little" in (row["note"] or "") for row in long)
