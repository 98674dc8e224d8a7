"""What was delivered, on the page: hours by month, the error budget, reasons, and nodes that are not back."""

from datetime import timedelta

import pytest

from assets.report.blocks import Table
from assets.report.queries import Frames, Own
from assets.report.sections.delivered import delivered
from tests.report.reading import section, table


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


def test_without_the_states_of_nodes_the_page_says_what_would_tell_them(hall):
    part = section(hall, "delivered")
    assert "Nothing shows whether nodes without a job were in service in 2026-09" in part.text
    assert "sacctmgr show event" in part.text
    assert table(part, "Node-hours by month").rows() == [
        ["2026-09", "90.0", "0", "0", "0", "10.0", "100", "unknown 90.00% to 100.00%"]
    ]


def test_reasons_that_no_rule_knows_stand_with_their_text(frames):
    own = Own(frames, next(row for row in frames["clusters"] if row["cluster_id"] == "demo"))
    unmapped = own.rows("out_of_service")[0] | {"failure_category": "unmapped", "unmapped_reason": "looks odd"}
    blocks = delivered(Own(Frames({**frames, "out_of_service": [unmapped]}), own.cluster)).blocks
    reasons = next(block for block in blocks if isinstance(block, Table) and "by reason" in block.caption)
    assert [cell.text for cell in reasons.rows[0]][:2] == ["looks odd", "failed: no rule knows the reason"]


BUDGET_UNKNOWN = {f"burn_rate_{days}d": None for days in (1, 3, 7, 28)} | {"burn_pace": None}
ALL_PLANNED = BUDGET_UNKNOWN | dict.fromkeys(
    name + end for name in ("availability", "error_budget_left") for end in ("", "_low", "_high")
)


@pytest.mark.parametrize(
    ("month", "said", "unsaid"),
    [
        (BUDGET_UNKNOWN | {"burn_rate_3d": 0.5}, "Over the last 3 days the budget burned 0.500 times as fast", "28"),
        (BUDGET_UNKNOWN | {"burn_rate_1d": 2.0}, "Over the last day the budget burned 2.00 times as fast", "28"),
        (BUDGET_UNKNOWN, "is overspent by 500.00%.", "burned"),
        (ALL_PLANNED, "In 2026-09 all node-hours were planned work.", "availability"),
    ],
)
def test_no_window_and_no_month_is_told_of_which_nothing_is_known(frames, month, said, unsaid):
    own = Own(frames, next(row for row in frames["clusters"] if row["cluster_id"] == "demo"))
    months = [row | month for row in own.rows("availability") if row["month_date"].month == 9]
    text, figure, *_ = delivered(Own(Frames({**frames, "availability": months}), own.cluster)).blocks
    assert said in str(text)
    assert unsaid not in str(text)
    assert ("Worst month" in figure.description) is (month is not ALL_PLANNED)


def test_a_node_that_went_out_after_the_end_of_the_records_is_out_for_no_time(frames):
    own = Own(frames, next(row for row in frames["clusters"] if row["cluster_id"] == "hall-b"))
    out = [row for row in own.rows("nodes") if row["open_since"] is not None]
    cluster = own.cluster | {"last_at": out[0]["open_since"] - timedelta(days=1)}
    blocks = delivered(Own(Frames({**frames, "nodes": out[:1]}), cluster)).blocks
    (waiting,) = [block for block in blocks if isinstance(block, Table) and "are out of service" in block.caption]
    assert waiting.rows[0][2].text == "0 h"


def test_nodes_that_are_not_back_stand_with_their_age(hall):
    rows = table(section(hall, "delivered"), "Nodes that are out of service").rows()
    assert all(len(row) == 5 for row in rows)
    assert rows[0][1] == "2026-09-01 00:00"
