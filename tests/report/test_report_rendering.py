"""The page of almost empty warehouses, the asset that writes it, and the columns that it requires."""

from __future__ import annotations

import doctest
import importlib
import io
import pkgutil
from datetime import datetime
from pathlib import Path

import dagster as dg
import pytest

import assets.report
from assets.log_kinds import LOG_KINDS
from assets.report.advice import advise
from assets.report.filling import plain_environment
from assets.report.folder import ReportFolder
from assets.report.index import index
from assets.report.page import build, figures_of, render
from assets.report.queries import read_queries
from assets.report.rows import DERIVED
from assets.warehouse import Warehouse
from orchestration.refresh.progress import ProgressHandler, progress_logger
from orchestration.terminal import output
from tests.report.clusters import START
from tests.report.planting import MADE_AT
from tests.report.reading import pages, parse
from tests.warehouses import filled, insert_known

MODULES = [module.name for module in pkgutil.walk_packages(assets.report.__path__, "assets.report.")]


@pytest.fixture
def empty(tmp_path: Path) -> Warehouse:
    """A warehouse with all tables and no row."""
    return filled(tmp_path)


@pytest.mark.parametrize("module", MODULES)
def test_examples_hold(module):
    failed, _ = doctest.testmod(importlib.import_module(module))
    assert not failed


def test_an_empty_warehouse_gives_a_page_that_says_so(empty, bundle):
    with empty.reading() as con:
        page = build(read_queries(con), MADE_AT)
    text = parse(render(page, bundle)).text
    assert "No cluster is in the warehouse" in text
    assert "No run is recorded" in text
    assert not list(figures_of(page))


def test_a_cluster_without_attempts_is_named_and_everything_is_missing(empty, bundle):
    with empty.writing() as con:
        con.execute("insert into marts.dim_clusters (cluster_id, is_simulated) values ('new & <odd>', false)")
    with empty.reading() as con:
        page = build(read_queries(con), MADE_AT)
    root = parse(render(page, bundle))
    anchor = next(page.attributes["data-cluster"] for page in root.all("article") if "data-cluster" in page.attributes)
    chapter = pages(root, anchor)
    assert chapter.all("h1")[0].text.startswith("new & <odd>")
    assert anchor.startswith("new----odd--")
    assert chapter.text.count("missing") >= len([kind for kind in LOG_KINDS.values() if kind.flag])


def test_a_cluster_whose_attempts_never_failed_has_bounds(empty, bundle):
    about = {"cluster_id": "calm", "failure_count": 0, "event_count": 0, "confidence_level": 0.9}
    rate = {"failures_per_1000_node_days_low": 0.0, "failures_per_1000_node_days_high": 6.0, "is_reference": True}
    whole = {"gpu_count": 16, "is_cluster_size": True, "is_largest_job": False, "mttf_hours_low": 2000.0}
    cluster = {"is_simulated": False, "node_count": 2, "gpu_count": 16, "first_at": START, "last_at": START}
    tables = {
        "marts.dim_clusters": cluster,
        "estimates.est_failure_rates": rate | {"population": "all", "counted_as": "attempts", "node_days": 500.0},
        "estimates.est_mttf_projections": whole | {"population": "all", "exposure": 500.0},
        "estimates.est_mttf_by_size": {"gpu_size_bin": 8, "runtime_hours": 6000.0, "mttf_hours_low": 2000.0},
    }
    with empty.writing() as con:
        for table, row in tables.items():
            insert_known(con, table, [about | row])
    with empty.reading() as con:
        page = build(read_queries(con), MADE_AT)
    text = parse(render(page, bundle)).text
    assert "none seen; rate below 6.00 (90%) 0 failed attempts in 500 node-days" in text
    assert "none failed; MTTF above 83.3 days (90%)" in text
    assert [figure.key for _, figure in figures_of(page)] == ["mttf"]


def test_in_plain_text_each_value_stays_on_one_line_and_is_seen():
    said = plain_environment().from_string("{{ name }}: {{ 7 }}").render(name="a\nb\x1b[2J\u202ec<b>")
    assert said == r"a\nb\x1b[2J\u202ec<b>: 7"


