"""Tables and views that are made in place: hooks run, what was there before goes, and a failure leaves it."""

import os
import subprocess

import duckdb
import pytest

from orchestration.dbt.build import DBT
from orchestration.home import DBT_PROJECT

PROJECT = f"""
name: small
profile: small
model-paths: [models]
macro-paths: ["{DBT_PROJECT / "macros" / "materializations"}"]
"""
PROFILE = "small: {target: here, outputs: {here: {type: duckdb, path: small.duckdb}}}"
MODEL = """
{{ config(
    materialized='KIND',
    pre_hook=[
        {"sql": "create table if not exists told as select 1 as n", "transaction": false},
        "insert into told values (2)",
    ],
    post_hook=[
        "insert into told select n from {{ this }}",
        {"sql": "insert into told values (4)", "transaction": false},
    ],
) }}
select 3 as n
"""


@pytest.fixture
def build(tmp_path):
    """Build one model of a kind; return dbt's exit status, what has its name then, and what the hooks wrote."""

    def build(kind, sql=MODEL):
        (tmp_path / "models").mkdir(exist_ok=True)
        (tmp_path / "dbt_project.yml").write_text(PROJECT)
        (tmp_path / "profiles.yml").write_text(PROFILE)
        (tmp_path / "models" / "number.sql").write_text(sql.replace("KIND", kind))
        files = {"FAULTLINE_WAREHOUSE": str(tmp_path / "w"), "FAULTLINE_PUBLICATION": str(tmp_path / "p")}
        command = [*DBT, "run", "--project-dir", str(tmp_path), "--profiles-dir", str(tmp_path)]
        done = subprocess.run(
            command, cwd=tmp_path, env={**os.environ, **files}, capture_output=True, text=True, check=False
        )
        with duckdb.connect(str(tmp_path / "small.duckdb")) as con:
            named = con.execute("select table_name, table_type from information_schema.tables order by 1").fetchall()
            heard = con.execute("select n from told").fetchall() if ("told", "BASE TABLE") in named else []
            con.execute("drop table if exists told")
            return done.returncode, dict(named).get("number"), [row[0] for row in heard]

    return build


def test_hooks_run_and_what_had_the_name_goes(build):
    types = {"table": "BASE TABLE", "view": "VIEW"}
    for kind in ("table", "table", "view", "view", "table"):
        status, found, heard = build(kind)
        assert (status, found) == (0, types[kind])
        assert sorted(heard) == [1, 2, 3, 4]


def test_a_statement_that_fails_leaves_the_table_of_before(build):
    build("table")
    assert build("table", "{{ config(materialized='KIND') }} select error('broken') as n")[:2] == (1, "BASE TABLE")
