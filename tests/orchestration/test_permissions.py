"""Permissions of a home: only its owner may read it; a group may read publications if the settings name it."""

import grp
import os
import stat
import tempfile

import pytest

from orchestration.doctor.doctor import home_findings
from orchestration.open_lineage.sending import send_failure
from orchestration.publication.folders import publish
from orchestration.read_commands.status import show_status
from orchestration.refresh import run as refreshing
from orchestration.runs.refresh_errors import RefreshFailed
from orchestration.settings.environment import HomeSettings, LineageSettings
from orchestration.settings.home import Home
from orchestration.terminal.output import console
from orchestration.upkeep import permissions
from orchestration.upkeep.permissions import WrongGroup, private_files, set_permissions
from tests.homes import change

GROUP = grp.getgrgid(os.getegid()).gr_name
"""A group that this user may give files to."""


@pytest.fixture
def another_group(monkeypatch):
    """A group other than that of new files; only root may give files to a group that it is not in."""
    name = next(group for group in grp.getgrall() if group.gr_gid != os.getegid()).gr_name
    if os.geteuid():
        monkeypatch.setattr(permissions.os, "chown", lambda *_: None)
    return name


def build(home):
    """Make the files of a refresh before it publishes, with its umask."""
    page = home.working_reports / "latest" / "index.html"
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text("report")
    change(home.build_file, "create table if not exists t as select 1 as a")
    (home.dagster / "history").mkdir(parents=True, exist_ok=True)
    (home.dagster / "history" / "runs.db").write_text("x")


def publish_as(home, run_id, group):
    with private_files():
        build(home)
        publish(home, run_id, "v", home.build_file, home.working_reports / "latest", group=group)


def modes(home):
    """Return the modes by path below the home; links have none of their own."""
    found = {".": home.root.stat()}
    found |= {
        path.relative_to(home.root).as_posix(): path.stat()
        for path in home.root.rglob("*")
        if not path.is_symlink()
    }  # fmt: skip
    return {name: stat.S_IMODE(status.st_mode) for name, status in found.items()}


def test_a_refresh_makes_nothing_that_others_can_read(tmp_path, monkeypatch):
    home = Home.at(tmp_path / "home", tmp_path / "sources")
    (home.sources / "c1").mkdir(parents=True)
    home.work.mkdir(parents=True, mode=0o700)
    home.root.chmod(0o700)
    monkeypatch.setattr(refreshing, "is_up_to_date", lambda home, _: (home.work / "file").write_text("x"))
    monkeypatch.setattr(refreshing, "read_outcome", lambda *_: None)
    before = os.umask(0o022)
    try:
        refreshing.run_refresh(HomeSettings(home), console())
        assert os.umask(0o022) == 0o022
    finally:
        os.umask(before)
    folders, files = dict.fromkeys((".", "work", "metrics"), 0o700), ("work/file", "metrics/faultline.prom")
    assert modes(home) == folders | dict.fromkeys(files, 0o600)


def test_what_an_earlier_version_left_open_is_closed_but_not_the_home_itself_or_its_logs(tmp_path):
    home = Home.at(tmp_path / "home")
    before = os.umask(0o022)
    try:
        build(home)
        home.published_file.parent.mkdir()
        home.published_file.write_bytes(home.build_file.read_bytes())
        home.report.parent.mkdir(parents=True)
        home.report.write_text("old report")
        (home.sources / "alpha").mkdir(parents=True)
    finally:
        os.umask(before)
    set_permissions(home, None)
    publish_as(home, "run-2", None)
    assert {name for name, mode in modes(home).items() if mode & 0o077} == {".", "sources", "sources/alpha"}


@pytest.mark.parametrize(
    ("place", "mode", "is_named"),
    [
        (".", 0o755, False),
        (".", 0o775, True),
        (".", 0o757, True),
        (".", 0o1777, os.geteuid() != 0),
        ("work", 0o770, True),
        ("work/faultline.duckdb", 0o660, True),
        ("publications", 0o702, True),
        ("publications/run-1/faultline.duckdb", 0o664, True),
        ("publications/run-1/faultline.duckdb", 0o640, False),
    ],
)
def test_what_others_may_write_is_named_with_the_command_that_closes_it(tmp_path, capsys, place, mode, is_named):
    home = Home.at(tmp_path / "home")
    publish_as(home, "run-1", None)
    (home.root / "link").symlink_to(home.work)  # A link's own mode is 0777 and means nothing.
    change(home.working_file, "create table t as select 1 as a")
    home.working_file.chmod(0o600)
    path = (home.root / place).resolve()
    path.chmod(mode)
    found = [(found.where, found.next_step) for found in home_findings(home) if "others may write" in found.what]
    assert found == [(str(path), f"chmod go-w {path}")] * is_named
    show_status(home)
    assert (f"chmod go-w {path}" in capsys.readouterr().out) is is_named