def test_the_asset_replaces_the_page_in_one_step(planted, tmp_path):
    folder = ReportFolder(path=str(tmp_path / "reports"))
    folder.page.parent.mkdir(parents=True)
    folder.page.write_text("the last one")
    with folder.page.open() as reader:
        assert dg.materialize([index], resources={"warehouse": planted, "report": folder}).success
        assert reader.read() == "the last one"
    assert sorted(path.name for path in folder.page.parent.iterdir()) == ["index.html", "summary.md", "summary.png"]


def test_a_section_that_could_not_be_made_fails_a_check_and_is_told(planted, tmp_path, monkeypatch):
    def broken(own):
        raise TypeError("rows that nobody expects")

    monkeypatch.setitem(DERIVED, "gaps", broken)
    out = io.StringIO()
    with ProgressHandler(output.console(out)) as handler:
        job = dg.Definitions(
            assets=[index],
            resources={"warehouse": planted, "report": ReportFolder(path=str(tmp_path / "reports"))},
            loggers={"progress": progress_logger(handler)},
            jobs=[dg.define_asset_job("make")],
        ).resolve_job_def("make")
        result = job.execute_in_process(run_config={"loggers": {"progress": {}}})
    assert result.success
    (verdict,) = result.get_asset_check_evaluations()
    assert not verdict.passed
    assert verdict.severity == dg.AssetCheckSeverity.WARN
    for line in verdict.description.splitlines():
        assert line in out.getvalue()
    assert "What is missing, and what is unknown without it could not be made; please report it" in verdict.description


def test_a_page_that_cannot_be_written_leaves_the_last_one(tmp_path, monkeypatch):
    folder = ReportFolder(path=str(tmp_path))
    folder.replace_page("good")

    def full(self: Path, *args: object, **kwargs: object) -> int:
        self.touch()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="No space left"):
        folder.replace_page("never")
    assert [path.name for path in folder.page.parent.iterdir()] == ["index.html"]
    assert folder.page.read_text() == "good"


PCIE = {"category": "pcie", "label": "PCIe error"}
SIX = {"fault_outage_count": 6, "last_fault_reason": "gpu lost", "last_fault_source": "slurmctld"}
REPLACED = {"last_tickets": [{"ticket_id": "T1", "component": "gpu"}]}
RELAPSE = {"relapsed_category": "pcie", "relapsed_label": "PCIe error", "relapsed_at": datetime(2026, 3, 9),
           "returned_at": datetime(2026, 3, 1)}  # fmt: skip


@pytest.mark.parametrize(
    ("incidents", "days", "more", "said"),
    [
        (1, 3, {}, "One incident is no pattern yet"),
        (1, 90, {}, "The last incident was 90 days ago: nothing to do"),
        (3, 3, {}, "3 incidents, no more than chance explains: watch it"),
        (1, 3, SIX | REPLACED, "One incident, but 6 unplanned outages"),
        (1, 90, SIX | {"days_since_last_fault": 0}, "One incident, but 6 unplanned outages"),
        (1, 90, SIX | {"days_since_last_fault": 80}, "The last incident was 90 days ago: nothing to do"),
        (1, 3, REPLACED | {"fault_outage_count": 1}, "One incident, and 1 ticket (gpu): if it comes back, reseat"),
        (5, 3, SIX, "5 incidents, no more than chance explains, and 6 unplanned outages"),
        (0, None, SIX | REPLACED, "Taken out 6 times without a job blamed on it"),
        (3, 3, {"verdict": "lemon"}, "A lemon: 3 incidents, PCIe error (3). Drain"),
        (2, 3, RELAPSE | {"verdict": "ok"}, "PCIe error came back 2026-03-09 after an outage that ended 2026-03-01"),
        (5, 3, {"open_since": datetime(2026, 3, 9)}, "Still out of service since 2026-03-09 00:00: repair"),
    ],
)
def test_advice_follows_the_lemon_list_repairs_outages_and_tickets(incidents, days, more, said):
    causes = [PCIE | {"count": incidents}] if incidents else []
    node = {"open_since": None, "fault_outage_count": 0, "causes": causes, "days_since_last_incident": days, **more}
    assert advise(node).startswith(said)
    assert ("Drain" in advise(node)) == (node.get("verdict") == "lemon"), "what the list calls well is not drained"
