"""The report's advice: it follows incidents and the lemon list, never contradicts itself, and its commands are safe."""

from __future__ import annotations

import datetime as dt
import shlex
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from assets.log_kinds import SILENT_DAYS
from assets.node_lists import safe_names
from assets.report.actions import Action, actions_of, drain_command
from assets.report.advice import RECENT_DAYS, advise
from assets.report.queries import ClusterData, read_queries
from assets.warehouse import Warehouse
from tests.homes import change as rewrite
from tests.recovery.month import CLUSTERS
from tests.report.clusters import HOSTILE
from tests.warehouses import filled, insert

START = dt.datetime(2026, 3, 1)
DAY = dt.timedelta(days=1)
FRAMES = ("clusters", "nodes", "rate_changes", "incidents", "spans", "evidence_reach")
"""The tables that actions are derived from."""


def advised(warehouse: Warehouse, cluster_id: str) -> list[Action]:
    with warehouse.reading() as con:
        query_rows = read_queries(con, *FRAMES)
    return [
        act
        for row in query_rows["clusters"]
        if row["cluster_id"] == cluster_id
        for act in actions_of(ClusterData(query_rows, row))
    ]


@pytest.fixture
def small(tmp_path: Path) -> Warehouse:
    """A cluster of four nodes over 90 days with no record yet but an inventory of half a year later."""
    warehouse = filled(tmp_path)
    end = START + 90 * DAY
    cluster = {"is_simulated": False, "first_at": START, "last_at": START + 270 * DAY, "study_from_at": START}
    cluster |= {"study_to_at": end, "data_through_at": end}
    cluster |= dict.fromkeys(("has_health_checks", "has_kernel_messages", "has_node_events"), True)
    add(warehouse, "marts.dim_clusters", **cluster)
    for name in ("n1", "n2", "n3", "n4"):
        add(warehouse, "marts.dim_nodes", node_id=name, node_name=name, gpu_count=8)
    return warehouse


def add(warehouse: Warehouse, table: str, **row: object) -> None:
    """Add a row about the cluster."""
    with warehouse.writing() as con:
        insert(con, table, [{"cluster_id": "c"} | row])


def strike(warehouse: Warehouse, node: str, at: dt.datetime, category: str = "pcie", attempts: int = 1) -> None:
    """Add an incident that strikes a node and ends so many jobs."""
    key = {"incident_id": f"{node}-{at}"}
    probable = {"incident_probability": 0.5, "expected_lost_gpu_hours": 5.0}
    add(warehouse, "marts.fct_incidents", **key, attempt_count=attempts, failure_category=category, **probable)
    certain = {"is_known": True, "incident_probability": 1.0, "lost_gpu_hours": 10.0}
    add(warehouse, "marts.fct_incident_suspects", **key, node_id=node, failed_at=at, **certain)


def judge(warehouse: Warehouse, node: str, verdict: str) -> None:
    """Give a node a verdict of the lemon list."""
    row = {
        "node_id": node, "rank": 1, "posterior_probability": 0.98, "rate": 90.0, "rate_low": 40.0, "rate_high": 150.0,
        "fleet_rate": 10.0, "verdict": verdict, "reasons": "4 failures", "event_count": 4, "exposure": 45.0,
        "confidence_level": 0.9, "window_start_date": dt.date(2026, 3, 1), "window_end_date": dt.date(2026, 5, 29),
        "saved_gpu_hours_per_month": 12.0, "saved_gpu_hours_per_month_low": 4.5,
        "saved_gpu_hours_per_month_high": 21.0, "given_up_gpu_hours_per_month": 2880.0, "break_even_days": 0.125,
    }  # fmt: skip
    add(warehouse, "estimates.est_lemon_nodes", **row)


def change(
    warehouse: Warehouse, category: str = "ib_link", *, before: float = 2.0, ratio: float | None = 4.0,
    limits: tuple[float, float | None] = (1.5, 9.0),
) -> None:  # fmt: skip
    """Change the rate of a cause from the sixtieth day on."""
    row = {"failure_category": category, "changed_at": START + 60 * DAY, "rate_before": before, "rate_after": 8.0}
    row |= {"ratio": ratio, "ratio_low": limits[0], "ratio_high": limits[1], "event_count": 30, "exposure": 360.0}
    add(warehouse, "estimates.est_rate_changes", **row, confidence_level=0.9)


def put_out(warehouse: Warehouse, node: str, at: dt.datetime, until: dt.datetime | None) -> None:
    """Take a node out for a fault."""
    row = {"started_at": at, "ended_at": until, "reason": "HC: odd", "is_planned": False}
    add(warehouse, "marts.fct_node_outages", node_id=node, **row)


def test_one_incident_is_no_reason_to_act_however_many_jobs_it_ended_or_how_long_ago(small):
    strike(small, "n1", START + 89 * DAY, attempts=4)
    strike(small, "n2", START + DAY)
    put_out(small, "n2", START + DAY, START + 2 * DAY)
    assert advised(small, "c") == []


