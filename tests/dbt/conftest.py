"""Models and tests that dbt compiled on a copy of the capture's home. All their readers run in one process."""

from __future__ import annotations

import pytest

from orchestration.settings.home import Home
from tests.dbt.on_a_copy import copy_of, dbt

SHARES = "assert_shares_sum_to_one"
LOSSES = "assert_losses_agree_by_size_and_by_account"
NODE_HOURS = "assert_node_hours_add_up_to_their_total"
ROWS_OF_PREEMPTIONS = "rows_of_fct_preemptions_are_valid"
ROWS_OF_NODES = "rows_of_fct_attempt_nodes_are_valid"
ROWS_OF_NODE_DAYS = "rows_of_fct_node_days_are_valid"
ROWS_OF_SIGNALS = "rows_of_int_lemon_signal_inputs_are_valid"
TESTS = (
    SHARES, LOSSES, NODE_HOURS, ROWS_OF_PREEMPTIONS, ROWS_OF_NODES, ROWS_OF_NODE_DAYS, ROWS_OF_SIGNALS,
)  # fmt: skip


@pytest.fixture(scope="session")
def compiled(testbed_home: Home, tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A copy with the files that dbt compiled."""
    home = copy_of(testbed_home, tmp_path_factory.mktemp("compiled"))
    done = dbt(home, "compile", "--select", *TESTS)
    assert done.returncode == 0, done.stdout
    return home
