"""An estimate that fails on the rows of some clusters is computed without them, and the reasons are kept."""

from contextlib import closing
from dataclasses import replace

import dagster as dg
import duckdb
import pytest

from assets.bad_clusters.failures import failing_clusters
from assets.estimates.good_clusters import compute_for_good_clusters
from assets.warehouse import PUBLICATION, OpenWarehouse, replace_lineage, replace_table

TABLE = "estimates.est_x"


@pytest.fixture
def make(tmp_path):
    """Build a warehouse of four clusters; a run is under way."""

    def rebuild(warehouse):
        with warehouse.writing() as con:
            bad = [*failing_clusters(con, "run")]
            con.execute(f"delete from {PUBLICATION}.marts.x where cluster_id in (select unnest(?))", [bad])
        built.append(bad)

    built: list[list[str]] = []
    warehouse = OpenWarehouse(path=str(tmp_path / "w.duckdb"), publication=str(tmp_path / "p.duckdb"), rebuild=rebuild)
    with warehouse.writing() as con:
        con.execute(f"create table {PUBLICATION}.marts.x as select unnest(['a', 'b', 'c', 'd']) as cluster_id")
        con.execute("create or replace table raw.clusters as from marts.x")
        con.execute("insert into ops.runs values ('run', now(), null, 'running', 'v', null)")
    yield warehouse, built
    warehouse.close()


def failing_on(*bad, error=None, tried=None):
    """Write the clusters that are there, unless one of these is among them."""

    def compute(warehouse):
        with warehouse.writing() as con:
            frame = con.execute("from marts.x order by cluster_id").df()
            if tried is not None:
                tried.append("".join(frame["cluster_id"]))
            if {*frame["cluster_id"]} & {*bad}:
                raise error or FloatingPointError("overflow\nin exp")
            replace_table(con, TABLE, frame, "cluster_id varchar")
            replace_lineage(con, [TABLE], [(TABLE, "cluster_id", "marts.x", "cluster_id")])
        return dg.MaterializeResult(metadata={})

    return compute


def read(warehouse, query):
    with warehouse.writing() as con:
        return con.execute(query).fetchall()


@pytest.mark.parametrize("bad", ["b", "ad"])
def test_the_marts_are_built_once_more_without_the_clusters_at_fault(bad, make):
    warehouse, built = make
    tried: list[str] = []
    compute_for_good_clusters(failing_on(*bad, tried=tried), warehouse, TABLE)
    good = "".join(name for name in "abcd" if name not in bad)
    assert built == [[*bad]]
    assert read(warehouse, f"select string_agg(cluster_id, '' order by cluster_id) from {TABLE}") == [(good,)]
    assert read(warehouse, "select run_id, cluster_id, stage, reason from ops.cluster_failures order by 2") == [
        ("run", name, "estimates", "estimates.est_x could not be made of its rows: FloatingPointError: overflow")
        for name in bad
    ]
    assert (tried[0], tried[-1]) == ("abcd", good)
    assert read(warehouse, "select count(*) from ops.lineage") == [(1,)]


@pytest.mark.parametrize(
    ("bad", "error"),
    [("abcd", FloatingPointError()), ("b", MemoryError()), ("b", OSError(28, "No space left on device"))],
)
def test_where_every_cluster_or_none_is_at_fault_the_error_is_raised_and_nothing_is_built(bad, error, make):
    warehouse, built = make
    with pytest.raises(type(error)):
        compute_for_good_clusters(failing_on(*bad, error=error), warehouse, TABLE)
    assert built == []
    assert read(warehouse, "select count(*) from ops.cluster_failures") == [(0,)]
    assert read(warehouse, "select count(*) from marts.x") == [(4,)]


def test_an_error_of_no_single_cluster_is_given_up_and_one_of_building_again_is_not(make):
    warehouse, built = make
    given_up: list[Exception] = []

    def give_up(error):
        given_up.append(error)
        return dg.MaterializeResult(metadata={})

    errors = [FloatingPointError(), MemoryError(), duckdb.OutOfMemoryException("Out of Memory Error: no room")]
    for error in errors:
        compute_for_good_clusters(failing_on(*"abcd", error=error), warehouse, TABLE, give_up)
    assert (given_up, built) == (errors, [])

    compute_for_good_clusters(failing_on("b"), warehouse, TABLE, give_up)
    assert (given_up, built) == (errors, [["b"]])

    def fail(_):
        raise LookupError("dbt failed")

    warehouse.close()
    with closing(replace(warehouse, rebuild=fail)) as failing, pytest.raises(LookupError, match="dbt failed"):
        compute_for_good_clusters(failing_on("c"), failing, TABLE, give_up)


def test_without_errors_nothing_is_built_again(make):
    warehouse, built = make
    compute_for_good_clusters(failing_on(), warehouse, TABLE)
    assert (built, read(warehouse, f"select count(*) from {TABLE}")) == ([], [(4,)])
