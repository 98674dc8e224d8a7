"""Models and tests that dbt compiled on a copy of the capture's home, in one process for all that read them."""

from __future__ import annotations

import duckdb
import pytest

from orchestration.home import Home
from tests.dbt.on_a_copy import copy_of, dbt

MODEL = "int_health_checks_changed"
"""A model of which the rows of touched days alone can be asked."""
SHARES = "assert_shares_sum_to_one"
LOSSES = "assert_losses_agree_by_size_and_by_account"
FAILURES = "assert_every_node_fail_is_a_failure_or_planned"
PREEMPTED = "assert_every_preempted_attempt_is_listed"
NODE_HOURS = "assert_node_hours_add_up_to_their_total"
ROWS_OF_PREEMPTIONS = "rows_of_fct_preemptions_are_valid"
ROWS_OF_NODES = "rows_of_fct_attempt_nodes_are_valid"
ROWS_OF_NODE_DAYS = "rows_of_fct_node_days_are_valid"
ROWS_OF_SIGNALS = "rows_of_int_lemon_signal_inputs_are_valid"
TESTS = (
    SHARES, LOSSES, FAILURES, PREEMPTED, NODE_HOURS, ROWS_OF_PREEMPTIONS, ROWS_OF_NODES, ROWS_OF_NODE_DAYS,
    ROWS_OF_SIGNALS,
)  # fmt: skip
TOUCHED = """
    create schema touched;
    create table touched.jobs (cluster_id varchar, job_id_raw bigint);
    create table touched.health_checks as select 'c1' as cluster_id, timestamp '2026-01-20 12:34:56' as first_at;
    create table touched.node_boots as from intermediate.int_node_boots;
    create table touched.check_silences as
    select distinct cluster_id, check_stream, check_first_failed_at, silence_seconds
    from intermediate.int_health_streams;
"""


@pytest.fixture(scope="session")
def compiled(testbed_home: Home, tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A copy in which something is touched, with what dbt compiled there."""
    home = copy_of(testbed_home, tmp_path_factory.mktemp("compiled"))
    with duckdb.connect(str(home.working_file)) as con:
        con.execute(TOUCHED)
    done = dbt(home, "compile", "--select", MODEL, *TESTS)
    assert done.returncode == 0, done.stdout
    return home
