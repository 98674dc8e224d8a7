"""If a cluster hides names, the report has none of them; those of another cluster stay."""

from __future__ import annotations

import re

import pytest

from assets.public.contents import content_of, contents
from assets.report.names import HIDDEN, NOTE, hide_names
from assets.report.page import build, render
from assets.report.queries import QueryRows, read_queries, texts
from assets.report.summary import draw_summary, write_summary
from tests.report.planting import MADE_AT
from tests.warehouses import filled, published_tables

PERSONS = {"user_name": "user", "victim_user_name": "user", "account": "account"}
PLANTED = "zebulon-planted"


@pytest.fixture(scope="module")
def named(planted):
    """Rows of a cluster that hides names, with a planted name wherever a person can be named."""
    with planted.writing() as con:
        con.begin()
        con.execute("delete from raw.clusters")
        con.execute(
            """
            insert into raw.clusters by name
            select
                cluster_id, is_simulated, 'UTC' as timezone, 8 as gpus_per_node, 600 as attribution_before_seconds,
                300 as attribution_after_seconds, []::varchar[] as attribution_priority, true as runs_chain,
                900 as runs_chain_gap_seconds, 60 as checkpoint_minutes, 5 as restart_minutes, 0 as write_minutes,
                28 as lemon_window_days, '{}' as lemon_thresholds, 0.01 as quarantine_max_share, '[]' as annotations,
                case cluster_id when 'demo' then 'hidden' end as report_names
            from marts.dim_clusters
            """
        )
        for table, columns in (
            ("marts.fct_attempts", ("user_name", "job_name")),
            ("marts.agg_crash_loops", ("user_name", "account")),
            ("marts.agg_lost_hours_by_account", ("user_name", "account")),
            ("ops.quarantine", ("raw", "detail")),
            ("marts.fct_health_events", ("message",)),
            ("marts.fct_node_outages", ("reason", "reason_user")),
            ("marts.dim_clusters", ("stale_reason",)),
            ("marts.fct_tickets", ("action", "summary")),
        ):
            for column in columns:
                con.execute(f"update {table} set {column} = '{PLANTED}-{column}' where cluster_id = 'demo'")
        con.execute("update marts.dim_clusters set is_stale = true where cluster_id = 'demo'")
        con.execute("update marts.fct_node_outages set failure_category = 'unmapped' where cluster_id = 'demo'")
        con.execute(
            f"""
            insert into marts.agg_unmapped_signals by name
            select
                'demo' as cluster_id, unnest(['node_reason', 'kernel', 'repair_action']) as kind,
                '{PLANTED}-s' as signal, 1 as event_count, 1 as node_count,
                timestamp '2026-09-01' as first_seen_at, timestamp '2026-09-01' as last_seen_at,
                '{PLANTED}-e' as example, 'demo/a' as example_path, 1 as example_line_number
            """
        )
        con.execute(f"update ops.checks set observed = '{PLANTED}-observed' where not passed")
        con.execute(
            f"insert into ops.quarantine values ('demo', 'demo/a', 1, 'field_count', '{PLANTED}-d', '{PLANTED}-r')"
        )
        query_rows = read_queries(con)
        con.rollback()
    return query_rows


def text_columns(folder):
    """Every text column of published tables and of the report's queries, with its table or query."""
    with filled(folder).reading() as con:
        described = (
            "select table_name, column_name, data_type from information_schema.columns where table_schema = 'ops'"
        )
        found = [*con.execute(described).fetchall()]
        for frame, text in texts().items():
            found += [(frame, name, kind) for name, kind, *_ in con.execute(f"describe {text}").fetchall()]
    for table, columns in published_tables().items():
        found += [(table.partition(".")[2], name, kind) for name, kind in columns.items()]
    return {(table, name) for table, name, kind in found if re.search("varchar|json|struct", kind.lower())}


def test_what_every_text_column_holds_is_known(tmp_path):
    found = text_columns(tmp_path)
    assert len(found) > 400
    assert sorted(".".join(column) for column in found if content_of(*column) is None) == []
    listed = {name for _, name in found} | {".".join(column) for column in found}
    assert {*contents()} - listed == set(), "columns that no longer exist"


def test_no_name_stands_in_the_report(named, bundle):
    assert any(PLANTED in str(rows) for rows in named.values())
    page = build(named, MADE_AT)
    html = render(page, bundle)
    assert PLANTED not in html
    assert PLANTED not in write_summary(page, None, MADE_AT)
    assert draw_summary(page, MADE_AT)
    assert "faultline doctor demo --rules" in html
    assert NOTE in html
    assert "user 1" in html


@pytest.mark.parametrize("hiding", ["are_names_hidden", "is_pseudonymous"])
def test_no_path_stands_in_the_commands_of_a_cluster_that_hides_names(query_rows, bundle, hiding):
    clusters = [cluster | {hiding: cluster["cluster_id"] == "hall-b"} for cluster in query_rows["clusters"]]
    for shown, is_hidden in ((query_rows, False), (QueryRows({**query_rows, "clusters": clusters}), True)):
        html = render(build(shown, MADE_AT, sources="/srv/a name"), bundle)
        assert ("/srv/a name/hall-b" not in html) == is_hidden
        assert ("<code>sources/hall-b</code>" in html) == is_hidden
        assert "<code>/srv/a name/demo</code>" in html


def test_shown_is_the_default_and_hides_nothing(query_rows, html):
    assert not any(cluster["are_names_hidden"] for cluster in query_rows["clusters"])
    assert hide_names(query_rows) is query_rows
    assert NOTE not in html
    assert "user1" in html


def test_one_name_has_one_number_and_other_clusters_keep_theirs(query_rows):
    clusters = [cluster | {"are_names_hidden": cluster["cluster_id"] == "demo"} for cluster in query_rows["clusters"]]
    failed = [{"table_name": "estimates.est_repairs", "reason": "ValueError: not for user1"}]
    hidden = hide_names(QueryRows({**query_rows, "clusters": clusters, "not_computed": failed}))
    assert [row["reason"] for row in hidden["not_computed"]] == ["ValueError"]
    pairs = {
        (f"{kind} {before[column]}", after[column])
        for name, rows in query_rows.items()
        if name != "not_computed"
        for before, after in zip(rows, hidden[name], strict=True)
        for column, kind in PERSONS.items()
        if before.get(column) is not None and before.get("cluster_id") == "demo"
    }
    assert pairs
    assert len(pairs) == len({name for name, _ in pairs}) == len({number for _, number in pairs})
    for name in ("failures", "lost_by_account"):
        kept = [row for row in query_rows[name] if row["cluster_id"] == "hall-b"]
        assert kept == [row for row in hidden[name] if row["cluster_id"] == "hall-b"]
    assert {row["job_name"] for row in hidden["failures"] if row["cluster_id"] == "demo"} <= {HIDDEN, None}
