"""What was delivered, on the page: hours by month, the error budget, reasons, and nodes that are not back."""

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


def test_nodes_that_are_not_back_stand_with_their_age(hall):
    rows = table(section(hall, "delivered"), "Nodes that are out of service").rows()
    assert all(len(row) == 5 for row in rows)
    assert rows[0][1] == "2026-09-01 00:00"
