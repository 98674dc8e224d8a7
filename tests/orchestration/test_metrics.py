"""Metrics equal the published values, with limits; unknown ones are absent; the dashboard queries existing ones."""

import json
import re
import shutil
from datetime import UTC, datetime

import pytest
from prometheus_client.parser import text_string_to_metric_families

from orchestration.alerts.sending import tell_of_failure
from orchestration.metrics.collecting import exposition, headline_numbers, keep_metrics, write_metrics
from orchestration.metrics.families import HEADLINE, OF_HOME, OF_RUNS, PUBLISHED
from orchestration.settings.environment import HomeSettings
from orchestration.settings.home import PROJECT, Home
from tests.homes import ask, change, held_open

DASHBOARD = PROJECT / "docs" / "deploy" / "faultline.json"
ALL = {
    *OF_HOME, "build_info",
    *(name for family in (*PUBLISHED, *OF_RUNS) for name, _ in family.columns()),
}  # fmt: skip


@pytest.fixture
def home(small_home):
    change(
        small_home,
        "update marts.dim_clusters set is_simulated = cluster_id = 'beta', data_through_at = '2026-01-02 12:00'",
        "update estimates.est_mttf_projections set is_cluster_size = gpu_count = 16",
    )
    return small_home


def parse(home):
    """Return every sample by name and labels, as Prometheus' own parser reads them."""
    text = exposition(HomeSettings(home)).decode()
    return {
        (sample.name.removeprefix("faultline_"), frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def values(found, name, **labels):
    return [
        value for (of, own), value in found.items() if of == name and frozenset(labels.items()) <= own
    ]  # fmt: skip


OF_PUBLISHED = {
    **{f"failures_per_1000_node_days{end}": "estimates.est_failure_rates where is_reference"
       for end in ("", "_low", "_high")},
    **{f"mttf_hours{end}": "estimates.est_mttf_projections where is_cluster_size" for end in ("", "_low", "_high")},
}  # fmt: skip
OF_ALPHA = {
    "evidence_reach_ratio": 0.8, "evidence_reach_ratio_low": 0.6, "evidence_reach_ratio_high": 0.9, "lemons": 1,
    "data_through_timestamp_seconds": datetime(2026, 1, 2, 12, tzinfo=UTC).timestamp(),
}  # fmt: skip


def test_every_value_is_the_one_that_is_published_and_the_headline_is_of_the_same(home):
    found = parse(home)
    for name, table in OF_PUBLISHED.items():
        rows = ask(home, f"select cluster_id, {name} from {table}")
        assert [value for _, value in rows if value is not None]
        for cluster, value in rows:
            of_all = {"job": "whole_cluster"} if name.startswith("mttf") else {}
            assert values(found, name, cluster=cluster, **of_all) == ([] if value is None else [value]), name
    for name, value in OF_ALPHA.items():
        assert values(found, name, cluster="alpha") == [value], name
    for cluster, is_simulated in (("alpha", "false"), ("beta", "true")):
        assert {dict(own).get("simulated") for _, own in found if ("cluster", cluster) in own} == {is_simulated}
    numbers = headline_numbers(home.published_file)
    assert {key.split()[1] for key in numbers} <= set(HEADLINE) <= ALL
    assert len(numbers) == sum(name in HEADLINE for name, _ in found)
    rates = [value for key, value in numbers.items() if key.startswith("alpha failures_per_1000")]
    assert rates == values(found, "failures_per_1000_node_days", cluster="alpha")


def test_a_home_of_nothing_one_whose_channels_fail_and_one_of_which_a_process_is_left_have_metrics(home, tmp_path):
    assert {name for name, _ in parse(Home.at(tmp_path / "none"))} == {
        "build_info", "publication_is_pinned", "freshness_limit_seconds", "alert_channels_failing",
    }  # fmt: skip
    tell_of_failure(HomeSettings(home, alert_command=("false",)), "disk full", "run-1", [].append)
    assert values(parse(home), "alert_channels_failing") == [1.0]
    hostile = 'a"b\\c\nd'
    change(home, "update marts.dim_clusters set cluster_id = ? where cluster_id = 'beta'", values=[hostile])
    with held_open(home.working_file):
        assert values(parse(home), "cluster_is_stale", cluster=hostile) == [0.0]


def test_a_cluster_of_which_too_little_was_seen_has_no_series_of_estimates(home):
    names = {
        *("failures_per_1000_node_days", "mttf_hours", "ettr_measured_ratio", "expected_lost_gpu_hours", "lemons"),
        *("expected_infrastructure_failures", "evidence_reach_ratio"),
    }
    before = {name: values(parse(home), name, cluster="alpha") for name in names}
    tables = [name for (name,) in ask(home, "select table_name from duckdb_tables() where schema_name = 'estimates'")]
    for table in tables:
        change(home, f"update estimates.{table} set has_enough_data = false")
    found = parse(home)
    assert any(before.values())
    assert [values(found, name) for name in names] == [[]] * len(names)
    assert values(found, "attempts", cluster="alpha")


def test_what_is_unknown_is_absent_and_never_zero(home):
    change(
        home,
        "update marts.dim_clusters set data_through_at = null, gpu_count = null",
        "update estimates.est_failure_rates set failures_per_1000_node_days = null",
        "update estimates.est_mttf_projections set mttf_hours_high = 'inf'::double, mttf_hours = 'nan'::double",
        "update estimates.est_lemon_nodes set verdict = 'not enough data'",
        "update estimates.est_lost_gpu_hours set expected_lost_gpu_hours = null",
    )
    found = parse(home)
    for name in ("data_through_timestamp_seconds", "gpus", "failures_per_1000_node_days", "mttf_hours", "lemons"):
        assert values(found, name) == [], name
    assert values(found, "mttf_hours_high") == []
    assert values(found, "expected_lost_gpu_hours") == []
    assert values(found, "expected_lost_gpu_hours_high", period="study")
    assert values(found, "failures_per_1000_node_days_high")


def test_a_stale_cluster_says_so_and_when_its_numbers_were_built(home):
    built = datetime(2026, 1, 1, 2, tzinfo=UTC)
    change(
        home, "update marts.dim_clusters set is_stale = true, built_at = ? where cluster_id = 'alpha'", values=[built]
    )
    change(home, "insert into ops.cluster_failures values ('run-1', 'gamma', 'sources', 'x', timestamp '2026-01-03')")
    found = parse(home)
    assert values(found, "cluster_is_stale", cluster="alpha") == [1.0]
    assert values(found, "cluster_is_stale", cluster="beta") == [0.0]
    assert values(found, "built_timestamp_seconds", cluster="alpha") == [built.timestamp()]
    assert values(found, "cluster_is_without_numbers", cluster="gamma") == [1.0]


def test_runs_checks_and_rows_are_counted(home):
    change(home, 'update ops.published set row_counts = \'{"marts.fct_attempts": 8, "marts.dim_nodes": 2}\'')
    found = parse(home)
    assert values(found, "published_rows", table="marts.fct_attempts") == [8.0]
    assert values(found, "runs", status="succeeded") == [1.0]
    assert values(found, "last_run_succeeded") == [1.0]
    # A later failed run is only in the working file.
    shutil.copy(home.published_file, home.working_file)
    change(
        home.working_file,
        "insert into ops.runs values"
        " ('run-2', timestamp '2026-01-04 02:00', timestamp '2026-01-04 02:01', 'failed', '0', 'disk full')",
    )
    found = parse(home)
    assert values(found, "runs", status="failed") == [1.0]
    assert values(found, "last_run_succeeded") == [0.0]
    assert values(found, "last_run_duration_seconds") == [60.0]


def test_stages_of_the_last_run_have_their_times_and_an_earlier_version_lacks_no_other_metric(home):
    change(home, "insert into ops.runs values ('run-0', '2026-01-01', '2026-01-01', 'failed', '0', null)")
    stage = "insert into ops.stages values (?, ?, timestamp '2026-01-03', timestamp '2026-01-03', ?, 1)"
    change(home, stage, values=["run-0", "dbt", 30.5])
    change(home, stage, values=["run-1", "raw", 7])
    assert values(parse(home), "last_run_stage_seconds", stage="dbt") == [30.5]
    assert len(values(parse(home), "last_run_stage_seconds")) == 1
    change(home, "drop table ops.stages")
    assert values(parse(home), "last_run_stage_seconds") == []
    assert values(parse(home), "last_run_succeeded") == [0.0]


def test_the_file_is_replaced_whole_and_readable_for_the_node_exporter(home, tmp_path, monkeypatch):
    out = tmp_path / "exporter" / "faultline.prom"
    write_metrics(HomeSettings(home), out)
    assert out.stat().st_mode & 0o777 == 0o644
    assert out.read_bytes().endswith(b"\n")
    keep_metrics(HomeSettings(home), pytest.fail)
    assert home.metrics.stat().st_mode & 0o777 == 0o600
    said = []
    home.published_file.write_bytes(b"garbage" * 1000)
    before = out.read_bytes()
    keep_metrics(HomeSettings(home, metrics_file=out), said.append)
    assert "could not be written" in said[0]
    assert out.read_bytes() == before
    assert [path.name for path in out.parent.iterdir()] == ["faultline.prom"]


def test_every_metric_and_label_that_the_dashboard_asks_for_exists():
    text = DASHBOARD.read_text(encoding="utf-8")
    assert set(re.findall(r"faultline_([a-z0-9_]+)", text)) <= ALL
    labels = {label for family in (*PUBLISHED, *OF_RUNS) for label in family.labels}
    targets = [target for panel in json.loads(text)["panels"] for target in panel.get("targets", ())]
    asked = {
        label
        for target in targets
        for label in re.findall(r"\{\{(\w+)\}\}|[{,](\w+)=", f"{target['legendFormat']} {target['expr']}")
        for label in filter(None, label)
    }
    assert {"cluster"} < asked <= labels
