"""A `cluster.toml` may run programs and send only if nobody but this user and root may write it."""

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
    """Let the path belong to a user who is neither this one nor root."""
    if os.geteuid() == 0:
        os.chown(path, 54_321, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 54_321)


def test_own_files_that_nobody_else_may_write_are_trusted(file):
    assert untrusted(file) is None
    assert read_settings(file.parent.parent / "without", "without")[0].untrusted is None


@pytest.mark.parametrize("what", ["file", "folder"])
@pytest.mark.parametrize("wrong", [0o764, 0o746, "owner"])
def test_what_others_may_write_or_own_is_named_with_the_command(file, what, wrong, monkeypatch):
    opened = file if what == "file" else file.parent
    if wrong == "owner":
        give_to_another(opened, monkeypatch)
        found = untrusted(file)
        assert (f"{opened} belongs to " in found.what, "chown " in found.next_step) == (True, True)
    else:
        opened.chmod(wrong)
        found = untrusted(file)
        assert f"others may write {opened} (mode {wrong:04o})" in found.what
        os.system(found.next_step.partition("run: ")[2])  # noqa: S605
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
