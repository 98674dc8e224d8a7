"""Lost goodput, lemons and checkpoint plans on the page: what adds up, what is ready to use, what is unknown."""

from __future__ import annotations

import pytest

from assets.report.numbers import share, short, whole
from assets.report.queries import read_queries
from tests.report.planting import data_of, page_of, screen_of
from tests.report.reading import section, table


def test_losses_and_the_credit_statement_add_up_to_what_was_planted(demo, planted):
    with planted.reading() as con:
        sizes, first, second, users, hours = con.execute("""
            select
                count(*), sum(first_order_gpu_hours), sum(second_order_gpu_hours),
                (select count(*) from marts.agg_lost_hours_by_account where cluster_id = 'demo'),
                (select sum(lost_gpu_hours) from marts.fct_failures where cluster_id = 'demo')
                + (select sum(lost_gpu_hours) from marts.fct_preemptions where cluster_id = 'demo' and is_second_order)
            from marts.agg_lost_goodput where cluster_id = 'demo'
        """).fetchall()[0]
    by_size = table(section(demo, "losses"), "Lost GPU-hours by job size").rows()
    assert len(by_size) == sizes + 1
    assert by_size[-1][-2:] == [short(0.75 * (first + second)), share(second / (first + second))]
    *by_user, total = table(section(demo, "losses"), "Credit statement").rows()
    assert len(by_user) == users
    assert total[-2:] == [short(0.75 * hours), whole(1.5 * hours)]
    accounts = table(section(demo, "losses"), "The whole study").rows()
    assert sum(int(account[1]) for account in accounts) == users
    for name, _, failed, *_ in accounts:
        assert float(failed) == pytest.approx(sum(float(user[2]) for user in by_user if user[0] == name), rel=0.01)


def test_a_statement_that_does_not_add_up_is_not_to_be_used(query_rows, planted):
    with planted.writing() as con:
        con.begin()
        con.execute("update marts.agg_lost_hours_by_account set expected_lost_gpu_hours = 1.0")
        found = read_queries(con, "losses_by_size", "losses_by_account", "lost_by_account", "lost_by_cause")
        con.rollback()
    page = page_of(data_of(query_rows, **found), "losses")
    assert "do not use it" in page.all("p", class_="warning")[0].text
    assert "The statement adds up" not in page.text


def test_the_first_screen_does_not_call_losses_of_unknown_gpus_none(query_rows):
    owed = [row for row in query_rows["lost_by_account"] if row["cluster_id"] == "demo"]
    lost = [row for row in query_rows["losses"] if row["cluster_id"] == "demo"]

    def tile(changed, unknown_count=0):
        built = {"losses": [row | changed for row in lost], "lost_by_account": [*owed[1:]]}
        built["lost_by_account"].append(owed[0] | {"gpu_unknown_count": unknown_count})
        return screen_of(data_of(query_rows, **built)).tiles[3]

    nothing = dict.fromkeys(("expected_lost_gpu_hours", "expected_lost_cost"))
    assert tile(nothing, 2).value == "unknown"
    assert "6,873 EUR; 2 losses of unknown size left out" in tile({}, 2).details
    assert tile(dict.fromkeys(nothing, 0.0)).value == "none seen"
    unseen = tile(nothing | {"note": "no log could have shown a failure"})
    assert (unseen.value, unseen.details) == ("unknown", ("no log could have shown a failure",))
