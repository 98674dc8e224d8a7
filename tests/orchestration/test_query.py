"""`faultline query` and `faultline tables`: their answers; they change and block nothing."""

import io
import json
from pathlib import Path

import duckdb
import pytest

from orchestration.doctor.doctor import doctor
from orchestration.read_commands.catalogue import definitions, show_tables
from orchestration.read_commands.descriptions import describe, show_table
from orchestration.read_commands.published import ReadingError, published
from orchestration.read_commands.query import run_query
from tests.homes import ask as query
from tests.homes import held_open


@pytest.fixture
def ask(small_home):
    def ask(sql, fmt="json"):
        out = io.StringIO()
        run_query(small_home.published_file, sql, fmt, out)
        return json.loads(out.getvalue()) if fmt == "json" else out.getvalue()

    return ask


def test_json_is_strict_has_times_of_utc_and_every_column_of_equal_names(ask):
    sql = """
        select timestamp '2026-01-01 12:00' as at, date '2026-01-01' as day, 'nan'::double as a, 'inf'::double as b,
            1.5::decimal(10, 2) as c, [1, null] as l, {'k': timestamp '2026-01-01'} as s, null as n, true as t,
            'é' as u, interval 90 second as i, 170141183460469231731687303715884105727::hugeint as h
    """
    assert ask(sql) == [
        {
            "at": "2026-01-01T12:00:00Z", "day": "2026-01-01", "a": None, "b": None, "c": 1.5, "l": [1, None],
            "s": {"k": "2026-01-01T00:00:00Z"}, "n": None, "t": True, "u": "é", "i": "PT90S", "h": 2**127 - 1,
        }
    ]  # fmt: skip
    assert ask("select 1 as a, 2 as a, 3 as a_1, 4 as a") == [{"a": 1, "a_2": 2, "a_1": 3, "a_3": 4}]
    assert ask("select 1 as x where false") == []


def test_tables_need_no_schema(ask):
    sql = "select (select count(*) from {}fct_attempts) as a, (select count(*) from {}files) as b"
    assert ask(sql.format("", "")) == ask(sql.format("marts.", "ops."))
    assert ask(sql.format("", ""))[0]["a"] == 8
    names = [name.split(".")[1] for name in definitions() if name.split(".")[0] in {"marts", "estimates", "ops"}]
    assert len(names) == len(set(names)) > 60


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        *((sql, "one SELECT is wanted") for sql in (
            "create table x as select 1", "create temp table x as select 1", "drop table marts.fct_attempts",
            "insert into marts.fct_attempts select * from marts.fct_attempts", "select 1; select 2", "",
            "copy marts.fct_attempts to '/tmp/stolen.csv'", "attach '/tmp/other.duckdb' as other",
            "set enable_external_access = true", "install httpfs",
        )),
        *((f"select * from {call}('{Path(__file__)}')", "disabled by configuration") for call in (
            "read_csv", "read_text", "glob", "read_parquet",
        )),
        ("select '\udcff'", "not UTF-8"),
        ("select * from marts.fct_attempt", "fct_attempts.*faultline tables"),
    ],
)  # fmt: skip
def test_what_does_more_than_read_the_published_file_is_refused_in_a_line(ask, sql, words):
    with pytest.raises(ReadingError, match=words) as caught:
        ask(sql)
    assert len(str(caught.value).splitlines()) == 1


def test_the_locks_cannot_be_undone(small_home):
    with published(small_home.published_file) as con, pytest.raises(duckdb.InvalidInputException, match="locked"):
        con.execute("set enable_external_access = true")


def test_a_file_that_another_program_writes_names_the_process_to_end(small_home):
    with held_open(small_home.published_file) as writer:
        with pytest.raises(ReadingError, match=f"held by process {writer.pid} of ") as caught:
            run_query(small_home.published_file, "select 1")
        (finding,) = [found for found in doctor(small_home) if found.where == str(small_home.published_file)]
    assert str(caught.value).endswith(f"; {finding.next_step}")


def test_tables_are_listed_with_rows_grain_and_description(small_home, capsys):
    show_tables(small_home.published_file, as_json=True)
    tables = {table["name"]: table for table in json.loads(capsys.readouterr().out)}
    assert tables["marts.fct_attempts"] == {
        "name": "marts.fct_attempts", "row_count": 8, "grain": "attempt",
        "description": "What Slurm recorded. Times are UTC.",
    }  # fmt: skip
    assert tables["raw.sacct"]["grain"] == "allocation record of sacct"


def test_a_table_has_columns_with_types_units_and_meanings(small_home, capsys):
    show_table(small_home.published_file, "fct_attempts", as_json=True)
    table = json.loads(capsys.readouterr().out)
    columns = {column["name"]: column for column in table["columns"]}
    assert (table["name"], columns["started_at"]["unit"]) == ("marts.fct_attempts", "UTC timestamp")
    assert [columns["gpu_hours"][key] for key in ("type", "unit")] == ["double", "GPU-hours"]
    assert columns["gpu_hours"]["description"].startswith("GPUs allocated")


def test_every_table_has_columns_a_file_and_known_tables_above_it_without_a_home():
    for table in definitions():
        found = describe(table)
        names = [column.name for column in found.columns]
        assert names and "*" not in names and len(set(names)) == len(names), table
        assert set(found.upstream) <= definitions().keys() - {table}, table
        assert found.definition.file.is_file(), table


def test_the_code_says_what_the_database_has(testbed_home):
    held = """
        select schema_name || '.' || table_name, list(column_name order by column_index) from duckdb_columns()
        where database_name = current_database() group by 1
    """
    for file in (testbed_home.working_file, testbed_home.published_file):
        for table, columns in query(file, held):
            if table in definitions():
                assert [column.name for column in describe(table).columns] == columns, table
