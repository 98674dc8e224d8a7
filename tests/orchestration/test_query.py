"""What the reading commands answer, and that none of them can change, reach or block anything."""

import fcntl
import io
import json
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from orchestration import reading
from orchestration.catalogue import definitions, list_tables, where
from orchestration.doctor import doctor
from orchestration.home import PROJECT, Home
from orchestration.published import ReadingError, published
from orchestration.reading import run_query
from orchestration.status import status
from orchestration.status_lines import lines_of
from tests.expectations.small_warehouse import build

HOLD = """
import fcntl, sys, time
file = open(sys.argv[1], "a+")
fcntl.flock(file, fcntl.LOCK_EX)
file.truncate(0); file.write("4711"); file.flush()
print("held", flush=True)
time.sleep(60)
"""


@pytest.fixture
def home(tmp_path):
    """A home with a publication and the sources of its two clusters."""
    home = Home.at(tmp_path / "home")
    for folder in (home.work, home.published_file.parent, home.sources / "alpha" / "sacct"):
        folder.mkdir(parents=True)
    (home.sources / "alpha" / "sacct" / "all.psv").write_text("JobID|State\n1|COMPLETED\n")
    (home.sources / "alpha" / "cluster.toml").write_text('timezone = "UTC"\n')
    build(home.published_file)
    with duckdb.connect(str(home.published_file)) as con:
        con.execute("comment on table marts.fct_attempts is 'What Slurm recorded. One row per attempt. Times are UTC.'")
        con.execute("update ops.runs set status = 'succeeded', ended_at = timestamp '2026-01-03 00:01'")
        con.execute("insert into ops.published values ('run-1', timestamp '2026-01-03 00:01', 'h', '0.1.0+abc', '{}')")
    return home


@pytest.fixture
def ask(home):
    def ask(sql, fmt="json"):
        out = io.StringIO()
        run_query(home.published_file, sql, fmt, out)
        return json.loads(out.getvalue()) if fmt == "json" else out.getvalue()

    return ask


class TestQuery:
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

    def test_nothing_published_says_what_to_do(self, tmp_path):
        with pytest.raises(ReadingError, match="run `faultline refresh`"):
            run_query(tmp_path / "none.duckdb", "select 1")

    def test_a_reader_does_not_disturb_a_replacement(self, home, tmp_path):
        other = tmp_path / "other" / "faultline.duckdb"
        other.parent.mkdir()
        build(other)
        with duckdb.connect(str(other)) as con:
            con.execute("delete from marts.fct_attempts")
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
        reading.show_tables(home.published_file, as_json=True)
        assert {"name", "row_count", "grain", "description"} == set(json.loads(capsys.readouterr().out)[0])
        reading.show_tables(home.published_file)
        (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("marts.fct_attempts ")]
        assert line.split() == ["marts.fct_attempts", "8", "attempt"]


class TestWhere:
    def test_the_path_is_the_name(self):
        assert where("marts.fct_attempts").file == PROJECT / "dbt_project/models/marts/fct_attempts.sql"
        assert where("est_failure_rates").file == PROJECT / "assets/estimates/est_failure_rates.py"

    def test_a_table_of_the_ddl_has_its_line(self):
        found = where("ops.files")
        assert found.file == PROJECT / "assets/raw/schema.sql"
        assert found.file.read_text().splitlines()[found.line - 1].startswith("create table if not exists ops.files ")

    def test_every_definition_is_a_file(self):
        assert len(definitions()) > 30
        assert all(definition.file.is_file() for definition in definitions().values())

    def test_a_misspelt_name_gets_a_suggestion(self):
        with pytest.raises(ReadingError, match=r"did you mean .*fct_failures"):
            where("marts.fct_failure")
        with pytest.raises(ReadingError, match="faultline tables"):
            where("zzzzzz")


