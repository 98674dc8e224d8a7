"""`faultline report`: every page as a file of its own with links to the others, and the list of kept reports."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from orchestration.publication import folders
from orchestration.settings.home import Home
from tests.homes import faultline
from tests.report.browser import browser


@pytest.fixture
def home(tmp_path: Path, planted) -> Home:
    home = Home.at(tmp_path / "home")
    (home.working_reports / "latest").mkdir(parents=True)
    (home.working_reports / "latest" / "index.html").write_text("a report")
    shutil.copy(planted.path, home.build_file)
    return home


def test_every_page_is_a_file_and_an_address_leads_from_one_to_another(home, page, tmp_path):
    folders.publish(home, "run-1", "v", home.build_file, home.working_reports / "latest")
    out = tmp_path / "out"
    done = faultline(home, "report", "--out", out)
    assert (done.exit_code, done.stdout.strip()) == (0, str(out / "index.html"))
    assert len(list(out.glob("*.html"))) == len(page.pages)
    with browser(tmp_path / "profile") as tab:
        tab.show(1440)
        tab.open((out / "index.html").as_uri())
        tab.run("document.querySelector('td a').click()")
        tab.wait("location.pathname.endsWith('demo.html') && document.documentElement?.dataset.page === 'demo'")
        tab.run("document.querySelector('a[href=\"#demo/failures\"]').click()")
        tab.wait("document.documentElement?.dataset.page === 'demo/failures'")
        assert tab.run("document.querySelectorAll('article').length") == 1
        assert tab.run("document.querySelectorAll('tbody tr').length") > 5
        assert tab.problems == []


def test_the_reports_that_are_kept_are_listed(home):
    assert faultline(home, "report").exit_code == 1
    for number in ("run-1", "run-2"):
        folders.publish(home, number, "v", home.build_file, home.working_reports / "latest")
    listed = faultline(home, "report").stdout.splitlines()
    assert [Path(line.split()[-1]).parts[-3] for line in listed] == ["run-2", "run-1"]
