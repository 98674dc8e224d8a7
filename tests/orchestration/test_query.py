"""`faultline query` and `faultline tables`: their answers, and that they change and block nothing."""

import io
import json
import re
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from assets.estimates import est_mttf_by_size
from orchestration.doctor.doctor import doctor
from orchestration.read_commands.catalogue import definitions, list_tables, show_tables, where
from orchestration.read_commands.descriptions import describe, show_table
from orchestration.read_commands.published import ReadingError, published
from orchestration.read_commands.query import run_query
from orchestration.settings.home import PROJECT
from tests.expectations.small_warehouse import build
from tests.homes import ask as query
from tests.homes import change


@pytest.fixture
def home(small_home):
    return small_home


@pytest.fixture
def ask(home):
    def ask(sql, fmt="json"):
        out = io.StringIO()
        run_query(home.published_file, sql, fmt, out)
        return json.loads(out.getvalue()) if fmt == "json" else out.getvalue()

    return ask


class TestQuery:
    def test_json_keeps_every_column_of_equal_names(self, ask):
        assert ask("select 1 as a, 2 as a, 3 as a_1, 4 as a") == [{"a": 1, "a_2": 2, "a_1": 3, "a_3": 4}]

    def test_a_statement_of_odd_bytes_is_refused(self, ask):
        with pytest.raises(ReadingError, match="not UTF-8"):
            ask("select '\udcff'")

    @pytest.mark.parametrize(
        ("sql", "is_warned"),
        [
            ("select user, count(*) from fct_attempts group by 1", True),
            ("select current_user from marts.fct_attempts", True),
            ("select user_name as user from fct_attempts group by user", False),
            ("select count(*) from fct_attempts where user_name = 'user'", False),
            ("select user", False),
        ],
    )
    def test_duckdbs_own_user_is_told_from_the_column(self, ask, sql, is_warned, capsys):
        ask(sql)
        warning = "faultline: `user` is DuckDB's own user here; the column is user_name\n"
        assert capsys.readouterr().err == (warning if is_warned else "")

    def test_a_file_that_another_program_writes_names_the_process_to_end(self, home):
        code = f"import duckdb; con = duckdb.connect({str(home.published_file)!r}); print('open', flush=True); input()"
        with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
            assert writer.stdout.readline() == b"open\n"
            with pytest.raises(ReadingError) as caught:
                run_query(home.published_file, "select 1")
            (finding,) = [found for found in doctor(home) if found.where == str(home.published_file)]
            writer.communicate(b"\n")
        step = "end that process, or wait until it ends, and run this again"
        assert str(caught.value).startswith(f"{home.published_file} is held by process {writer.pid} of ")
        assert str(caught.value).endswith(f"; {step}")
        assert finding.next_step == step

    def test_json_is_strict_and_its_times_are_utc(self, ask):
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

    def test_tables_need_no_schema(self, ask):
        sql = "select (select count(*) from {}fct_attempts) as a, (select count(*) from {}files) as b"
        assert ask(sql.format("", "")) == ask(sql.format("marts.", "ops."))
        assert ask(sql.format("", ""))[0]["a"] == 8

    def test_no_two_schemas_for_readers_have_a_table_of_one_name(self):
        names = [name.split(".")[1] for name in definitions() if name.split(".")[0] in {"marts", "estimates", "ops"}]
        assert len(names) == len(set(names)) > 60

    def test_no_rows_is_an_empty_array(self, ask):
        assert ask("select 1 as x where false") == []

    def test_csv_keeps_formulas_from_spreadsheets(self, ask):
        sql = """
            select * from (values
                ('=cmd|calc'), ('+1'), ('-1'), ('@sum'), (chr(9) || 'x'), ('safe, quoted'), (null), ('a=b')
            ) t(job_name)
        """
        assert ask(sql, "csv").splitlines() == [
            "job_name", "'=cmd|calc", "'+1", "'-1", "'@sum", "'\tx", '"safe, quoted"', '""', "a=b",
        ]  # fmt: skip

    def test_csv_leaves_numbers_and_times_alone(self, ask):
        sql = "select -5 as a, -0.5::double as b, timestamp '2026-01-01 12:00:00.5' as c, false as d, [1, 2] as e"
        assert ask(sql, "csv") == 'a,b,c,d,e\n-5,-0.5,2026-01-01 12:00:00.500000,false,"[1, 2]"\n'

    def test_a_table_on_a_pipe_is_not_cut(self, ask):
        text = ask("select repeat('x', 500) as wide, 1 as n", "table")
        assert "x" * 500 in text
        assert len(text.splitlines()) == 2

    def test_a_long_table_says_what_it_leaves_out(self, ask):
        text = ask("select * from range(1500)", "table")
        assert text.endswith("the first 1,000 of 1,500 rows; --format csv or json gives all\n")
        assert len(ask("select * from range(15000)", "csv").splitlines()) == 15001

    @pytest.mark.parametrize(
        "sql",
        [
            "with a as (select 1 as x) select * from a",
            "from marts.fct_attempts",
            "describe marts.fct_attempts",
            "summarize marts.fct_attempts",
            "explain select 1",
            "values (1)",
            "show tables",
            "select 1 as x;  ",
            "select 1 -- a remark",
        ],
    )
    def test_what_reads_is_answered(self, ask, sql):
        assert ask(sql, "table")

    @pytest.mark.parametrize(
        "sql",
        [
            "create table x as select 1",
            "create temp table x as select 1",
            "insert into marts.fct_attempts select * from marts.fct_attempts",
            "drop table marts.fct_attempts",
            "copy marts.fct_attempts to '/tmp/stolen.csv'",
            "attach '/tmp/other.duckdb' as other",
            "set enable_external_access = true",
            "install httpfs",
            "select 1; select 2",
            "",
        ],
    )
    def test_what_does_more_than_read_is_refused(self, ask, sql):
        with pytest.raises(ReadingError, match="one SELECT is wanted"):
            ask(sql)

    @pytest.mark.parametrize("call", ["read_csv('{}')", "read_text('{}')", "glob('{}')", "read_parquet('{}')"])
    def test_no_other_file_is_reached(self, ask, call):
        with pytest.raises(ReadingError, match="disabled by configuration"):
            ask(f"select * from {call.format(Path(__file__))}")

    def test_the_locks_cannot_be_undone(self, home):
        with published(home.published_file) as con, pytest.raises(duckdb.InvalidInputException, match="locked"):
            con.execute("set enable_external_access = true")

    def test_a_mistake_is_one_line_with_a_hint(self, ask):
        with pytest.raises(ReadingError) as caught:
            ask("select * from marts.fct_attempt")
        assert "fct_attempts" in str(caught.value)
        assert "faultline tables" in str(caught.value)
        assert len(str(caught.value).splitlines()) == 1

    def test_a_reader_does_not_disturb_a_replacement(self, home, tmp_path):
        other = tmp_path / "other" / "faultline.duckdb"
        other.parent.mkdir()
        build(other)
        change(other, "delete from marts.fct_attempts")
        with published(home.published_file) as con:
            other.replace(home.published_file)
            assert con.execute("select count(*) from marts.fct_attempts").fetchall() == [(8,)]


