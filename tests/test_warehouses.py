"""The tables of small warehouses are those that a refresh publishes."""

import duckdb
import pytest

from tests.warehouses import READ_BY_ESTIMATES, create_tables, insert, insert_known, published_tables

COLUMNS = """
    select schema_name || '.' || table_name as table_name, column_name, data_type
    from duckdb_columns()
    where schema_name in ('marts', 'estimates', 'staging', 'intermediate', 'seeds')
    order by all
"""


def columns_of(con: duckdb.DuckDBPyConnection) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for table, name, kind in con.execute(COLUMNS).fetchall():
        found.setdefault(table, {})[name] = kind
    return found


@pytest.fixture
def own():
    with duckdb.connect() as con:
        create_tables(con)
        yield con


def test_every_published_table_is_there_with_its_columns_and_types(con, own):
    published, created = columns_of(con), columns_of(own)
    assert {name: created[name] for name in published_tables()} == published


def test_what_the_estimates_read_besides_is_of_the_types_that_a_refresh_builds(testbed_home, own):
    created = columns_of(own)
    with duckdb.connect(str(testbed_home.working_file), read_only=True) as con:
        built = columns_of(con)
    for table in READ_BY_ESTIMATES:
        assert created[table].items() <= built[table].items(), table


def test_rows_are_put_in_by_name_and_the_rest_is_null_or_a_default(own):
    insert(own, "marts.dim_clusters", [{"cluster_id": "a"}, {"cluster_id": "b", "gpu_count": 8}])
    found = own.execute("select cluster_id, gpu_count, is_stale from marts.dim_clusters order by 1").fetchall()
    assert found == [("a", None, False), ("b", 8, False)]


def test_a_column_that_nobody_publishes_is_refused_or_left_out(own):
    row = {"cluster_id": "a", "strange": 1}
    with pytest.raises(duckdb.BinderException, match="strange"):
        insert(own, "marts.dim_clusters", [row])
    insert_known(own, "marts.dim_clusters", [row])
    assert own.execute("select count(*) from marts.dim_clusters").fetchall() == [(1,)]