def test_a_fault_came_back_only_after_a_repair(small):
    for day in (70, 85):
        strike(small, "n1", START + day * DAY)
        strike(small, "n2", START + day * DAY)
        strike(small, "n3", START + day * DAY, "pcie" if day == 70 else "ib_link")
    for node in ("n1", "n3"):
        put_out(small, node, START + 70 * DAY, START + 72 * DAY)
    (found,) = advised(small, "c")
    assert (found.kind, found.node_names, found.rests_on) == ("relapse", ("n1",), "2 incidents in 90 days")
    assert "came back 2026-05-25 after an outage that ended 2026-05-12" in found.reason
    assert replace(found, days=0.003).rests_on == "2 incidents in less than a day"
    assert found.saving.gpu_hours is None
    assert str(found.saving).startswith("cannot tell")


def test_a_relapse_of_long_ago_or_of_a_node_called_ok_is_left_alone(small):
    for node, days in (("n1", (10, 90 - RECENT_DAYS - 1)), ("n2", (70, 85))):
        for day in days:
            strike(small, node, START + day * DAY)
        put_out(small, node, START + days[0] * DAY, START + (days[0] + 1) * DAY)
    judge(small, "n2", "ok")
    assert advised(small, "c") == []


def test_many_open_outages_are_one_action_and_one_that_a_ticket_follows_is_none(small):
    add(small, "marts.dim_nodes", node_id="n5", node_name="n5", gpu_count=8)
    for number in range(1, 6):
        put_out(small, f"n{number}", START + 80 * DAY, None)
    ticket = {"ticket_id": "T1", "opened_at": START + 81 * DAY, "component": "GPU"}
    add(small, "marts.fct_tickets", node_id="n1", **ticket)
    (found,) = advised(small, "c")
    assert (found.kind, found.node_names) == ("outage", ("n2", "n3", "n4", "n5"))
    assert found.command == "scontrol update nodename=n[2-5] state=resume"
    assert "returns up to 23,040" in str(found.saving)
    assert found.reason.endswith("; no repair tickets were given")


def test_a_lemon_saves_its_own_losses_and_says_what_it_gives_up(small):
    judge(small, "n1", "lemon")
    (act,) = advised(small, "c")
    assert str(act.saving) == (
        "12.0 GPU-hours a month (90%: 4.50 to 21.0); failures on it cost that much more than on a normal node; "
        "each day out costs 96.0 GPU-hours; pays back within a month if repaired in under 3.00 h"
    )
    assert act.command == "scontrol update nodename=n1 state=drain reason='lemon: 4 incidents in 90 days to 2026-05-29'"
    assert act.exclude == "--exclude=n1"
    rewrite(small, "update estimates.est_lemon_nodes set saved_gpu_hours_per_month = null, saving_note = 'unknown'")
    (act,) = advised(small, "c")
    assert str(act.saving) == "cannot tell: unknown"


def test_a_cause_that_grew_is_the_fleets_and_a_fall_is_none(small):
    change(small, "ib_link")
    change(small, "pcie", ratio=0.5, limits=(0.4, 9.0))
    change(small, "eth_link", ratio=2.0, limits=(0.9, 9.0))
    for day in range(6):
        strike(small, "n1", START + day * DAY, "ib_link")
    (found,) = advised(small, "c")
    assert (found.kind, found.node_names, found.command) == ("cause", (), "")
    assert "since 2026-04-30" in found.reason
    assert found.saving.gpu_hours == pytest.approx(8 / 1000 * 120 * 10 * 0.75)
    assert found.saving.low == pytest.approx(8 / 1000 * 120 * 10 * (1 - 1 / 1.5))


def test_all_actions_together_promise_no_more_than_a_month_lost(small):
    """Ten incidents of ten GPU-hours with probability 0.5 in three months; the lemon saves 12 of 16.7 hours a month."""
    judge(small, "n2", "lemon")
    for day in range(10):
        strike(small, "n1", START + day * DAY, "ib_link")
    change(small)
    lemon, cause = advised(small, "c")
    assert cause.saving.gpu_hours == pytest.approx(10 * 5 / 3 - 12)
    assert cause.saving.low == pytest.approx(8 / 1000 * 120 * 10 * (1 - 1 / 1.5))
    assert str(cause.saving).endswith("; all that is lost in a month, less what the actions above save")
    assert lemon.saving.gpu_hours + cause.saving.gpu_hours == pytest.approx(10 * 5 / 3)


