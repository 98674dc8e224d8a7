"""The summary as text and picture, the changes since the previous report, and the list of kept reports."""

from __future__ import annotations

import dataclasses
import re
import shutil
from pathlib import Path

import duckdb
import pytest

from assets.report.changes import changes_since, read_numbers
from assets.report.summary import draw_summary, screens_of, write_summary
from tests.homes import change
from tests.report.clusters import HOSTILE, HOSTILE_SCRIPT
from tests.report.planting import MADE_AT, RATE

PNG = b"\x89PNG\r\n\x1a\n"
FENCE = "`\n# [x](javascript:alert(1)) <b> www.example.org https://example.org @all *a* |"


def of_first(page, **changed):
    """The report of its first cluster alone, with changes of the first screen."""
    chapter, first = screens_of(page)[0]
    screen = dataclasses.replace(first, **{key: value for key, value in changed.items() if key != "cluster_id"})
    shown = dataclasses.replace(chapter.pages[0], first=screen)
    named = dataclasses.replace(chapter, cluster_id=changed.get("cluster_id", chapter.cluster_id), pages=(shown,))
    return dataclasses.replace(page, chapters=(named,))


def test_a_few_lines_tell_the_change_the_loss_the_rates_and_what_to_do(page):
    assert [chapter.cluster_id for chapter, _ in screens_of(page)] == ["demo", "hall-b"]
    text = write_summary(page, [], MADE_AT)
    assert "* **demo** (simulated): Worse than last month. " in text
    assert "**hall-b**: Too little to tell" in text
    assert re.search(r"[\d,.]+ GPU-hours were lost to failures, \d+% of them to [\w ]+\.", text)
    assert re.search(r"1,000 node-days, all jobs: [\d.]+ \[[\d.]+, [\d.]+\] \(90%\); \d+ failed attempts in", text)
    assert "To do: take out sim007, sim021; repair sim040 again" in text


def test_the_worst_cluster_is_named_first(page):
    _, first = screens_of(page)[0]
    quiet = of_first(page, cluster_id="quiet", actions=())
    failing = of_first(page, cluster_id="failing", actions=(first.actions[0],), lost_gpu_hours=0.0)
    costly = of_first(page, cluster_id="costly", actions=(), lost_gpu_hours=1e9)
    several = (*quiet.chapters, *costly.chapters, *failing.chapters)
    text = write_summary(dataclasses.replace(page, chapters=several), None, MADE_AT)
    assert re.findall(r"^\* \*\*(\w+)\*\*", text, re.MULTILINE) == ["failing", "costly", "quiet"]


@pytest.mark.parametrize("name", [HOSTILE, HOSTILE_SCRIPT, FENCE])
def test_hostile_names_stay_text(page, name):
    _, first = screens_of(page)[0]
    node = dataclasses.replace(first.actions[0], node_names=(name,), title=f"Take {name} out")
    said = f"{first.sentence} {name} cost 50% of it."
    odd = of_first(page, cluster_id=name, actions=(node,), sentence=said, period=name)
    text = write_summary(odd, None, MADE_AT)
    assert (len(text.splitlines()), text.splitlines()[3]) == (5, "* This is the first report.")
    bare = re.sub(r"\\.", "", text)
    assert not set("<|@#") & set("".join(bare.splitlines()[1:]))
    assert "](" not in bare
    assert bare.count("`") == 2, "those around index.html"
    assert "http:" not in text
    assert "www." not in text
    assert draw_summary(odd, MADE_AT).startswith(PNG)


@pytest.fixture(scope="module")
def numbers(planted):
    """The numbers of the planted warehouse that are compared."""
    with planted.reading() as con:
        return read_numbers(con)


def copied(planted, tmp_path: Path, *statements: str) -> Path:
    copy = tmp_path / "earlier.duckdb"
    shutil.copy(planted.path, copy)
    change(copy, *statements)
    return copy


def test_a_number_moved_where_it_left_its_old_interval(planted, numbers, tmp_path):
    before = copied(
        planted,
        tmp_path,
        f"update estimates.est_failure_rates set {RATE} = 5.0, {RATE}_low = 4.0, {RATE}_high = 6.0 "
        "where cluster_id = 'demo' and population = 'all'",
        "update estimates.est_lemon_nodes set verdict = 'ok' where node_id = 'sim007'",
        "update estimates.est_lemon_nodes set verdict = 'lemon' where node_id = 'sim050'",
        "update marts.dim_nodes set node_name = 'renamed' where node_id = 'sim007'",
    )
    assert changes_since(planted.path, numbers) == []
    found = changes_since(before, numbers)
    assert {change.cluster_id for change in found} == {"demo"}
    said = [change.in_words for change in found]
    assert {"sim007 is a lemon now and was none", "sim050 was a lemon and is none now"} <= {*said}
    moved = {change.what: change.in_words for change in found if change.kind == "moved"}
    assert moved.keys() == {"Failure rate of all jobs", "Failure rate of all jobs by incidents"}
    assert "5.00 [4.00, 6.00] before" in moved["Failure rate of all jobs"]


def test_numbers_of_another_method_are_not_compared(planted, tmp_path):
    by_size = "update estimates.est_mttf_by_size set method_version = '1'"
    method = f"update estimates.est_failure_rates set {RATE}_high = 0.1, method_version = "
    (tmp_path / "later").mkdir()
    before = copied(planted, tmp_path, f"{method} '3'", by_size)
    now = copied(planted, tmp_path / "later", f"{method} '4'", by_size)
    with duckdb.connect(str(now), read_only=True) as con:
        found = changes_since(before, read_numbers(con))
    assert {(change.kind, change.what) for change in found} == {("not compared", "Failure rate")}


def test_a_file_of_another_version_is_not_compared(tmp_path, numbers):
    other = tmp_path / "other.duckdb"
    duckdb.connect(str(other)).close()
    (found,) = changes_since(other, numbers)
    assert found.kind == "not compared"
    (tmp_path / "broken.duckdb").write_bytes(b"no database")
    (found,) = changes_since(tmp_path / "broken.duckdb", numbers)
    assert found.kind == "not compared"
