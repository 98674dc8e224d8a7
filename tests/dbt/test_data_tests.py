"""dbt's tests of rows and identities find planted errors. Great Expectations does not check these again."""

from collections import Counter

import duckdb
import pytest

from tests.dbt.conftest import (
    LOSSES,
    NODE_HOURS,
    ROWS_OF_NODE_DAYS,
    ROWS_OF_NODES,
    ROWS_OF_PREEMPTIONS,
    ROWS_OF_SIGNALS,
    SHARES,
    TESTS,
)
from tests.dbt.on_a_copy import compiled_in, copy_of

# (the planted error, the test that must find it)
ANOMALIES = [
    ("update marts.agg_job_states set attempt_ratio = attempt_ratio / 2 where state = 'COMPLETED'", SHARES),
    ("update marts.agg_job_states set gpu_time_ratio = gpu_time_ratio / 2 where state = 'COMPLETED'", SHARES),
    ("update marts.agg_job_sizes set job_ratio = job_ratio / 2", SHARES),
    ("update marts.agg_job_sizes set gpu_time_ratio = gpu_time_ratio / 2", SHARES),
    ("update marts.agg_lost_goodput set first_order_gpu_hours = first_order_gpu_hours + 1", LOSSES),
    ("update marts.agg_lost_goodput set second_order_gpu_hours = second_order_gpu_hours + 1", LOSSES),
    ("update marts.agg_lost_hours_by_account set first_order_gpu_hours = first_order_gpu_hours + 1", LOSSES),
    ("delete from marts.agg_lost_goodput", LOSSES),
    ("update marts.agg_lost_hours_by_account_monthly set lost_gpu_hours = lost_gpu_hours + 1", LOSSES),
    ("delete from marts.fct_failures; delete from marts.fct_preemptions", LOSSES),
    ("update marts.agg_availability_monthly set idle_node_hours = idle_node_hours + 1", NODE_HOURS),
    ("update marts.agg_availability_monthly set unmapped_node_hours = failed_node_hours + 1", NODE_HOURS),
]
A_PREEMPTION = "where attempt_id = (select min(attempt_id) from marts.fct_preemptions)"
# (the planted error, the test that must find it, the number of rows that break each rule)
ROWS = [
    (f"update marts.fct_preemptions set attempt_id = null {A_PREEMPTION}", ROWS_OF_PREEMPTIONS,
     {"attempt_id missing": 1}),
    (f"insert into marts.fct_preemptions from marts.fct_preemptions {A_PREEMPTION}", ROWS_OF_PREEMPTIONS,
     {"attempt_id not unique": 2}),
    (f"update marts.fct_preemptions set instigator_rule = 'guessed', attempt_id = 'none' {A_PREEMPTION}",
     ROWS_OF_PREEMPTIONS, {"instigator_rule not accepted": 1, "attempt_id not found": 1}),
    (f"update marts.fct_preemptions set instigator_attempt_id = 'none' {A_PREEMPTION}", ROWS_OF_PREEMPTIONS,
     {"instigator_attempt_id not found": 1}),
    ("insert into marts.fct_node_days from marts.fct_node_days order by all limit 1", ROWS_OF_NODE_DAYS,
     {"cluster_id, node_id, day_date not unique": 2}),
    ("update marts.fct_attempt_nodes set cluster_id = 'other' where attempt_id ="
     " (select min(attempt_id) from marts.fct_attempts where node_count = 1)", ROWS_OF_NODES,
     {"cluster_id, node_id not found": 1}),
    ("insert into faultline.intermediate.int_lemon_signal_inputs by name select 'c' as cluster_id, 1 as amount",
     ROWS_OF_SIGNALS, {"signal missing": 1}),
]  # fmt: skip


@pytest.fixture(scope="module")
def found_by(testbed_home, compiled, tmp_path_factory):
    """Return a function that runs a statement, returns the rows of a test, and undoes the statement."""
    home = copy_of(testbed_home, tmp_path_factory.mktemp("dbt"))
    texts = {test: compiled_in(compiled.root, test) for test in TESTS}
    with duckdb.connect(str(home.working_file)) as con:
        con.execute(f"attach '{home.build_file}' as publication; use publication")

        def rows(planted, test):
            con.begin()
            con.execute(planted)
            found = con.execute(texts[test]).fetchall()
            con.rollback()
            return found

        yield rows


@pytest.mark.parametrize("test", TESTS)
def test_what_was_built_passes(found_by, test):
    assert found_by("select 1", test) == []


@pytest.mark.parametrize(("planted", "test"), ANOMALIES)
def test_what_is_planted_is_found(found_by, planted, test):
    assert found_by(planted, test)


@pytest.mark.parametrize(("planted", "test", "broken"), ROWS)
def test_rows_that_break_a_rule_are_found_with_the_rule(found_by, planted, test, broken):
    assert Counter(rule for rule, *_ in found_by(planted, test)) == broken
