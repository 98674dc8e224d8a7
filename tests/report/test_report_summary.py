"""The report in ten lines and as a picture, what changed since the one before, and the earlier ones that are kept."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import re
import shutil
from pathlib import Path

import duckdb
import pytest

from assets.report.changes import changes_between, changes_since, compare
from assets.report.earlier import earlier_reports
from assets.report.folder import ReportFolder
from assets.report.summary import MAX_LINES, escape, facts_of, month_change, write_summary
from assets.report.summary_files import changes_of, write_summary_files
from assets.report.summary_picture import draw_summary
from tests.report.clusters import HOSTILE, HOSTILE_SCRIPT
from tests.report.planting import MADE_AT

PNG = b"\x89PNG\r\n\x1a\n"
FENCE = "`\n# [x](javascript:alert(1)) <b> www.example.org https://example.org @all *a* |"


def png_size(picture: bytes) -> tuple[int, int]:
    assert picture.startswith(PNG)
    return int.from_bytes(picture[16:20]), int.from_bytes(picture[20:24])


@pytest.fixture(scope="module")
def facts(frames):
    return facts_of(frames)


def test_ten_lines_tell_rate_mttf_loss_and_what_to_do(facts):
    text = write_summary(facts, [], MADE_AT)
    assert text.startswith("# Cluster reliability, 2026-09-22 02:00 UTC\n")
    assert re.search(r"\*\*demo\*\* \(simulated\): [\d.]+ failures per 1,000 node-days \[90%: [\d.]+ to [\d.]+\]", text)
    assert "a job on the whole cluster lasts" in text
    assert "To do: take out sim007, sim021" in text
    assert "no number moved by more than its interval" in text
    assert len(text.splitlines()) <= MAX_LINES


def test_a_cluster_of_minutes_has_no_rate_and_goes_last(facts):
    assert [cluster.cluster_id for cluster in facts] == ["demo", "hall-b"]
    text = write_summary(facts, None, MADE_AT)
    assert "**hall-b**: too little to tell" in text
    assert "Since the report before: there is none." in text


@pytest.mark.parametrize("count", range(9))
def test_any_number_of_clusters_fits(facts, count):
    several = [dataclasses.replace(facts[0], cluster_id=f"cluster{number}") for number in range(count)]
    lines = write_summary(several, None, MADE_AT).splitlines()
    assert len(lines) <= MAX_LINES
    assert all(lines)
    named = sum(f"**cluster{number}**" in "".join(lines) for number in range(count))
    hidden = re.search(r"and (\d+) more cluster", "".join(lines))
    assert named + int(hidden[1] if hidden else 0) == count


@pytest.mark.parametrize("name", [HOSTILE, HOSTILE_SCRIPT, FENCE])
def test_hostile_names_stay_text(facts, frames, name):
    node = dataclasses.replace(facts[0].actions[0], node_names=(name,), title=f"Take {name} out")
    odd = dataclasses.replace(facts[0], cluster_id=name, actions=(node,), costly_label=name)
    text = write_summary([odd], None, MADE_AT)
    assert len(text.splitlines()) == 6
    bare = re.sub(r"\\.", "", text)
    assert not set("<|@#") & set("".join(bare.splitlines()[1:]))
    assert "](" not in bare
    assert bare.count("`") == 2, "those around index.html"
    assert "http:" not in text
    assert "www." not in text
    assert draw_summary([odd], frames, MADE_AT).startswith(PNG)


def test_escaped_text_has_no_bare_punctuation():
    assert not re.search(r"[!-+./:-@\[-`{-~]", re.sub(r"\\.", "", escape(HOSTILE + FENCE)))


def test_the_picture_is_drawn_without_a_browser_and_always_the_same(facts, frames):
    first, again = (draw_summary(facts, frames, MADE_AT) for _ in range(2))
    assert first == again
    width, height = png_size(first)
    assert 1500 < width < 2500
    assert height > 400
    assert png_size(draw_summary(facts[:1], frames, MADE_AT))[1] < height
    assert png_size(draw_summary([], frames, MADE_AT))[1] > 0


def test_a_month_is_compared_with_limits_or_not_at_all():
    row = {"month_ratio": 1.2, "month_ratio_low": 0.5, "month_ratio_high": 2.7}
    assert month_change(row).startswith("no change against the 30 days before that can be told from chance [0.5")
    assert month_change(row | {"month_ratio": 0.05, "month_ratio_high": 0.2}).startswith("fewer than in")
    assert month_change(row | {"month_ratio": 3.0, "month_ratio_low": 1.5, "month_ratio_high": 6.0}).startswith("more")
    for known in ({"month_ratio": None}, {"month_ratio_low": None}, {"month_ratio_high": None}):
        assert month_change(row | known) == "whether that changed cannot be told"


def test_both_files_are_written_beside_the_page(frames, tmp_path):
    folder = ReportFolder(path=str(tmp_path))
    write_summary_files(folder, frames, changes_of(folder, frames), dt.datetime(2026, 1, 1))
    assert sorted(path.name for path in folder.page.parent.iterdir()) == ["summary.md", "summary.png"]
    assert "there is none" in folder.page.with_name("summary.md").read_text(encoding="utf-8")


def copied(planted, tmp_path: Path, *statements: str) -> Path:
    copy = tmp_path / "earlier.duckdb"
    shutil.copy(planted.path, copy)
    with duckdb.connect(str(copy)) as con:
        for statement in statements:
            con.execute(statement)
    return copy


def test_the_same_numbers_changed_nothing(planted, tmp_path):
    assert changes_between(copied(planted, tmp_path), Path(planted.path)) == []


def test_a_number_moved_where_it_left_its_old_interval(planted, tmp_path, frames):
    before = copied(
        planted,
        tmp_path,
        "update estimates.est_failure_rates set failures_per_1000_node_days = 5.0, failures_per_1000_node_days_low = "
        "4.0, failures_per_1000_node_days_high = 6.0 where cluster_id = 'demo' and population = 'all'",
        "update estimates.est_lemon_nodes set verdict = 'ok' where node_id = 'sim007'",
        "update estimates.est_lemon_nodes set verdict = 'lemon' where node_id = 'sim050'",
        "update marts.dim_nodes set node_name = 'renamed' where node_id = 'sim007'",
    )
    found = changes_between(before, Path(planted.path))
    assert {change.cluster_id for change in found} == {"demo"}
    said = [change.said for change in found]
    assert "sim007 is a lemon now and was none" in said
    assert "sim050 was a lemon and is none now" in said
    moved = [change for change in found if change.kind == "moved"]
    assert {change.what for change in moved} == {"Failure rate of all jobs", "Failure rate of all jobs by incidents"}
    assert moved[0].after is not None
    assert moved[0].after > moved[0].before_high == 6.0
    assert "5.00 [4.00, 6.00] before" in moved[0].said
    assert "moved" not in write_summary(facts_of(frames), found, MADE_AT)


def test_numbers_of_another_method_are_not_compared(planted, tmp_path):
    before = copied(
        planted,
        tmp_path,
        "update estimates.est_failure_rates set method_version = '3', failures_per_1000_node_days_high = 0.1",
        "update estimates.est_mttf_by_size set method_version = '1'",
    )
    after = tmp_path / "later"
    after.mkdir()
    now = copied(
        planted,
        after,
        "update estimates.est_failure_rates set method_version = '4'",
        "update estimates.est_mttf_by_size set method_version = '1'",
    )
    found = changes_between(before, now)
    assert {(change.kind, change.what) for change in found} == {("not compared", "Failure rate")}
    assert found[0].said == "Failure rate: the method is another one (3 before, 4 now): not compared"


def test_clusters_that_come_and_go_are_told():
    row = {"table_name": "est_failure_rates", "number_key": "k", "subject": "all", "number_value": 1.0,
           "number_low": 0.5, "number_high": 2.0, "method_version": "1"}  # fmt: skip
    found = compare([row | {"cluster_id": "old"}], [row | {"cluster_id": HOSTILE}])
    assert [change.kind for change in found] == ["new", "gone"]


def test_a_file_of_another_version_is_not_compared(tmp_path, frames):
    other = tmp_path / "other.duckdb"
    duckdb.connect(str(other)).close()
    (found,) = changes_since(other, frames["limited_numbers"])
    assert found.kind == "not compared"
    (tmp_path / "broken.duckdb").write_bytes(b"no database")
    (found,) = changes_since(tmp_path / "broken.duckdb", frames["limited_numbers"])
    assert found.kind == "not compared"


def test_earlier_reports_are_listed_the_newest_first(tmp_path):
    for number, run in enumerate(("run-a", "run-b", "run-c"), start=1):
        report = tmp_path / run / "report"
        report.mkdir(parents=True)
        if run != "run-b":
            (report / "index.html").write_text("page")
        told = {"number": number, "run_id": run, "published_at": "2026-01-01", "code_version": "v"}
        (tmp_path / run / "publication.json").write_text(json.dumps(told))
    (tmp_path / "current").symlink_to("run-c")
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "publication.json").write_text("{")
    found = earlier_reports(tmp_path)
    assert [(report.number, report.address) for report in found] == [
        (3, "../../publications/run-c/report/index.html"),
        (1, "../../publications/run-a/report/index.html"),
    ]
    assert len(earlier_reports(tmp_path, 1)) == 1
    assert earlier_reports(tmp_path / "none") == []
