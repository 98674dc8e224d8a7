"""Readers see the warehouse and the report of one run, whatever happens while the next one is published."""

import os
import shutil

import duckdb
import pytest

from orchestration.publication import folders
from orchestration.settings.home import Home
from tests.homes import ask, change


@pytest.fixture
def home(tmp_path):
    """A home before its first publication."""
    home = Home.at(tmp_path / "home")
    (home.working_reports / "latest").mkdir(parents=True)
    return home


def build(home, run_id):
    """Make the files of a refresh before it publishes."""
    home.build_file.unlink(missing_ok=True)
    change(home.build_file, "create schema ops")
    change(home.build_file, "create table ops.published as select ? as run_id", values=[run_id])
    (home.working_reports / "latest" / "index.html").write_text(run_id)


def publish(home, *run_ids):
    """Publish runs one after the other; return the last publication."""
    for run_id in run_ids:
        build(home, run_id)
        last = folders.publish(home, run_id, "0.1.0+abc", home.build_file, home.working_reports / "latest")
    return last


def seen(home):
    """Return the run of the warehouse and the run of the report at the public paths."""
    return ask(home.published_file, "select run_id from ops.published")[0][0], home.report.read_text()


def names(folder):
    """List what a folder holds."""
    return sorted(path.name for path in folder.iterdir())


def kept(home):
    """List the publications that readers can go back to, the newest first."""
    return [publication.run_id for publication in folders.kept_publications(home)]


def test_the_public_paths_lead_through_the_one_link_that_changes_also_in_a_home_that_was_moved(home, tmp_path):
    publish(home, "run-1")
    fixed = [home.published_file.readlink(), home.report.parent.readlink()]
    assert list(map(str, fixed)) == ["../publications/current/faultline.duckdb", "../publications/current/report"]
    assert str(home.current.readlink()) == "run-1"
    assert seen(home) == ("run-1", "run-1")
    publish(home, "run-2")
    assert [home.published_file.readlink(), home.report.parent.readlink()] == fixed
    assert names(home.publications) == ["current", "run-1", "run-2"]
    assert names(home.publications / "run-2") == ["faultline.duckdb", "publication.json", "report"]
    home.root.rename(tmp_path / "elsewhere")
    assert seen(Home.at(tmp_path / "elsewhere")) == ("run-2", "run-2")


def test_a_copy_that_keeps_no_times_is_not_damaged_and_a_changed_page_is(home, tmp_path):
    publish(home, "run-1")
    copy = Home.at(tmp_path / "copy")
    shutil.copytree(home.root, copy.root, symlinks=True, copy_function=shutil.copyfile)
    page = copy.current / "report" / "index.html"
    os.utime(page, (1, 1))
    assert folders.problem_of_current(copy) is None
    page.write_text("run-2")
    assert folders.problem_of_current(copy) == "the report is not the one that was written"


def test_an_open_reader_keeps_what_it_opened(home):
    publish(home, "run-1")
    with duckdb.connect(str(home.published_file), read_only=True) as reader:
        for number in range(2, 6):
            publish(home, f"run-{number}")
            folders.remove_old(home, keep=1)
        assert reader.execute("select run_id from ops.published").fetchone() == ("run-1",)
    assert names(home.publications) == ["current", "run-5"]


@pytest.fixture
def copy(home, tmp_path):
    """A home that was copied without its links, with regular files at its public paths."""
    publish(home, "run-1", "run-2")
    copy = Home.at(tmp_path / "copy")
    shutil.copytree(home.root, copy.root)
    assert copy.current.is_dir() and not copy.current.is_symlink()
    return copy


@pytest.mark.parametrize("is_damaged", [False, True])
def test_the_next_publication_puts_lost_links_back_and_the_others_can_be_gone_back_to(copy, is_damaged):
    if is_damaged:
        copy.published_file.write_bytes(b"garbage")
    publish(copy, "run-3")
    assert copy.current.is_symlink()
    assert seen(copy) == ("run-3", "run-3")
    assert kept(copy) == ["run-3", "run-2", "run-1"]
    folders.roll_back(copy)
    assert seen(copy) == ("run-2", "run-2")