class TestTables:
    def test_tables_have_rows_grain_and_description(self, home):
        with published(home.published_file) as con:
            tables = {table.name: table for table in list_tables(con)}
        attempts = tables["marts.fct_attempts"]
        assert (attempts.row_count, attempts.grain) == (8, "attempt")
        assert attempts.description == "What Slurm recorded. Times are UTC."
        assert tables["raw.sacct"].grain == "allocation record of sacct"
        assert next(iter(tables)).startswith("marts.")

    def test_json_and_text(self, home, capsys):
        show_tables(home.published_file, as_json=True)
        assert {"name", "row_count", "grain", "description"} == set(json.loads(capsys.readouterr().out)[0])
        show_tables(home.published_file)
        (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("marts.fct_attempts ")]
        assert line.split() == ["marts.fct_attempts", "8", "attempt"]

    def test_a_table_has_columns_with_types_units_and_meanings(self, home, capsys):
        show_table(home.published_file, "est_mttf_by_size", as_json=True)
        table = json.loads(capsys.readouterr().out)
        assert table["name"] == "estimates.est_mttf_by_size"
        columns = {column["name"]: column for column in table["columns"]}
        assert list(columns) == [column.name for column in est_mttf_by_size.TABLE.columns]
        assert columns["cluster_id"]["type"] == "varchar"

    def test_the_columns_are_printed_with_what_one_row_is(self, home, capsys):
        show_table(home.published_file, "fct_attempts")
        first, *lines = capsys.readouterr().out.splitlines()
        assert first == "marts.fct_attempts: 8 rows, one row per attempt"
        (line,) = [line for line in lines if line.startswith("gpu_hours ")]
        name, kind, unit, meaning = re.split(" {2,}", line.strip())
        assert (name, kind, unit, meaning[:14]) == ("gpu_hours", "double", "GPU-hours", "GPUs allocated")
        assert [line.split()[1:3] for line in lines if line.startswith("started_at ")] == [["timestamp_s", "UTC"]]

    def test_a_misspelt_table_gets_a_suggestion(self, home):
        with pytest.raises(ReadingError, match=r"did you mean .*fct_failures"):
            show_table(home.published_file, "fct_failure")

    @pytest.mark.parametrize("table", definitions())
    def test_every_table_has_columns_and_known_tables_above_it_without_a_home(self, table):
        found = describe(table)
        names = [column.name for column in found.columns]
        assert names and "*" not in names and len(set(names)) == len(names)
        assert set(found.upstream) <= definitions().keys() - {table}
        assert found.definition.file.is_file()

    def test_the_code_says_what_the_database_has(self, testbed_home):
        held = """
            select schema_name || '.' || table_name, list(column_name order by column_index) from duckdb_columns()
            where database_name = current_database() group by 1
        """
        for file in (testbed_home.working_file, testbed_home.published_file):
            for table, columns in query(file, held):
                if table in definitions():
                    assert [column.name for column in describe(table).columns] == columns, table


class TestWhere:
    def test_the_path_is_the_name(self):
        assert where("marts.fct_attempts").file == PROJECT / "dbt_project/models/marts/fct_attempts.sql"
        assert where("est_failure_rates").file == PROJECT / "assets/estimates/est_failure_rates.py"

    def test_a_table_of_the_ddl_has_its_line(self):
        found = where("ops.files")
        assert found.file == PROJECT / "assets/raw/ops.sql"
        assert found.file.read_text().splitlines()[found.line - 1].startswith("create table if not exists ops.files ")

    def test_every_definition_is_a_file(self):
        assert len(definitions()) > 30
        assert all(definition.file.is_file() for definition in definitions().values())

    def test_a_misspelt_name_gets_a_suggestion(self):
        with pytest.raises(ReadingError, match=r"did you mean .*fct_failures"):
            where("marts.fct_failure")
        with pytest.raises(ReadingError, match="faultline tables"):
            where("zzzzzz")
