"""The published file for an analyst: every table and column is described, and rates have their evidence.

The same jobs exported in other forms become the same attempts.
"""

import json

import pytest

from orchestration.settings.home import PROJECT
from tests.conftest import FIXTURES, FORMS
from tests.homes import ask

CONTRACT = json.loads((FIXTURES / "contract.json").read_text())
NONE = {
    "a table or view without a sentence that says what one row is": """
        select schema_name || '.' || table_name from (
            select schema_name, table_name, comment from duckdb_tables()
            union all select schema_name, view_name, comment from duckdb_views()
        ) where schema_name in ('marts', 'estimates', 'ops')
            and not regexp_matches(coalesce(comment, ''), 'One (row|file) per [^.]+\\.\\s*$')
    """,
    "a column without a description": """
        select schema_name, table_name, column_name from duckdb_columns()
        where schema_name in ('marts', 'estimates', 'ops') and length(coalesce(comment, '')) < 5
    """,
    "an estimate without its evidence": """
        select table_name from duckdb_tables() as tables where schema_name = 'estimates' and 4 <> (
            select count(*) from duckdb_columns() as columns
            where columns.table_oid = tables.table_oid and columns.database_oid = tables.database_oid
                and column_name in ('confidence_level', 'method', 'event_count', 'exposure')
        )
    """,
    "a mart's rate of a cause that is not the estimate's": """
        select * from marts.agg_failure_rates_by_cause as mart
        left join estimates.est_cause_rates as estimate
            on mart.cluster_id = estimate.cluster_id and mart.failure_category = estimate.failure_category
            and estimate.counted_as = 'attempts_paper'
        where estimate.cluster_id is null or mart.failure_count <> estimate.failure_count
            or abs(mart.failures_per_gpu_hour / estimate.failures_per_gpu_hour - 1) > 1e-9
    """,
    "an attempt whose hours or keys are not those of its columns": """
        select * from marts.fct_attempts
        where abs(gpu_hours - gpu_count * runtime_seconds / 3600.0) > 1e-9
            or abs(node_days - node_count * runtime_seconds / 86400.0) > 1e-9
            or queue_seconds <> date_diff('second', eligible_at, started_at)
            or job_id is null or run_id is null or (run_id = attempt_id) <> (run_attempt_number = 1)
    """,
    "a run whose hours are not those of its columns": """
        select * from marts.fct_job_runs
        where abs(wallclock_hours - queue_hours - productive_hours - unproductive_hours) > 1e-9
            or abs(ettr - productive_hours / wallclock_hours) > 1e-9 or ettr_low > ettr or ettr > ettr_high
            or abs(gpu_hours - gpu_count * scheduled_hours) > 1e-9 and attempt_count = 1
    """,
    "a failure that is not its attempt's": """
        select * from marts.fct_failures as failures
        left join marts.fct_attempts as attempts using (cluster_id, attempt_id)
        where attempts.attempt_id is null or failures.run_id <> attempts.run_id
            or (failures.user_name, failures.account, failures.partition, failures.qos, failures.gpu_size_bin)
            is distinct from (attempts.user_name, attempts.account, attempts.partition, attempts.qos,
                attempts.gpu_size_bin)
    """,
}
"""Rows that the published file must not have."""


@pytest.mark.parametrize("what", NONE)
def test_there_is_none(con, what):
    assert con.execute(NONE[what]).fetchall() == []


@pytest.mark.parametrize("table", CONTRACT)
def test_the_public_columns_are_there(con, table):
    found = {name for (name, *_) in con.execute(f"describe {table}").fetchall()}
    assert set(CONTRACT[table]) - found == set()


def test_the_stages_of_the_run_are_there_and_took_no_longer_than_it(con):
    stages = dict(
        con.execute(
            "select stage, seconds from ops.stages inner join ops.published using (run_id) order by started_at"
        ).fetchall()
    )
    assert list(stages) == ["raw", "checks", "dbt", "estimates", "ops", "report"]
    assert min(stages.values()) > 0
    (whole,) = con.execute("select epoch(ended_at - started_at) from ops.runs order by rowid desc limit 1").fetchone()
    # The run begins at its first step's first write.
    assert 0.5 * whole < sum(stages.values()) <= whole + 1


UPSTREAM = """
    with recursive upstream as (
        select 'estimates.est_failure_rates' as table_name, 'failures_per_1000_node_days' as column_name
        union
        select lineage.upstream_table, lineage.upstream_column
        from upstream
        inner join ops.lineage as lineage using (table_name, column_name)
    )
    select count(*) filter (where starts_with(table_name, 'raw.') or starts_with(table_name, 'ops.')) from upstream
"""


def test_a_rate_leads_to_what_it_is_made_of_in_raw_tables_and_to_no_more(con):
    """Accounting, evidence and settings; a further column means that the lineage became imprecise."""
    (count,) = con.execute(UPSTREAM).fetchone()
    assert 60 <= count <= 76


def test_every_mart_and_every_input_has_a_lineage(con):
    models = PROJECT / "dbt_project" / "models"
    named = {f"{layer}.{path.stem}" for layer in ("marts", "inputs") for path in models.glob(f"{layer}/*.sql")}
    found = {name for (name,) in con.execute("select distinct table_name from ops.lineage").fetchall()}
    assert named - found == set()


def test_runs_and_accounts_lose_the_same(con):
    sums = "select sum(lost_gpu_hours), sum(expected_lost_gpu_hours) from marts."
    of_runs, of_accounts = (
        con.execute(f"{sums}{table}").fetchone() for table in ("fct_job_runs", "agg_lost_hours_by_account")
    )
    assert of_runs == pytest.approx(of_accounts)
    assert of_runs[0] > 0


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_accounting_gives_the_same_attempts(form, many_clusters):
    def attempts(cluster):
        names = [name for name in CONTRACT["marts.fct_attempts"] if name != "cluster_id"]
        shown = [f"replace({name}::varchar, '{cluster}:', '')" for name in names]
        query = f"select {', '.join(shown)} from marts.fct_attempts where cluster_id = '{cluster}' order by attempt_id"
        return ask(many_clusters, query)

    expected = attempts("testbed")
    assert len(expected) == 102
    assert attempts(form) == expected
