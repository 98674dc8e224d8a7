"""What the page says of rates over time, of a constant rate and of what attribution is worth."""

from __future__ import annotations

from itertools import pairwise

import pytest

from assets.model.scale_verdicts import VERDICT_IN_WORDS
from assets.report.page import figures_of
from assets.report.queries import Frames, Own, known_of
from tests.report.planting import own_of, section_of
from tests.report.reading import section, table


@pytest.fixture(scope="module")
def sections(demo, hall):
    """Find a section of a cluster's chapter by its key."""
    return lambda cluster, key: section({"demo": demo, "hall-b": hall}[cluster], key)


@pytest.fixture(scope="module")
def specs(page):
    return {element: figure.spec for element, figure in figures_of(page)}


def data_of(spec: dict, column: str) -> list[dict]:
    """Find the rows of the data set that has a column."""
    return next(rows for rows in spec["datasets"].values() if column in rows[0])


def test_the_layers_of_a_day_add_up_to_its_rate(specs, frames):
    rows = data_of(specs["demo-over-time-chart"], "span")
    of_day: dict[str, float] = {}
    for row in frames["daily_rates"]:
        if row["cluster_id"] == "demo" and row["failures_per_1000_node_days_30d"] is not None:
            day = str(row["day_date"])
            of_day[day] = of_day.get(day, 0) + row["failures_per_1000_node_days_30d"]
    days = {row["day"][:10] for row in rows}
    assert min(days) == "2026-09-07"
    for day in days:
        layers = sorted((row["low"], row["high"]) for row in rows if row["day"][:10] == day)
        assert layers[0][0] == 0
        for below, above in pairwise(layers):
            assert above[0] == pytest.approx(below[1], abs=2e-4)
        assert layers[-1][1] == pytest.approx(of_day[day], abs=2e-4)


def test_small_causes_are_one_layer_and_days_of_unknown_exposure_none(specs, sections):
    rows = data_of(specs["demo-over-time-chart"], "span")
    labels = {row["label"] for row in rows}
    assert len(labels) == 8
    assert "Other causes" in labels
    days = {row["day"][:10]: row["span"] for row in rows}
    assert "2026-09-12" in days
    assert not {"2026-09-13", "2026-09-14"} & set(days)
    assert days["2026-09-12"] != days["2026-09-15"]
    assert "On 2 days the node-days are unknown" in sections("demo", "drawn").text


def test_what_happened_is_marked_and_listed(specs, sections):
    marks = {mark["kind"]: (mark["day"][:10], mark["label"]) for mark in data_of(specs["demo-over-time-chart"], "kind")}
    assert marks["check"] == ("2026-09-10", "check dcgmi nvlink")
    assert marks["change"] == ("2026-09-11", "rate × 5.0")
    assert marks["annotation"][1].startswith("driver 550 <img")
    rows = table(sections("demo", "over-time"), "What was introduced or noted").rows()
    assert [row[:2] for row in rows] == [
        ["2026-09-10", "Check first reported"],
        ["2026-09-11", "Noted by the site"],
        ["2026-09-13", "Version rolled out"],
    ]
    text = sections("demo", "over-time").text
    assert "1 check first reported a day or more after the first" in text
    assert "When 1 other check began is unknown" in text
    assert "Without health checks nobody can say" in sections("hall-b", "over-time").text


def test_a_change_says_before_after_ratio_and_what_was_known(sections):
    rows = table(sections("demo", "over-time"), "Changes of the rate").rows()
    assert [row[0] for row in rows] == ["all", "InfiniBand link"]
    for row in rows:
        assert row[1].startswith("2026-09-11")
        assert row[2:5] == ["50.0 33.1 to 72.7", "250 210 to 295", "5.00 3.29 to 7.83"]
        assert row[5] == "120 incidents in 800 node-days"
    assert rows[0][6] == "2026-09-10: check dcgmi nvlink first reported"
    assert rows[1][6] == "nothing known within 7 days"


def test_what_each_known_change_did_is_said_with_what_would_have_been_seen(sections):
    found = sections("demo", "over-time")
    said = "Of 2 known changes: fewer failures of PCIe error after driver 550.54.15; cannot tell of 1; a fall of all"
    assert said in found.text
    rows = {tuple(row[0:3:2]): row for row in table(found, "What each change did to the rate of incidents").rows()}
    driver = rows["driver 550.54.15", "PCIe error"]
    assert driver[1] == "2026-09-13 40 of 80 nodes, until 2026-09-15"
    assert driver[3] == "0.490 0.330 to 0.710"
    assert driver[4:] == ["60.0 400 node-days", "30.0 410 node-days", "1.25", "to 55.0%", "helped"]
    assert list(rows) == [("driver 550.54.15", "all"), ("driver 550.54.15", "PCIe error")], "what is shown has rows"
    assert ["2026-09-13", "Version rolled out", "driver 550.54.15"] in table(
        found, "What was introduced or noted"
    ).rows()


