"""What an analyst finds in the published file: every table and column explained, rates with their evidence."""

import json
from pathlib import Path

import pytest

from orchestration.settings.home import PROJECT


def test_every_table_says_what_one_row_is(con):
    silent = con.execute(
        """
        select schema_name || '.' || table_name
        from (
            select schema_name, table_name, comment from duckdb_tables()
            union all
            select schema_name, view_name, comment from duckdb_views()
        )
        where schema_name in ('marts', 'estimates', 'ops')
            and not regexp_matches(coalesce(comment, ''), 'One (row|file) per [^.]+\\.\\s*$')
        """
    ).fetchall()
    assert silent == []


def test_every_column_is_described(con):
    silent = con.execute(
        """
        select schema_name || '.' || table_name || '.' || column_name from duckdb_columns()
        where schema_name in ('marts', 'estimates', 'ops') and length(coalesce(comment, '')) < 5
        """
    ).fetchall()
    assert silent == []


CONTRACT = json.loads((Path(__file__).parents[1] / "fixtures" / "contract.json").read_text())


@pytest.mark.parametrize("table", CONTRACT)
def test_the_public_columns_are_there(con, table):
    schema, name = table.split(".")
    found = {
        column
        for (column,) in con.execute(
            "select column_name from information_schema.columns where table_schema = ? and table_name = ?",
            [schema, name],
        ).fetchall()
    }
    assert set(CONTRACT[table]) - found == set()


def test_no_rate_stands_without_its_evidence(con):
    for (table,) in con.execute(
        "select table_name from duckdb_tables() where schema_name = 'estimates' order by 1"
    ).fetchall():
        columns = {name for (name, *_) in con.execute(f"describe estimates.{table}").fetchall()}
        assert {"confidence_level", "method", "event_count", "exposure"} <= columns, table


def test_the_stages_of_the_run_are_there_and_took_no_longer_than_it(con):
    stages = dict(
        con.execute(
            "select stage, seconds from ops.stages inner join ops.published using (run_id) order by started_at"
        ).fetchall()
    )
    assert list(stages) == ["raw", "checks", "dbt", "estimates", "ops", "report"]
    assert min(stages.values()) > 0
    (whole,) = con.execute("select epoch(ended_at - started_at) from ops.runs order by rowid desc limit 1").fetchone()
    # The run begins when its first step writes.
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
    """The accounting, the evidence and what settings say; a column more means that the lineage grew vague."""
    (count,) = con.execute(UPSTREAM).fetchone()
    assert 60 <= count <= 76


def test_every_mart_and_every_input_has_a_lineage(con):
    """sqlglot could read each of them."""
    models = PROJECT / "dbt_project" / "models"
    named = {f"{layer}.{path.stem}" for layer in ("marts", "inputs") for path in models.glob(f"{layer}/*.sql")}
    found = {name for (name,) in con.execute("select distinct table_name from ops.lineage").fetchall()}
    assert named - found == set()


def test_rates_by_cause_agree_in_mart_and_estimate(con):
    differing, common, of_mart = con.execute(
        """
        select
            count(*) filter (
                where abs(mart.failures_per_gpu_hour / estimate.failures_per_gpu_hour - 1) > 1e-9
                    or mart.failure_count <> estimate.failure_count
            ),
            count(*),
            (select count(*) from marts.agg_failure_rates_by_cause)
        from marts.agg_failure_rates_by_cause as mart
        inner join estimates.est_cause_rates as estimate using (cluster_id, failure_category)
        where estimate.counted_as = 'attempts_paper'
        """
    ).fetchone()
    assert differing == 0
    assert common == of_mart > 0


def test_hours_and_keys_agree_with_the_columns_they_are_made_of(con):
    assert con.execute("select view_name from duckdb_views() where schema_name = 'marts' order by 1").fetchall() == [
        ("fct_attempt_exposures",),
        ("fct_job_runs",),
    ]
    odd_attempts = con.execute(
        """
        select count(*) from marts.fct_attempts
        where abs(gpu_hours - gpu_count * runtime_seconds / 3600.0) > 1e-9
            or abs(node_days - node_count * runtime_seconds / 86400.0) > 1e-9
            or queue_seconds <> date_diff('second', eligible_at, started_at)
            or job_id is null or run_id is null or (run_id = attempt_id) <> (run_attempt_number = 1)
        """
    ).fetchone()
    odd_runs = con.execute(
        """
        select count(*) from marts.fct_job_runs
        where abs(wallclock_hours - queue_hours - productive_hours - unproductive_hours) > 1e-9
            or abs(ettr - productive_hours / wallclock_hours) > 1e-9 or ettr_low > ettr or ettr > ettr_high
            or abs(gpu_hours - gpu_count * scheduled_hours) > 1e-9 and attempt_count = 1
        """
    ).fetchone()
    assert (odd_attempts, odd_runs) == ((0,), (0,))


def test_failures_tell_whose_they_are_and_runs_what_they_lost(con):
    ((failures, same),) = con.execute(
        """
        select
            count(*), count(*) filter (
                where failures.run_id = attempts.run_id
                    and failures.user_name is not distinct from attempts.user_name
                    and failures.account is not distinct from attempts.account
                    and failures.partition is not distinct from attempts.partition
                    and failures.qos is not distinct from attempts.qos
                    and failures.gpu_size_bin is not distinct from attempts.gpu_size_bin
            )
        from marts.fct_failures as failures
        inner join marts.fct_attempts as attempts using (cluster_id, attempt_id)
        """
    ).fetchall()
    assert failures == same > 0
    sums = "select sum(lost_gpu_hours), sum(expected_lost_gpu_hours) from marts."
    of_runs, of_accounts = (
        con.execute(f"{sums}{table}").fetchone() for table in ("fct_job_runs", "agg_lost_hours_by_account")
    )
    assert of_runs == pytest.approx(of_accounts)
    assert of_runs[0] > 0
