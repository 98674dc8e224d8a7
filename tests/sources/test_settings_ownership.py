"""Which `cluster.toml` may run programs and send: none that anybody but this user and root may write."""

import os

import pytest

from assets.sources.settings import read_settings, reading


@pytest.fixture
def file(tmp_path):
    folder = tmp_path / "c1"
    folder.mkdir(mode=0o755)
    file = folder / "cluster.toml"
    file.write_text("[pull]\n")
    file.chmod(0o644)
    return file


def untrusted(file):
    cluster, wrong = read_settings(file.parent, "c1")
    assert wrong == []
    return cluster.untrusted


def give_to_another(path, monkeypatch):
    """Have the path belong to a user who is neither this one nor root."""
    if os.geteuid() == 0:
        os.chown(path, 54_321, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 54_321)


def test_own_files_that_nobody_else_may_write_are_trusted(file):
    assert untrusted(file) is None
    assert read_settings(file.parent.parent / "without", "without")[0].untrusted is None


@pytest.mark.parametrize("mode", [0o020, 0o002])
@pytest.mark.parametrize("what", ["file", "folder"])
def test_a_group_or_others_that_may_write_are_told_with_the_command(file, what, mode):
    opened = file if what == "file" else file.parent
    opened.chmod(0o744 | mode)
    found = untrusted(file)
    assert f"others may write {opened} (mode {0o744 | mode:04o})" in found.what
    assert found.next_step == f"look at what it says, then run: chmod go-w {opened}"


@pytest.mark.parametrize("what", ["file", "folder"])
def test_another_owner_is_told_with_the_command(file, what, monkeypatch):
    opened = file if what == "file" else file.parent
    give_to_another(opened, monkeypatch)
    found = untrusted(file)
    assert f"{opened} belongs to " in found.what and f"{opened}" in found.next_step and "chown " in found.next_step


def test_everything_wrong_is_corrected_by_the_commands_at_once(file):
    file.chmod(0o666)
    file.parent.chmod(0o777)
    os.system(untrusted(file).next_step.partition("run: ")[2])  # noqa: S605
    assert untrusted(file) is None


def test_a_link_is_as_good_as_the_folder_that_it_leads_to(file, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    file.rename(elsewhere / "own.toml")
    file.symlink_to(elsewhere / "own.toml")
    assert untrusted(file) is None
    elsewhere.chmod(0o777)
    assert f"others may write {elsewhere}" in untrusted(file).what


def test_the_file_that_was_read_is_judged_and_not_the_one_that_took_its_place(file, monkeypatch):
    file.chmod(0o666)
    read = reading.read_small_with_status

    def replaced(path, limit):
        found = read(path, limit)
        path.chmod(0o644)
        return found

    monkeypatch.setattr(reading, "read_small_with_status", replaced)
    assert untrusted(file) is not None
