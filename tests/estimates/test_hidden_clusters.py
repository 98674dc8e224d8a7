"""An estimate that fails on the rows of one cluster is made without it, and the reason is kept."""

import dagster as dg
import pytest

from assets.estimates.hidden_clusters import compute_without_culprit
from assets.warehouse import PUBLICATION, Warehouse


@pytest.fixture
def warehouse(tmp_path):
    """Three clusters; a run is under way."""
    warehouse = Warehouse(path=str(tmp_path / "w.duckdb"), publication=str(tmp_path / "p.duckdb"))
    with warehouse.writing() as con:
        con.execute(f"create table {PUBLICATION}.marts.dim_clusters as select unnest(['a', 'b', 'c']) as cluster_id")
        con.execute(f"create table {PUBLICATION}.marts.fct_failures (cluster_id varchar, attempt_id int)")
        con.execute(
            f"insert into {PUBLICATION}.marts.fct_failures from (values ('a', 1), ('a', 2), ('b', 3), ('c', 4))"
        )
        con.execute("insert into ops.runs values ('run', now(), null, 'running', 'v', null)")
    return warehouse


def clusters(warehouse):
    with warehouse.writing() as con:
        return con.execute("select cluster_id, count(*) from marts.fct_failures group by 1 order by 1").fetchall()


def failing_on(*bad):
    def compute(warehouse):
        if {name for name, _ in clusters(warehouse)} & set(bad):
            raise FloatingPointError("overflow\nin exp")
        return dg.MaterializeResult(metadata={})

    return compute


def test_the_culprit_is_left_out_and_named(warehouse):
    compute_without_culprit(failing_on("b"), warehouse, "estimates.est_x")
    assert clusters(warehouse) == [("a", 2), ("c", 1)]
    with warehouse.writing() as con:
        assert con.execute("select run_id, cluster_id, stage, reason from ops.cluster_failures").fetchall() == [
            ("run", "b", "estimates", "estimates.est_x could not be made of its rows: FloatingPointError: overflow")
        ]


@pytest.mark.parametrize("bad", [(), ("a", "b")])
def test_where_nobody_or_more_than_one_is_at_fault_all_rows_stay(warehouse, bad):
    if bad:
        with pytest.raises(FloatingPointError):
            compute_without_culprit(failing_on(*bad), warehouse, "estimates.est_x")
    else:
        compute_without_culprit(failing_on(), warehouse, "estimates.est_x")
    assert clusters(warehouse) == [("a", 2), ("b", 1), ("c", 1)]


def test_too_little_memory_is_nobodys_fault(warehouse):
    def compute(_warehouse):
        raise MemoryError

    with pytest.raises(MemoryError):
        compute_without_culprit(compute, warehouse, "estimates.est_x")
