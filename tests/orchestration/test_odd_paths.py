"""A home or a sources folder that is none: one sentence says so, and nothing is made."""

import sqlite3

import pytest

from orchestration.refresh.run import check_sources_of_a_new_home
from orchestration.runs.failures import RefreshFailed
from orchestration.settings.home import Home
from orchestration.upkeep.healing import heal_run_history


@pytest.fixture
def loop(tmp_path):
    path = tmp_path / "loop"
    path.symlink_to(path)
    return path


def test_damage_of_the_history_is_found_in_a_folder_whose_name_an_address_would_have_to_quote(tmp_path):
    home = Home.at(tmp_path / "of $nobody #1 100%41")
    (home.dagster / "history").mkdir(parents=True)
    with sqlite3.connect(home.dagster / "history" / "runs.db") as con:
        con.execute("create table runs (a text)")
        con.execute("insert into runs select hex(randomblob(20000))")
    con.close()
    said = []
    heal_run_history(home, said.append)
    assert said == []
    with (home.dagster / "history" / "runs.db").open("r+b") as file:
        file.seek(4096)
        file.write(b"x" * 8192)
    heal_run_history(home, said.append)
    assert len(said) == 1 and "was damaged" in said[0]


def test_a_home_that_is_a_link_back_to_itself_is_refused(loop):
    with pytest.raises(RefreshFailed, match="sources folder does not exist"):
        check_sources_of_a_new_home(Home.at(loop))


def test_sources_that_are_a_link_back_to_itself_are_refused(loop, tmp_path):
    with pytest.raises(RefreshFailed, match="sources folder does not exist"):
        check_sources_of_a_new_home(Home.at(tmp_path / "home", loop))
    assert not (tmp_path / "home").exists()


def test_a_file_in_place_of_the_sources_is_refused_with_what_to_do(tmp_path):
    file = tmp_path / "file"
    file.write_text("x")
    with pytest.raises(RefreshFailed, match=r"Not a directory\)\. It must be a folder this user can read\.$"):
        check_sources_of_a_new_home(Home.at(tmp_path / "home", file))
    assert not (tmp_path / "home").exists()