@pytest.mark.parametrize("umask", [0o000, 0o077])
@pytest.mark.parametrize(("folder", "mode"), [("home/metrics", 0o600), ("outside", 0o644)])
def test_files_for_others_follow_no_planted_link_and_have_their_permissions(tmp_path, monkeypatch, umask, folder, mode):
    """The link has the name of the unfinished file; the run failed."""
    victim, place = tmp_path / "victim", tmp_path / folder
    place.mkdir(parents=True)
    victim.write_text("of somebody else")
    metrics, lineage = place / "m.prom", place / "l.ndjson"
    planted = [place / f".{file.name}.foreseen.tmp" for file in (metrics, lineage)]
    for link in planted:
        link.symlink_to(victim)
    monkeypatch.setattr(tempfile, "_get_candidate_names", lambda: iter(["foreseen", "another"]))
    settings = HomeSettings(Home.at(tmp_path / "home"), metrics_file=metrics, lineage=LineageSettings(file=lineage))
    before = os.umask(umask)
    try:
        with pytest.raises(RefreshFailed):
            refreshing.run_refresh(settings, console())
        send_failure(settings, "11111111-1111-1111-1111-111111111111", "no logs", pytest.fail)
    finally:
        os.umask(before)
    assert victim.read_text() == "of somebody else"
    assert {path.name: stat.S_IMODE(path.stat().st_mode) for path in (metrics, lineage)} == {
        "m.prom": mode, "l.ndjson": mode,
    }  # fmt: skip
    assert "FAIL" in lineage.read_text()
    assert {*place.iterdir()} == {metrics, lineage, *planted}


def test_a_group_may_read_what_is_published_and_pass_on_the_way_there_and_a_new_home_is_its_owners(tmp_path):
    home = Home.at(tmp_path / "home")
    publish_as(home, "run-1", None)
    assert set(modes(home).values()) == {0o700, 0o600}
    publish_as(home, "run-2", GROUP)
    folders, files = {"", "/report"}, {"/faultline.duckdb", "/report/index.html", "/publication.json"}
    runs = ("publications/run-1", "publications/run-2")
    expected = dict.fromkeys((".", "publications", "warehouse", "reports"), 0o710)
    expected |= {run + name: 0o750 for run in runs for name in folders}
    expected |= {run + name: 0o640 for run in runs for name in files}
    found = modes(home)
    assert {name: mode for name, mode in found.items() if mode & 0o077} == expected
    publish_as(home, "run-3", None)
    assert {mode for name, mode in modes(home).items() if name.startswith("publications")} == {0o700, 0o600}


def test_files_and_folders_are_given_to_the_group(tmp_path, another_group):
    home = Home.at(tmp_path / "home")
    publish_as(home, "run-1", another_group)
    if os.geteuid() == 0:
        number = grp.getgrnam(another_group).gr_gid
        for path in (home.root, home.publications, home.published_file, home.report, home.published_file.parent):
            assert path.stat().st_gid == number, path
        assert home.working_file.parent.stat().st_gid == os.getegid()


def test_a_group_that_nobody_knows_stops_the_refresh_before_it_starts(tmp_path):
    settings = HomeSettings(Home.at(tmp_path / "home"), publish_group="no-such-group")
    (settings.home.sources / "c1").mkdir(parents=True)
    with pytest.raises(refreshing.RefreshFailed, match="FAULTLINE_PUBLISH_GROUP names the group no-such-group"):
        refreshing.run_refresh(settings, console())


def test_a_group_that_this_user_may_not_give_files_to_is_named_and_nothing_is_published(tmp_path, monkeypatch):
    home = Home.at(tmp_path / "home")
    publish_as(home, "run-1", None)

    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(permissions.os, "chown", refuse)
    other = next(group for group in grp.getgrall() if group.gr_gid != os.getegid()).gr_name
    with pytest.raises(WrongGroup, match="this user is not in"):
        publish_as(home, "run-2", other)
    assert sorted(path.name for path in home.publications.iterdir()) == ["current", "run-1"]


def test_a_home_that_belongs_to_another_group_is_not_opened_to_this_one(tmp_path, another_group):
    home = Home.at(tmp_path / "home")
    home.root.mkdir()
    home.root.chmod(0o770)
    with pytest.raises(WrongGroup, match="chmod o\\+x"):
        set_permissions(home, another_group)
    home.root.chmod(0o771)
    set_permissions(home, another_group)
    assert stat.S_IMODE(home.root.stat().st_mode) == 0o771
