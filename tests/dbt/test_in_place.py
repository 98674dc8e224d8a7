"""Tables and views that are built in place: hooks run, earlier ones are replaced, and a failure keeps them."""

import os
import subprocess

import duckdb
import pytest

from orchestration.dbt.command import DBT
from orchestration.settings.home import DBT_PROJECT

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
        {"sql": "create or replace table told_NAME as select 1 as n", "transaction": false},
        "insert into told_NAME values (2)",
    ],
    post_hook=[
        "insert into told_NAME select n from {{ this }}",
        {"sql": "insert into told_NAME values (4)", "transaction": false},
    ],
) }}
select 3 as n
"""
BROKEN = "{{ config(materialized='KIND') }} select error('broken') as n"
KINDS = {"table": "BASE TABLE", "view": "VIEW"}
BEFORE = ("table", "view", "table", "view", "table")
AFTER = ("table", "view", "view", "table", "table")
"""Kinds of a model in turn: each kind replaces nothing, the same kind, and the other kind."""


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    """Build models; return dbt's exit status, and for each model the relation of its name and the rows of its hooks."""
    folder = tmp_path_factory.mktemp("small")
    (folder / "models").mkdir()
    (folder / "dbt_project.yml").write_text(PROJECT)
    (folder / "profiles.yml").write_text(PROFILE)
    files = {"FAULTLINE_WAREHOUSE": str(folder / "w"), "FAULTLINE_PUBLICATION": str(folder / "p")}
    command = [DBT, "run", "--project-dir", str(folder), "--profiles-dir", str(folder)]

    def build(*kinds, last=MODEL):
        names = [f"model{number}" for number, _ in enumerate(kinds)]
        for name, kind in zip(names, kinds, strict=True):
            sql = last if name == names[-1] else MODEL
            (folder / "models" / f"{name}.sql").write_text(sql.replace("KIND", kind).replace("NAME", name))
        done = subprocess.run(command, cwd=folder, env={**os.environ, **files}, capture_output=True, check=False)
        with duckdb.connect(str(folder / "small.duckdb")) as con:
            types = dict(con.execute("select table_name, table_type from information_schema.tables").fetchall())
            heard = [con.execute(f"select n from told_{name} order by n").fetchall() for name in names]
        return done.returncode, [types.get(name) for name in names], heard

    return build


def test_hooks_run_what_had_the_name_goes_and_a_statement_that_fails_leaves_it(build):
    hooks = [[(1,), (2,), (3,), (4,)]] * len(BEFORE)
    assert build(*BEFORE) == (0, [KINDS[kind] for kind in BEFORE], hooks)
    assert build(*AFTER, last=BROKEN) == (1, [KINDS[kind] for kind in AFTER], hooks)
