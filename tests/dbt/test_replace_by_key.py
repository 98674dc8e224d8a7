"""The incremental strategy replaces the rows under the keys that a model declares, and those alone; hooks are run."""

import os
import subprocess
import sys

import duckdb
import pytest

from orchestration.home import DBT_PROJECT

PROJECT = f"""
name: small
profile: small
macro-paths: ["{DBT_PROJECT / "macros"}"]
dispatch:
  - macro_namespace: faultline
    search_order: [small]
flags: {{send_anonymous_usage_stats: false}}
models:
  +incremental_strategy: replace_by_key
  +on_schema_change: fail
  +post-hook: "insert into hooks values ('{{{{ this.name }}}}')"
"""
PROFILE = "small: {target: here, outputs: {here: {type: duckdb, path: small.duckdb, schema: made}}}"
MODELS = {
    "by_lookup": """
        {{ config(
            materialized=incremental_on_duckdb(),
            meta={'lookups': [
                {'columns': ['cluster_id', 'job'], 'in': 'select cluster_id, job from touched'},
                {'columns': ['source'], 'in': "select 'squeue'"},
            ]}
        ) }}
        select * from incoming
    """,
    "by_range": """
        {{ config(materialized=incremental_on_duckdb(), meta={'lookups': [
            {'columns': ['job'], 'from': 'select min(job) from touched', 'to': 'select max(job) from touched'}
        ]}) }}
        select * from incoming
    """,
    "from_one_on": """
        {{ config(materialized=incremental_on_duckdb(), meta={'lookups': [
            {'columns': ['job'], 'from': 'select max(job) from touched'}
        ]}) }}
        select * from incoming
    """,
    "plain_table": "{{ config(materialized='table') }} select * from incoming",
    "plain_view": "{{ config(materialized='view') }} select * from incoming",
}
FIRST = """
create table hooks (model varchar);
create table touched (cluster_id varchar, job integer);
create table incoming as from (values
    ('a', 1, 'sacct'), ('a', 2, 'sacct'), ('a', 3, 'sacct'), ('a', 4, 'squeue'), ('b', 2, 'sacct')
) as rows (cluster_id, job, source);
"""
THEN = """
insert into touched values ('a', 2), ('a', 3);
create or replace table incoming as from (values ('a', 3, 'new'), ('a', 9, 'new')) as rows (cluster_id, job, source);
"""


BUILD = """
import sys
import duckdb
from dbt.cli.main import dbtRunner
for change in sys.argv[1:]:
    with duckdb.connect("small.duckdb") as con:
        con.execute(change)
    if not dbtRunner().invoke(["run", "--profiles-dir", "."]).success:
        sys.exit(1)
"""
"""Run in the folder of the project: make each change, and have dbt build after it."""


@pytest.fixture(scope="module")
def con(tmp_path_factory):
    """A database in which every model was built, and built again with other keys touched."""
    folder = tmp_path_factory.mktemp("small")
    (folder / "dbt_project.yml").write_text(PROJECT, encoding="utf-8")
    (folder / "profiles.yml").write_text(PROFILE, encoding="utf-8")
    (folder / "models").mkdir()
    for name, sql in MODELS.items():
        (folder / "models" / f"{name}.sql").write_text(sql, encoding="utf-8")
    environment = {**os.environ, "DBT_PROJECT_DIR": str(folder)}
    command = [sys.executable, "-c", BUILD, FIRST, THEN]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    with duckdb.connect(str(folder / "small.duckdb"), read_only=True) as con:
        yield con


OLD = {1: ("a", 1, "sacct"), 2: ("a", 2, "sacct"), 3: ("a", 3, "sacct"), 4: ("a", 4, "squeue"), 5: ("b", 2, "sacct")}
NEW = [("a", 3, "new"), ("a", 9, "new")]


@pytest.mark.parametrize(("model", "stayed"), [("by_lookup", [1, 5]), ("by_range", [1, 4]), ("from_one_on", [1, 2, 5])])
def test_rows_under_other_keys_stay(con, model, stayed):
    found = con.execute(f"from made.{model} order by all").fetchall()
    assert found == sorted([*(OLD[row] for row in stayed), *NEW])


def test_hooks_are_run_with_every_build(con):
    found = con.execute("select model, count(*) from hooks group by model order by model").fetchall()
    assert found == [(model, 2) for model in sorted(MODELS)]
