"""Small warehouses have the tables that a refresh publishes."""

import duckdb
import pytest

from tests.warehouses import READ_BY_ESTIMATES, create_tables, published_tables

COLUMNS = """
    select schema_name || '.' || table_name as table_name, column_name, data_type
    from duckdb_columns()
    where schema_name in ('marts', 'inputs', 'estimates', 'staging', 'intermediate', 'seeds')
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
