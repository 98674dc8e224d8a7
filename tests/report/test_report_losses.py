"""Lost goodput, lemons and checkpoint plans on the page: what adds up, what is ready to use, what cannot be told."""

from __future__ import annotations

import pytest

from assets.report.numbers import share, short, whole
from assets.report.queries import read_frames
from tests.report.planting import own_of, page_of, screen_of, section_of
from tests.report.reading import section, table


@pytest.fixture
def changed(planted, frames):
    """Own rows of the page on losses after some statements, which are taken back."""

    def after(*statements):
        with planted.writing() as con:
            con.begin()
            for statement in statements:
                con.execute(statement)
            names = ("losses_by_size", "losses_by_account", "losses_by_month", "lost_by_account", "lost_by_cause")
            found = read_frames(con, *names)
            con.rollback()
        return page_of(own_of(frames, **found), "losses")

    return after


def test_the_second_order_has_its_share(demo, planted):
    with planted.reading() as con:
        sizes, first, second = con.execute("""
            select count(*), sum(first_order_gpu_hours), sum(second_order_gpu_hours)
            from marts.agg_lost_goodput where cluster_id = 'demo'
        """).fetchall()[0]
    rows = table(section(demo, "losses"), "Lost GPU-hours by job size").rows()
    assert len(rows) == sizes + 1
    assert rows[-1][0] == "all"
    assert rows[-1][-2:] == [short(0.75 * (first + second)), share(second / (first + second))]
    assert "Nobody knows who preempted" in section(demo, "losses").text


def test_the_credit_statement_adds_up(demo, hall, planted):
    rows = table(section(demo, "losses"), "Credit statement").rows()
    with planted.reading() as con:
        users, hours = con.execute("""
            select
                (select count(*) from marts.agg_lost_hours_by_account where cluster_id = 'demo'),
                (select sum(lost_gpu_hours) from marts.fct_failures where cluster_id = 'demo')
                + (select sum(lost_gpu_hours) from marts.fct_preemptions where cluster_id = 'demo' and is_second_order)
        """).fetchall()[0]
    assert len(rows) == users + 1
    assert rows[-1][-2:] == [short(0.75 * hours), whole(1.5 * hours)]
    assert "The statement adds up to" in section(demo, "losses").text
    assert "No price per GPU-hour is configured" in section(hall, "losses").text


def test_accounts_add_their_users_up(demo):
    accounts = table(section(demo, "losses"), "The whole study").rows()
    users = table(section(demo, "losses"), "Credit statement").rows()[:-1]
    assert sum(int(account[1]) for account in accounts) == len(users)
    for name, _, failed, *_ in accounts:
        assert float(failed) == pytest.approx(sum(float(user[2]) for user in users if user[0] == name), rel=0.01)


def test_a_statement_that_does_not_add_up_is_not_to_be_used(changed):
    page = changed("update marts.agg_lost_hours_by_account set expected_lost_gpu_hours = 1.0")
    assert "do not use it" in page.all("p", class_="warning")[0].text
    assert "The statement adds up" not in page.text


def test_the_first_screen_does_not_call_losses_of_unknown_gpus_none(frames):
    owed = [row for row in frames["lost_by_account"] if row["cluster_id"] == "demo"]
    lost = [row for row in frames["losses"] if row["cluster_id"] == "demo"]

    def tile(changed, unknown_count=0):
        built = {"losses": [row | changed for row in lost], "lost_by_account": [*owed[1:]]}
        built["lost_by_account"].append(owed[0] | {"gpu_unknown_count": unknown_count})
        return screen_of(own_of(frames, **built)).tiles[3]

    assert "of unknown GPU count" not in " ".join(tile({}).details)
    nothing = dict.fromkeys(("expected_lost_gpu_hours", "expected_lost_cost"))
    assert tile(nothing, 2).value == "unknown"
    assert "6,873 EUR; 2 losses of unknown size left out" in tile({}, 2).details
    assert tile(dict.fromkeys(nothing, 0.0)).value == "none seen"
    unseen = tile(nothing | {"note": "no log could have shown a failure"})
    assert (unseen.value, unseen.details) == ("unknown", ("no log could have shown a failure",))


def test_lemons_come_first_and_are_ready_for_slurm(demo, hall):
    lemons = section(demo, "lemons")
    rows = table(lemons, "Nodes by how surely").rows()
    assert [row[1:3] for row in rows[:3]] == [["sim007", "lemon"], ["sim021", "lemon"], ["sim040", "watch"]]
    saved, given_up = rows[0][5:7]
    assert saved.split()[0] == "72.0"
    assert given_up == "5,000 pays if the repair takes less than 10.4 h"
    shown = table(lemons, "Nodes to take out, and nodes to watch").rows()
    assert [row[:2] for row in shown] == [["sim007", "lemon"], ["sim021", "lemon"], ["sim040", "watch"]]
    assert shown[0][4] == saved
    assert [element.text for element in lemons.all("code")] == ["--exclude=sim[007,021]"]
    assert "4.00% of these names are expected to be wrong" in lemons.text
    assert not section(hall, "lemons").all("code")


def test_a_name_for_the_shell_stays_out_of_the_exclude_line(frames):
    (lemon, *_) = own_of(frames).rows("nodes", verdict="lemon")
    named = [lemon | {"node_name": name} for name in ("sim007", "$(reboot)", "-x", "a b")]
    made = section_of(own_of(frames, nodes=named), "nodes", "lemons")
    assert [element.text for element in made.all("code")] == ["--exclude=sim007"]
    assert "3 names cannot stand on a command line" in made.text
    none = section_of(own_of(frames, nodes=named[1:]), "nodes", "lemons")
    assert not none.all("code")
    assert "no name can be given to Slurm" in none.text


def test_a_fleet_that_cannot_be_ranked_says_so(hall):
    text = section(hall, "lemons").text
    assert "The data cannot tell: only 1 failure of nodes" in text
    assert "the record is too short to make a list" in text
    assert "What lemons do to large jobs cannot be told" in text
    rows = table(section(hall, "lemons"), "Nodes by how surely").rows()
    assert {(row[0], row[2], row[3], row[4]) for row in rows} == {
        ("not ranked", "not enough data", "unknown", "not estimated")
    }


def test_unknown_signals_are_no_zeros(demo):
    rows = {row[0]: row for row in table(section(demo, "lemons"), "Signals of the nodes").rows()}
    excluded = rows["jobs that exclude the node excl_jobid_count"]
    assert excluded[1:] == ["0", *["unknown"] * 4, "no source shows", "unknown"]
    assert rows["repair tickets tickets"][-2:] == ["3.00 (configured)", "2"]


def test_lists_of_the_past_are_judged(demo):
    named, nobody = table(section(demo, "lemons"), "Lists of the past").rows()
    assert named[4].startswith("50.0%")
    assert nobody[4] == "nobody was named"
    shares = {row[0]: row[3].split()[0] for row in table(section(demo, "lemons"), "Failed attempts of 128 GPUs").rows()}
    assert shares["All large attempts"] == "13.3%"
    assert shares["The same, had lemons failed none"] == "7.78%"
