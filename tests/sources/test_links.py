"""Links: whose links are followed, and what is never read through a link."""

import os

import pytest

from assets.sources.formats import READERS
from assets.sources.intake.find.folder import survey
from tests.sources.folders import load, make, rows
from tests.sources.test_folder import GOOD

ANOTHER = 54_321
OF_ROOT = "/etc/passwd", "/etc"
"""A file and a folder of root."""


def set_by_another(link, target, monkeypatch):
    """Set a link as another user, who neither refreshes nor is root."""
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(target)
    if os.geteuid() == 0:
        os.chown(link, ANOTHER, -1, follow_symlinks=False)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: ANOTHER)


@pytest.mark.parametrize("name", ["c1/sacct/x.txt", "c1/kernel", "c1/cluster.toml", "c2"])
def test_a_link_of_another_user_to_what_is_not_his_is_refused(name, tmp_path, monkeypatch):
    folder = make(tmp_path / "s", {"c1/sacct/a.txt": GOOD, "c3/sacct/a.txt": GOOD})
    set_by_another(folder / name, OF_ROOT["." not in name], monkeypatch)
    found = survey(folder, READERS)
    errors = [refused.error for refused in found.refused] + [
        error for errors in found.left_out.values() for error in errors
    ]
    (error,) = errors
    assert str(error).startswith(f"{name}: not read: a link that user {ANOTHER} set leads to what is another user's")
    assert f"chown -h {os.geteuid()} {folder / name}" in error.next_step


def test_each_link_on_the_way_counts(tmp_path, monkeypatch):
    folder = make(tmp_path / "s", {"c1/sacct/a.txt": GOOD})
    set_by_another(tmp_path / "elsewhere" / "etc", OF_ROOT[1], monkeypatch)
    (folder / "c1/kernel").mkdir()
    (folder / "c1/kernel/b.log").symlink_to(tmp_path / "elsewhere/etc/passwd")
    (refused,) = survey(folder, READERS).refused
    assert (refused.file.path, "not read: a link" in refused.error.what) == ("c1/kernel/b.log", True)


def test_links_of_root_of_this_user_and_of_the_owner_are_followed(tmp_path, monkeypatch):
    folder = make(tmp_path / "s", {"c1/sacct/a.txt": GOOD, "c2/kernel/x": "x"})
    target = make(tmp_path, {"own.txt": GOOD}) / "own.txt"
    (folder / "c1/sacct/b.txt").symlink_to(target)
    set_by_another(folder / "c2/sacct/a.txt", target, monkeypatch)
    if os.geteuid() == 0:
        os.chown(target, ANOTHER, -1)
        monkeypatch.setattr(os, "geteuid", lambda: ANOTHER + 1)
    found = survey(folder, READERS)
    assert {file.path for file in found.files} == {"c1/sacct/a.txt", "c1/sacct/b.txt", "c2/sacct/a.txt"}


def test_no_link_brings_the_settings_of_another_cluster(tmp_path):
    secret = 'timezone = "Asia/Tokyo"\n[alerts]\nwebhook = "https://example.org/secret"\n'
    folder = make(tmp_path, {"c1/sacct/a.txt": GOOD, "c2/sacct/a.txt": GOOD, "c2/cluster.toml": secret})
    (folder / "c1/sacct/more").symlink_to(folder / "c2")
    (folder / "c3").symlink_to("c2")
    found = survey(folder, READERS)
    assert (found.clusters["c2"].settings.timezone, found.clusters["c3"].settings.timezone) == ("Asia/Tokyo", "UTC")
    assert {str(warning).partition(":")[0] for warning in found.warnings} == {"c1/sacct/more/cluster.toml", "c3"}
    con = load(folder, readers=READERS)
    assert [row["path"] for row in rows(con, "select path from ops.files where path like '%toml'")] == []