class TestStatus:
    def test_it_tells_publication_run_input_checks_and_freshness(self, home, capsys):
        found = status(home.published_file, home.working_file)
        assert found["published"]["run_id"] == "run-1"
        assert found["published"]["published_at"] == "2026-01-03T00:01:00Z"
        assert found["published"]["age_hours"] > 0
        assert found["last_run"]["status"] == "succeeded"
        assert found["files"]["lines_in"] == 342
        assert [cluster["cluster_id"] for cluster in found["clusters"]] == ["alpha", "beta"]
        assert found["clusters"][0]["newest_at"] == "2026-01-01T07:00:00Z"
        assert reading.show_status(home, as_json=True)
        assert json.loads(capsys.readouterr().out)["running"] is None

    def test_a_failed_run_that_published_nothing_is_told(self, home, capsys):
        build(home.working_file)
        with duckdb.connect(str(home.working_file)) as con:
            con.execute(
                "insert into ops.runs values ('run-2', '2026-01-04', '2026-01-04', 'failed', 'v', 'breaker: x')"
            )
            con.execute("insert into ops.checks values ('run-2', 'ops.files', 'breaker', false, true, 'x', 'y', now())")
        assert not reading.show_status(home)
        text = capsys.readouterr().out
        assert "breaker: x" in text
        assert "0 passed, 1 failed" in text
        assert "run run-1" in text

    def test_while_a_refresh_runs_the_working_file_is_not_touched(self, home):
        build(home.working_file)
        with subprocess.Popen(
            [sys.executable, "-c", HOLD, str(home.lock_file)], stdout=subprocess.PIPE, text=True
        ) as holder:
            holder.stdout.readline()
            found = status(home.published_file, home.working_file)
            holder.kill()
        assert found["running"] == {"process": "4711"}
        assert found["last_run"]["run_id"] == "run-1"
        assert lines_of(found)[0] == "refresh    running (process 4711)"

    def test_the_lock_is_given_back(self, home):
        home.lock_file.write_text("")
        build(home.working_file)
        status(home.published_file, home.working_file)
        with home.lock_file.open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def test_nothing_at_all(self, tmp_path):
        with pytest.raises(ReadingError, match="run `faultline refresh`"):
            status(tmp_path / "a.duckdb", tmp_path / "b.duckdb")


class TestDoctor:
    @pytest.fixture
    def findings(self, home):
        return lambda: {finding.where: finding for finding in doctor(home)}

    def test_a_missing_kind_says_what_it_hides_and_how_to_export_it(self, home, findings):
        found = findings()["alpha/events"]
        assert found.level == "warning"
        assert "hours out of service" in found.what
        assert "sacctmgr -P show event" in found.next_step
        assert str(home.sources / "alpha" / "events") in found.next_step

    def test_a_missing_sources_folder_is_an_error(self, tmp_path):
        (first, *_) = doctor(Home.at(tmp_path / "none"))
        assert first.level == "error"
        assert "sacct -a -D -X -P" in first.next_step

    def test_a_cluster_without_accounting_is_an_error(self, home, findings):
        (home.sources / "gamma").mkdir()
        assert findings()["gamma/sacct"].level == "error"

    def test_settings_are_checked(self, home, findings):
        (home.sources / "alpha" / "cluster.toml").write_text('timezone = "Mars/Olympus"\n')
        found = findings()["alpha/cluster.toml"]
        assert (found.level, "Mars/Olympus" in found.what) == ("error", True)

    def test_the_default_timezone_is_a_warning(self, home, findings):
        (home.sources / "alpha" / "cluster.toml").unlink()
        assert "read as UTC" in findings()["alpha/cluster.toml"].what

    def test_empty_files_and_unknown_folders_are_named(self, home, findings):
        (home.sources / "alpha" / "sacct" / "empty.psv").touch()
        (home.sources / "alpha" / "syslogs").mkdir()
        found = findings()
        assert found["alpha/sacct/empty.psv"].level == "error"
        assert "kernel" in found["alpha/syslogs"].next_step

    def test_an_export_without_duplicates_is_told(self, home, findings):
        with duckdb.connect(str(home.published_file)) as con:
            con.execute("update ops.files set warnings = ['exported_without_duplicates'] where path like 'beta/%'")
        found = findings()["beta/sacct/all.psv"]
        assert "without --duplicates" in found.what
        assert "sacct -a -D" in found.next_step

    def test_quarantined_lines_are_told(self, findings):
        found = findings()["alpha/sacct/all.psv"]
        assert "1 line was not understood, mostly unknown_state, the first is line 12" in found.what
        assert "ops.quarantine" in found.next_step

    def test_old_data_is_told_except_for_simulated_clusters(self, home, findings):
        with duckdb.connect(str(home.published_file)) as con:
            con.execute("update raw.clusters set is_simulated = true where cluster_id = 'beta'")
        found = findings()
        assert "2026-01-01" in found["alpha/sacct"].what
        assert "beta/sacct" not in found

    def test_a_full_disk_is_told(self, home, findings, monkeypatch):
        monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 1 << 20})())
        assert findings()[str(home.root)].level == "warning"

    def test_what_a_killed_refresh_left_is_told(self, home, findings):
        left = home.published_file.parent / ".faultline.duckdb.123.tmp"
        left.write_bytes(b"half")
        assert findings()[str(left)].next_step == f"rm '{left}'"

    def test_a_failed_run_is_an_error(self, home, capsys):
        with duckdb.connect(str(home.published_file)) as con:
            con.execute("update ops.runs set status = 'failed', message = 'no space is left'")
        assert not reading.show_doctor(home)
        assert "no space is left" in capsys.readouterr().out

    def test_json(self, home, capsys):
        assert reading.show_doctor(home, as_json=True)
        findings = json.loads(capsys.readouterr().out)
        assert {"level", "what", "where", "next_step"} == set(findings[0])
