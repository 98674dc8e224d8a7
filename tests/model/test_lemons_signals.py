"""The seven signals: above the fleet's 99th percentile and at least 2, two kinds that agree, limits of the site."""

import numpy as np
import pytest

from assets.model.lemons.signals import KINDS, SIGNALS, stand_out


def fleet(**first):
    """Return 200 nodes with low values, the first of them as given."""
    values = np.zeros((200, 7))
    values[1:40, :6] = 1
    for signal, value in first.items():
        values[0, SIGNALS.index(signal)] = value
    return values


def above(found, node=0):
    return {signal for signal, is_above in zip(SIGNALS, found.is_above[node], strict=True) if is_above}


def test_two_signals_of_different_kind_make_a_candidate():
    found = stand_out(fleet(tickets=3, xid_cnt=2))
    assert above(found) == {"tickets", "xid_cnt"}
    assert found.is_candidate.nonzero()[0].tolist() == [0]


def test_two_signals_of_one_kind_do_not():
    assert not stand_out(fleet(tickets=3, out_count=9)).is_candidate.any()
    assert KINDS["tickets"] == KINDS["out_count"]


def test_once_is_not_above_the_fleet():
    values = np.zeros((200, 7))
    values[0, :6] = 1
    assert not stand_out(values).is_above.any()


def test_a_failure_rate_needs_two_failures():
    assert above(stand_out(fleet(single_node_node_failure_rate=1.0, single_node_node_fails=1))) == set()
    found = stand_out(fleet(single_node_node_failure_rate=0.5, single_node_node_fails=2))
    assert above(found) == {"single_node_node_failure_rate", "single_node_node_fails"}


def test_unknown_signals_stand_out_of_nothing_and_have_no_limit():
    values = fleet(tickets=3, xid_cnt=5)
    values[:, SIGNALS.index("tickets")] = np.nan
    found = stand_out(values)
    assert above(found) == {"xid_cnt"}
    assert np.isnan(found.limit[SIGNALS.index("tickets")])


def test_the_limit_is_the_99th_percentile():
    values = np.zeros((101, 7))
    values[:, 3] = np.arange(101)
    found = stand_out(values)
    assert found.limit[3] == pytest.approx(99.0)
    assert found.is_above[:, 3].nonzero()[0].tolist() == [100]


def test_a_configured_limit_is_reached_not_exceeded():
    found = stand_out(fleet(tickets=1, xid_cnt=2), {"tickets": 1, "xid_cnt": 3})
    assert found.is_above[:40, 2].all()
    assert not found.is_above[:, 1].any()
