"""A report as large as that of the paper's two clusters: small enough to mail, quick to show."""

from __future__ import annotations

from pathlib import Path

import pytest

from assets.report.page import build, render
from assets.report.queries import read_frames
from assets.warehouse import Warehouse
from tests.report.browser import browser
from tests.report.planting import MADE_AT, plant

pytestmark = pytest.mark.slow

FAILURES, NODES = 4_300, 2_000
"""Of RSC-1 in eleven months; the second cluster had fewer of both."""
MORE = f"""
create temporary table more as select range as number from range({FAILURES});
create temporary table known as
select *, row_number() over () - 1 as place, count(*) over () as known_count
from marts.fct_failures where cluster_id = 'demo';
insert into marts.fct_failures by name
select known.* exclude (attempt_id, failed_at, place, known_count), known.attempt_id || '-' || number as attempt_id,
    failed_at + number * interval 1 minute as failed_at
from more inner join known on number % known_count = place;
insert into marts.fct_attempts by name
select attempts.* exclude (attempt_id), failures.attempt_id
from marts.fct_failures as failures
inner join marts.fct_attempts as attempts
    on attempts.attempt_id = split_part(failures.attempt_id, '-', 1) and attempts.cluster_id = failures.cluster_id
where failures.attempt_id like '%-%' and failures.cluster_id = 'demo';
insert into marts.fct_failure_evidence by name
select evidence.* exclude (attempt_id, evidence_rank), failures.attempt_id, rank.rank as evidence_rank
from marts.fct_failures as failures
inner join marts.fct_failure_evidence as evidence
    on evidence.attempt_id = split_part(failures.attempt_id, '-', 1) and evidence.cluster_id = failures.cluster_id
cross join (values (1), (2), (3), (4)) as rank (rank)
where failures.attempt_id like '%-%' and failures.cluster_id = 'demo';
insert into estimates.est_lemon_nodes by name
select nodes.* exclude (node_id), node_id || '-' || number as node_id
from (select * from estimates.est_lemon_nodes where cluster_id = 'demo' and verdict = 'ok' limit 1) as nodes
cross join (select number from more where number < {NODES});
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory, bundle: str) -> Path:
    warehouse = Warehouse(path=str(tmp_path_factory.mktemp("large") / "faultline.duckdb"))
    with warehouse.writing() as con:
        plant(con)
        con.execute(MORE)
        frames = read_frames(con)
    assert len([row for row in frames["failures"] if row["cluster_id"] == "demo"]) > FAILURES
    path = tmp_path_factory.mktemp("html") / "index.html"
    path.write_text(render(build(frames, MADE_AT), bundle), encoding="utf-8")
    return path


def test_it_can_be_mailed(file):
    assert file.stat().st_size < 8_000_000


def test_it_is_shown_in_a_second_and_answers_in_two(file, tmp_path):
    with browser(tmp_path / "profile") as tab:
        tab.show(1440)
        tab.open(file.as_uri())
        tab.open(file.as_uri())
        tab.wait("performance.getEntriesByName('first-contentful-paint').length > 0")
        painted = tab.run("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        ready = tab.run("performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd")
        assert painted < 1_000
        assert ready < 2_000
        tab.go("demo/failures")
        before = tab.run("performance.now()")
        tab.run("document.querySelector('article:not([hidden]) th button').click()")
        assert tab.run("performance.now()") - before < 1_000
        assert "of 4," in tab.run("document.querySelector('article:not([hidden]) .counted').innerText")