def test_so_many_stay_and_what_readers_see_stays_even_if_it_is_old(home):
    publish(home, *(f"run-{9 - number}" for number in range(1, 6)))
    assert [publication.run_id for publication in folders.remove_old(home, keep=3)] == ["run-7", "run-8"]
    found = [(publication.number, publication.run_id) for publication in folders.kept_publications(home)]
    assert found == [(5, "run-4"), (4, "run-5"), (3, "run-6")]
    folders.roll_back(home, "3")
    folders.remove_old(home, keep=1)
    assert kept(home) == ["run-4", "run-6"]


def test_the_one_before_comes_back_and_is_pinned_until_something_is_published(home):
    publish(home, "run-1", "run-2", "run-3")
    for run_id in ("run-2", "run-1"):
        assert folders.roll_back(home).run_id == run_id
        assert seen(home) == (run_id, run_id)
        assert folders.pinned_publication(home).run_id == run_id
        assert folders.newest_publication(home).run_id == "run-3"
    assert not folders.leftovers(home)
    assert publish(home, "run-4").number == 4, "numbers are never given twice"
    assert folders.pinned_publication(home) is None
    assert seen(home) == ("run-4", "run-4")
    assert folders.roll_back(home, "1").run_id == "run-1"
    assert folders.roll_back(home, "run-2").number == 2
    assert folders.roll_back(home, "4").number == 4
    assert folders.pinned_publication(home) is None


@pytest.mark.parametrize(("wanted", "words"), [(None, "before number 2"), ("9", "none"), ("run", "2 of the pub")])
def test_a_publication_that_cannot_be_meant_is_refused(home, wanted, words):
    publish(home, "run-1", "run-2")
    if wanted is None:
        shutil.rmtree(home.publications / "run-1")
    with pytest.raises(folders.NoSuchPublication, match=words):
        folders.roll_back(home, wanted)
    assert seen(home) == ("run-2", "run-2")


def test_what_was_never_seen_is_named_and_removed_by_the_next_publication(home):
    publish(home, "run-1")
    (home.publications / ".run-2").mkdir()
    unseen = home.publications / "run-3"
    shutil.copytree(home.publications / "run-1", unseen)
    text = (unseen / "publication.json").read_text()
    (unseen / "publication.json").write_text(text.replace('"number": 1', '"number": 2').replace("run-1", "run-3"))
    (home.published_file.parent / ".faultline.duckdb.123.tmp").write_bytes(b"half")
    assert [path.name for path in folders.leftovers(home)] == [".run-2", "run-3", ".faultline.duckdb.123.tmp"]
    assert (folders.was_published(home, "run-1"), folders.was_published(home, "run-3")) == (True, False)
    assert publish(home, "run-4").number == 2
    assert names(home.publications) == ["current", "run-1", "run-4"]
    assert folders.leftovers(home) == []


@pytest.mark.parametrize("is_dangling", [True, False])
def test_a_lost_link_costs_no_publication_that_readers_have_seen(home, is_dangling):
    publish(home, "run-1", "run-2", "run-3")
    home.current.unlink()
    if is_dangling:
        home.current.symlink_to("nowhere")
    assert kept(home) == ["run-2", "run-1"]
    assert folders.put_back_link(home).run_id == folders.current_publication(home).run_id == "run-2"
    assert home.published_file.is_file()
    assert folders.put_back_link(home) is None
    assert publish(home, "run-4").number == 3
    assert kept(home) == ["run-4", "run-2", "run-1"]


def test_a_description_that_is_damaged_does_not_hide_what_readers_see(home):
    publish(home, "run-1", "run-2")
    (home.current / "publication.json").write_bytes(b"\x00")
    assert folders.current_publication(home).run_id == "run-2"
    assert kept(home) == ["run-2", "run-1"]
    assert publish(home, "run-3").number == 3
