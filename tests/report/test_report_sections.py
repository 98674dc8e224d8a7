"""Sections from rows: layers that add up, and the text for missing or one-sided numbers."""

from __future__ import annotations

from itertools import pairwise

import pytest

from assets.report.page import figures_of
from assets.report.queries import read_queries, without_doubtful_numbers
from tests.report.planting import data_of, section_of
from tests.report.reading import table
from tests.warehouses import filled


def test_the_layers_of_a_day_add_up_to_its_rate_and_unknown_days_have_none(page, query_rows):
    spec = next(figure.spec for element, figure in figures_of(page) if element == "demo-over-time-chart")
    rows = next(rows for rows in spec["datasets"].values() if "span" in rows[0])
    of_day: dict[str, float] = {}
    for row in query_rows["daily_rates"]:
        if row["cluster_id"] == "demo" and row["failures_per_1000_node_days_30d"] is not None:
            day = str(row["day_date"])
            of_day[day] = of_day.get(day, 0) + row["failures_per_1000_node_days_30d"]
    spans = {row["day"][:10]: row["span"] for row in rows}
    assert min(spans) == "2026-09-07"
    for day in spans:
        layers = sorted((row["low"], row["high"]) for row in rows if row["day"][:10] == day)
        assert layers[0][0] == 0
        for below, above in pairwise(layers):
            assert above[0] == pytest.approx(below[1], abs=2e-4)
        assert layers[-1][1] == pytest.approx(of_day[day], abs=2e-4)
    assert not {"2026-09-13", "2026-09-14"} & spans.keys()
    assert spans["2026-09-12"] != spans["2026-09-15"], "no line is drawn across days of unknown exposure"
    assert len({row["label"] for row in rows} - {"Other causes"}) == 7


def test_of_a_study_that_is_too_short_no_node_is_called_suspect_but_idle_hours_are_measured(query_rows):
    few = {"has_enough_data": False, "note": "too little to tell: 3 minutes"}
    rows = [without_doubtful_numbers(row | few) for row in query_rows["hidden_failures"]]
    said = section_of(data_of(query_rows, hidden_failures=rows), "nodes", "hidden").text
    assert "cannot be judged: too little to tell: 3 minutes." in said
    assert "no more often" not in said and "far more often" not in said
    assert "250 GPU-hours were held without use" in said


def test_a_place_that_has_all_failures_fails_at_least_so_many_times_as_often(query_rows):
    rows = [row | {"ratio": None, "high": None} if row["ratio"] == 5.25 else row for row in query_rows["places"]]
    made = section_of(data_of(query_rows, places=rows), "nodes", "places")
    assert "fails at least 3.50 times as often as the rest (where no node but lemons failed)" in made.text
    assert table(made, "Places by how they fail").rows()[0][6].split()[:3] == ["at", "least", "3.50"]


def test_places_with_the_same_nodes_are_one_finding(tmp_path):
    planted = """
    insert into estimates.est_location_rates (cluster_id, place_kind, place, verdict, ratio, same_nodes_as)
    values
        ('c', 'switch', 's1', 'both', 5.0, 'rack r1'),
        ('c', 'rack', 'r1', 'both', 5.0, 'switch s1'),
        ('c', 'rack', 'r2', 'fails together', 9.0, null),
        ('c', 'rack', 'r3', 'no difference', 1.0, 'switch s3'),
        ('c', 'rack', null, 'both', null, null);
    """
    with filled(tmp_path, planted).reading() as con:
        rows = [(row["place"], row["is_found"], row["is_said"]) for row in read_queries(con, "places")["places"]]
    assert rows == [
        ("r1", True, True), ("s1", True, False), ("r2", True, True), ("r3", False, False), (None, False, False),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("rates", "pace", "window"),
    [
        ((1.0, 2.0, 3.0, 4.0), "fast", (3, 2.0)),
        ((1.0, 2.0, 3.0, 4.0), None, (28, 4.0)),
        ((1.0, 2.0, None, None), None, (3, 2.0)),
        ((None, None, None, None), None, (None, None)),
    ],
)
def test_the_budget_burns_over_the_window_of_the_alert_or_the_longest_that_is_known(tmp_path, rates, pace, window):
    columns = ", ".join(f"burn_rate_{days}d" for days in (1, 3, 7, 28))
    values = ", ".join("null" if value is None else str(value) for value in (*rates, pace and f"'{pace}'"))
    planted = f"insert into marts.agg_availability_monthly (cluster_id, {columns}, burn_pace) values ('c', {values})"
    with filled(tmp_path, planted).reading() as con:
        (month,) = read_queries(con, "availability")["availability"]
    assert (month["burn_days"], month["burn_rate"]) == window


def test_a_node_that_went_out_after_the_end_of_the_records_is_out_for_no_time(tmp_path):
    planted = """
    insert into marts.dim_clusters (cluster_id, last_at) values ('c', '2026-01-01');
    insert into marts.dim_nodes (cluster_id, node_id, node_name) values ('c', 'n1', 'n1'), ('c', 'n2', 'n2');
    insert into marts.fct_node_outages (cluster_id, node_id, started_at, is_planned)
    values ('c', 'n1', '2026-01-02', false), ('c', 'n2', '2025-12-31', false);
    """
    with filled(tmp_path, planted).reading() as con:
        hours = {row["node_id"]: row["open_outage_hours"] for row in read_queries(con, "nodes")["nodes"]}
    assert hours == {"n1": 0, "n2": 24}