def test_a_cause_that_was_not_seen_before_has_no_ratio_and_comes_before_those_that_have_one(small):
    change(small, before=0.0)
    change(small, "filesystem_mount", before=0.0, ratio=None, limits=(2.5, None))
    for day in range(6):
        strike(small, "n1", START + day * DAY, "filesystem_mount")
    new, grown = advised(small, "c")
    assert new.reason.startswith("not seen before, now at least 2.50 times as often (90%) since 2026-04-30: 0 before")
    assert grown.reason.startswith("4.00 times as often (90%: 1.50 to 9.00) since 2026-04-30")
    everything = 8 / 1000 * 120 * 10
    assert (new.saving.gpu_hours, new.saving.high) == (pytest.approx(everything), pytest.approx(everything))
    assert new.saving.low == pytest.approx(everything * (1 - 1 / 2.5))


def test_the_export_that_tells_most_comes_first_and_silent_logs_last(small):
    rewrite(small, "update marts.dim_clusters set has_kernel_messages = false, has_node_events = false")
    logs = {"health": SILENT_DAYS + 1, "kernel": SILENT_DAYS - 1, "events": 30, "inventory": 40}
    for kind, silent in logs.items():
        add(small, "ops.spans", kind=kind, from_at=START, to_at=START + (90 - silent) * DAY, known_by="log")
    add(small, "marts.dim_study_gaps", from_at=START + 8 * DAY, to_at=START + 24 * DAY)
    add(small, "estimates.est_evidence_reach", statement="how much the checks miss is unknown: no kernel log")
    kernel, gap, events, silent = advised(small, "c")
    assert [action.title.rpartition(": ")[2] for action in (kernel, gap, events)] == [
        "kernel messages", "accounting", "node events",
    ]  # fmt: skip
    assert kernel.reason.startswith("Of all exports this would show most of what is missed: how much the checks miss")
    assert gap.reason.startswith("16.0 days of the study period are in no export")
    assert f"-S {START:%Y-%m-%d} " in gap.command
    assert "why the log `health` is silent" in silent.title
    assert "4 days before the end" in silent.reason


def test_the_order_is_outages_lemons_relapses_causes_sources(small):
    put_out(small, "n1", START + 80 * DAY, None)
    judge(small, "n2", "lemon")
    for day in (70, 85):
        strike(small, "n3", START + day * DAY)
    put_out(small, "n3", START + 70 * DAY, START + 72 * DAY)
    rewrite(small, "update marts.dim_clusters set has_node_events = false")
    change(small, "all")
    assert [action.kind for action in advised(small, "c")] == ["outage", "lemon", "relapse", "cause", "source"]


def contradictions(data: ClusterData) -> dict[str, set[str]]:
    """Return nodes with an action in one part of the report and a good verdict in another, by the difference."""
    nodes = {row["node_name"]: row for row in data.rows("nodes")}
    lemons = {name for name, row in nodes.items() if row["verdict"] == "lemon"}
    fine = {name for name, row in nodes.items() if row["verdict"] == "ok"}
    acts = actions_of(data)

    def unlike(kind: str, advice: str) -> set[str]:
        named = {name for act in acts if act.kind == kind for name in act.node_names}
        return {name for name in named if advice not in advise(nodes[name])}

    found = {
        "taken out": {name for act in acts if act.takes_out for name in act.node_names} ^ lemons,
        "excluded": {name for act in acts if act.exclude for name in act.node_names} & fine,
        "drained": {name for act in acts if "state=drain" in act.command for name in act.node_names} & fine,
        "drained in the list of nodes": {name for name, row in nodes.items() if "Drain" in advise(row)} ^ lemons,
        "to repair, but not in the list of nodes": unlike("outage", "repair, then return it"),
        "relapsed, but not in the list of nodes": unlike("relapse", "that repair did not hold"),
    }
    return {what: names for what, names in found.items() if names}


def test_no_node_of_any_simulated_cluster_is_advised_in_one_place_and_ok_in_another(many_clusters):
    with duckdb.connect(str(many_clusters), read_only=True) as con:
        query_rows = read_queries(con, *FRAMES)
    simulated = [cluster for cluster in query_rows["clusters"] if cluster["is_simulated"]]
    assert {cluster["cluster_id"] for cluster in simulated} == set(CLUSTERS)
    assert any(row["verdict"] == "lemon" for row in query_rows["nodes"])
    assert [
        found for cluster in query_rows["clusters"] if (found := contradictions(ClusterData(query_rows, cluster)))
    ] == []


def test_hostile_names_stay_text(planted):
    (found,) = [action for action in advised(planted, "hall-b") if action.node_names == (HOSTILE,)]
    assert found.kind == "outage"
    assert found.command == ""
    assert found.exclude == ""


def test_a_reason_is_one_word_for_the_shell():
    command = drain_command("n1", "'; reboot #\n\x1b[2J")
    words = shlex.split(command)
    assert words[:4] == ["scontrol", "update", "nodename=n1", "state=drain"]
    assert words[4].startswith("reason='; reboot #")
    assert len(words) == 5
    assert command.isprintable()
    for name in ("-x", "a b", "n[1-99]", "$(reboot)", "n1;reboot", ""):
        assert drain_command(name, "lemon") == ""
        assert not safe_names([name])
