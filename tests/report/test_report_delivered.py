"""What was delivered, on the page: hours by month, the error budget, reasons, and nodes that are not back."""

import pytest

from assets.report.figures.nodes import delivered
from assets.report.queries import read_frames
from tests.report.planting import own_of, section_of
from tests.report.reading import section, table
from tests.warehouses import filled


def test_the_budget_and_how_fast_it_burns_are_told(demo):
    said = section(demo, "delivered").text
    assert "In 2026-09, as far as the data go, nodes were in service for 94.00% of the node-hours" in said
    assert "The objective is 99.00%: the error budget of these hours is overspent by 500.00%." in said
    assert "Over the last 7 days the budget burned 3.50 times as fast as allowed: too fast." in said


def test_months_have_their_hours_and_limits_where_hours_are_unknown(demo):
    newest, earlier = table(section(demo, "delivered"), "Node-hours by month").rows()
    assert newest == ["2026-09", "700", "240", "60.0", "0", "0", "1,000", "94.00%", "-500.00%"]
    assert earlier[:7] == ["2026-08", "800", "180", "5.00", "5.00", "10.0", "1,000"]
    assert earlier[7].split() == ["99.49%", "98.49%", "to", "99.50%"]


ALL_PLANNED = dict.fromkeys(
    name + end for name in ("availability", "error_budget_left") for end in ("", "_low", "_high")
)


@pytest.mark.parametrize(
    ("month", "said", "unsaid"),
    [
        ({"burn_days": 1, "burn_rate": 2.0}, "Over the last day the budget burned 2.00 times as fast", "7 days"),
        ({"burn_days": None, "burn_rate": None}, "is overspent by 500.00%.", "burned"),
        (ALL_PLANNED, "In 2026-09 all node-hours were planned work.", "in service for"),
    ],
)
def test_no_window_and_no_month_is_told_of_which_nothing_is_known(frames, month, said, unsaid):
    months = [row | month for row in own_of(frames).rows("availability") if row["month_date"].month == 9]
    own = own_of(frames, availability=months)
    text = section_of(own, "nodes", "delivered").all("p")[0].text
    assert said in text
    assert unsaid not in text
    assert ("Worst month" in delivered(own).description) is (month is not ALL_PLANNED)


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
        (month,) = read_frames(con, "availability")["availability"]
    assert (month["burn_days"], month["burn_rate"]) == window


def test_a_node_that_went_out_after_the_end_of_the_records_is_out_for_no_time(tmp_path):
    planted = """
    insert into marts.dim_clusters (cluster_id, last_at) values ('c', '2026-01-01');
    insert into marts.dim_nodes (cluster_id, node_id, node_name) values ('c', 'n1', 'n1'), ('c', 'n2', 'n2');
    insert into marts.fct_node_outages (cluster_id, node_id, started_at, is_planned)
    values ('c', 'n1', '2026-01-02', false), ('c', 'n2', '2025-12-31', false);
    """
    with filled(tmp_path, planted).reading() as con:
        hours = {row["node_id"]: row["open_outage_hours"] for row in read_frames(con, "nodes")["nodes"]}
    assert hours == {"n1": 0, "n2": 24}
