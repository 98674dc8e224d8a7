"""dbt's tests of identities find what is planted: Great Expectations does not ask for these again."""

import duckdb
import pytest

from tests.dbt.conftest import FAILURES, LOSSES, PREEMPTED, SHARES, TESTS
from tests.dbt.on_a_copy import compiled_in, copy_of

# (what is planted, the test that must find it)
ANOMALIES = [
    ("update marts.agg_job_states set attempt_ratio = attempt_ratio / 2 where state = 'COMPLETED'", SHARES),
    ("update marts.agg_job_states set gpu_time_ratio = gpu_time_ratio / 2 where state = 'COMPLETED'", SHARES),
    ("update marts.agg_job_sizes set job_ratio = job_ratio / 2", SHARES),
    ("update marts.agg_job_sizes set gpu_time_ratio = gpu_time_ratio / 2", SHARES),
    ("update marts.agg_lost_goodput set first_order_gpu_hours = first_order_gpu_hours + 1", LOSSES),
    ("update marts.agg_lost_goodput set second_order_gpu_hours = second_order_gpu_hours + 1", LOSSES),
    ("update marts.agg_lost_hours_by_account set first_order_gpu_hours = first_order_gpu_hours + 1", LOSSES),
    (
        "update marts.agg_lost_hours_by_account set lost_gpu_hours = lost_gpu_hours + 1,"
        " second_order_gpu_hours = second_order_gpu_hours + 1",
        LOSSES,
    ),
    ("delete from marts.agg_lost_goodput", LOSSES),
    ("delete from marts.fct_failures; delete from marts.fct_preemptions", LOSSES),
    ("delete from marts.fct_failures", FAILURES),
    ("update marts.fct_attempt_records set is_infrastructure_failure = not is_infrastructure_failure", FAILURES),
    ("delete from marts.fct_preemptions", PREEMPTED),
    ("update marts.fct_preemptions set instigator_attempt_id = attempt_id, is_inferred = true", PREEMPTED),
]


@pytest.fixture(scope="module")
def found_by(testbed_home, compiled, tmp_path_factory):
    """Count what a test finds after a statement, which is undone."""
    home = copy_of(testbed_home, tmp_path_factory.mktemp("dbt"))
    texts = {test: compiled_in(compiled.root, test) for test in TESTS}
    with duckdb.connect(str(home.working_file)) as con:
        con.execute(f"attach '{home.publication}' as publication; use publication")

        def count(planted, test):
            con.begin()
            con.execute(planted)
            found = con.execute(texts[test]).fetchall()
            con.rollback()
            return len(found)

        yield count


@pytest.mark.parametrize("test", TESTS)
def test_what_was_built_passes(found_by, test):
    assert found_by("select 1", test) == 0


def test_a_log_may_name_a_later_attempt_of_the_same_run(found_by):
    named = "update marts.fct_preemptions set instigator_attempt_id = attempt_id, is_inferred = false"
    assert found_by(named, PREEMPTED) == 0


@pytest.mark.parametrize(("planted", "test"), ANOMALIES)
def test_what_is_planted_is_found(found_by, planted, test):
    assert found_by(planted, test) > 0
