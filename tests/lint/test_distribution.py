"""Tests that share a long fixture run in one process: otherwise each process refreshes the same homes again."""

import os

import pytest


@pytest.mark.skipif("PYTEST_XDIST_WORKER" not in os.environ, reason="only where tests run side by side")
def test_the_group_of_a_test_reaches_the_one_who_distributes_it(request):
    assert request.node.nodeid.endswith("@tests/lint/test_distribution.py")