def test_what_no_source_would_show_is_unknown_not_zero(root):
    rows = {
        (row[0], row[1]): row[2:]
        for row in table(root.all("section", id="trust-demo")[0], "What comes together").rows()
    }
    assert rows["PCIe error", "Xid 79 (fell off the bus)"] == ["17", "40", "42.5%"]
    assert rows["PCIe error", "Xid 79 and IPMI critical interrupt"] == [
        "unknown", "40", "unknown no source that would show it"
    ]  # fmt: skip
    assert rows["InfiniBand link", "any GPU cause"] == ["1", "50", "2.00%"]
    assert ("InfiniBand link", "GPU memory error") not in rows
    assert ("Ethernet link", "any other cause") not in rows


def test_chance_is_taken_off(root, frames):
    trust = root.all("section", id="trust-demo")[0]
    assert trust.all("details"), "control tables stand under Methods, collapsed"
    rows = {row[0]: row for row in table(trust, "How much of the attribution").rows()}
    link = next(row for row in frames["attribution_chance"] if row["failure_category"] == "ib_link")
    assert link["corrected_ratio"] == pytest.approx((0.1 - 0.003) / (1 - 0.003))
    assert rows["InfiniBand link"][1] == "10.0% 40 of 400 failed"
    assert rows["InfiniBand link"][2].startswith("0.30% 6 of 2,000 completed; ")
    assert rows["InfiniBand link"][3].startswith("9.73% ")
    assert rows["PCIe error"][2].startswith("unknown no attempt of these sizes COMPLETED")
    assert rows["PCIe error"][3:] == ["unknown", "unknown"]


def test_checks_to_drop_come_first_with_what_they_cost(sections):
    part = sections("demo", "checks")
    assert "Drop link flaps. Tune service status. Keep check pci. Cannot tell of 1 check: disk <usage>." in part.text
    rows = {row[0]: row[1:] for row in table(part, "What the alarms of each check").rows()}
    assert list(rows) == ["link flaps", "service status", "check pci"], "what cannot be told has no row"
    assert rows["link flaps"][:3] == ["drop", "40 40 could be judged", "0.25% 0% to 9.74%"]
    assert rows["link flaps"][5] == "6.50"
    assert rows["check pci"][4] == "4.00 min before at the end to 4.17 min before"
    assert rows["service status"][7] == "2.00"
    assert "Logs of health checks would show" in sections("hall-b", "checks").text


def test_repairs_tell_what_to_try_first_and_what_came_back_untouched(sections):
    part = sections("demo", "repairs")
    assert "PCIe error: try exchange first (0% back within 7 days)." in part.text
    assert "6 of 46 repairs were false returns, with nothing done; after 100% of them the fault was back" in part.text
    sure = {(row[0], row[1]): row[2:] for row in table(part, "Actions that hold longer").rows()}
    assert sure["PCIe error", "reboot"][:3] == ["relapses sooner", "20 20 relapses", "100% 88.1% to 100%"]
    assert sure["PCIe error", "reboot"][4:] == ["3.00 days", "0.900 0.900 to 0.900"]
    assert sure["PCIe error", "exchange"][:2] == ["try first", "20 0 relapses"]
    assert len(sure) == 2
    assert "Of 1 action after one cause the data cannot tell whether they hold" in part.text
    rows = {(row[0], row[1]): row[2] for row in table(part, "Relapses by cause").rows()}
    assert rows["InfiniBand link", "nothing (a false return)"] == "cannot tell"
    assert ("all causes", "reboot") in rows
    assert "No node came back from an outage for a fault of known cause" in sections("hall-b", "repairs").text


@pytest.mark.parametrize(
    ("effect", "said"), [(6.25, "6.25 times the odds elsewhere"), (None, "no excess, however large,")]
)
def test_where_little_would_have_been_found_no_node_is_cleared(frames, effect, said):
    rows = [
        row
        | {"cluster_id": "demo", "is_suspect": False, "median_effect": effect, "found_share": 0.1, "compared_count": 60}
        for row in frames["hidden_failures"]
        if row["cluster_id"] == "hall-b"
    ]
    text = section_of(own_of(frames, hidden_failures=rows), "nodes", "hidden").text
    assert "of 60 nodes is unknown" in text
    assert f"{said} would have been found on the median node, and 4.00 times on 10.0% of the nodes" in text


def test_suspects_of_hidden_failures_come_first_and_who_held_gpus_idle_is_told(sections):
    part = sections("demo", "hidden")
    assert "far more often than the same users' other jobs on 2 nodes of 2." in part.text
    node, other = table(part, "Nodes with more bad ends").rows()
    assert node[0].startswith("<img src=x")
    assert node[1:] == ["FAILED within 5 minutes", "a black hole", "40 7 users", "30 1.50 expected",
                        "no upper limit above 20.0", "under 0.1%"]  # fmt: skip
    assert other[:2] == ["n2", "TIMEOUT"]
    assert "250 GPU-hours were held without use, 25.0% of the 1,000 of which the use is known" in part.text
    assert table(part, "Who held GPUs without using them").rows()
    quiet = sections("hall-b", "hidden").text
    assert "On none of 1 node do jobs fail at once or time out more often" in quiet
    assert "3.50 times the odds elsewhere would have been found on the median node, and 4.00 times on 100%" in quiet
    assert "Accounting with jobstats' summaries (AdminComment) would show" in quiet


@pytest.mark.parametrize("cluster_id", ["demo", "hall-b"])
def test_of_a_study_that_is_too_short_no_node_is_called_suspect_or_clean(frames, cluster_id):
    few = [
        row | {"has_enough_data": False, "note": "too little to tell: 3 minutes"} for row in frames["hidden_failures"]
    ]
    cluster = next(row for row in frames["clusters"] if row["cluster_id"] == cluster_id)
    said = section_of(Own(Frames({**frames, "hidden_failures": few}), cluster), "nodes", "hidden").text
    assert "Whether jobs fail unnoticed on some node cannot be told: too little to tell: 3 minutes." in said
    assert "On none of" not in said and "far more often" not in said


def test_the_verdict_on_size_is_a_sentence_with_limits(sections, frames):
    test = next(row for row in frames["scale_tests"] if row["cluster_id"] == "demo")
    assert test["verdict"] == "grows"
    text = sections("demo", "constant").text
    assert VERDICT_IN_WORDS["grows"] in text
    assert f"to the power {test['beta']:.3f} ({test['beta_low']:.3f} to {test['beta_high']:.3f}, 90%)" in text
    hall = sections("hall-b", "constant").text
    assert VERDICT_IN_WORDS["cannot tell"] in hall
    assert "A single size: nothing to compare." in hall


def test_rates_are_compared_and_simulated_ones_kept_from_real_chapters(sections):
    rows = table(sections("demo", "constant"), "Failure rates compared").rows()
    verdicts = {row[0]: row[5] for row in rows}
    assert verdicts["this cluster over hall-b (simulated)"] == "lower"
    assert verdicts["later half of the days over the earlier later from 2026-09-11"] == "higher"
    months = [row[1] for row in rows if row[0].startswith("last 30 days over the 30 before")]
    assert months == ["all jobs", "jobs above 128 GPUs"]
    assert len(rows) == 4, "incidents alone"
    hall = sections("hall-b", "constant")
    assert "1 comparison of rates cannot tell: no node-days on one side." in hall.text
    assert not hall.all("table")


def test_forecasts_say_how_often_they_held_and_whether_they_beat_the_naive_one(root, frames):
    """Five months: the first has none before it, the last is not over; July's 30 failures after 12 are outside."""
    found = root.all("section", id="trust-demo")[0]
    assert "Of 3 months forecast and over, 2 had their failure rate inside the 90% limits" in found.text
    scored = [forecast for forecast in frames["forecasts"] if forecast["log_score"] is not None]
    own, naive = (sum(forecast[name] for forecast in scored) / 3 for name in ("log_score", "log_score_naive"))
    assert f"Their mean log score is {own:.2f}, better than the {naive:.2f}" in found.text
    rows = table(found, "Forecasts by month").rows()
    assert [row[0] for row in rows] == ["2026-06", "2026-07", "2026-08", "2026-09"]
    assert [row[7] for row in rows] == ["yes", "no", "yes", ""]
    assert "not over" in rows[-1][3]
    assert "No month could be forecast" in root.all("section", id="trust-hall-b")[0].text


def test_causes_never_seen_have_a_bound(sections):
    rows = table(sections("demo", "causes"), "Causes that were never seen").rows()
    assert rows == [["GPU link error (NVLink, xGMI)", "2.50", "1,200,000 100% of all"]]


def test_gpus_held_without_use_are_measured_on_a_small_cluster_too(frames):
    rows = [known_of(row | {"has_enough_data": False}) for row in frames["hidden_failures"]]
    assert (
        "250 GPU-hours were held without use"
        in section_of(own_of(frames, hidden_failures=rows), "nodes", "hidden").text
    )
