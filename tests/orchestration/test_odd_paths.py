"""A home or sources folder that is no folder: one sentence says so, and nothing is created."""

import sqlite3

import pytest

from orchestration.refresh.run import check_sources_of_a_new_home
from orchestration.runs.refresh_errors import RefreshFailed
from orchestration.settings.home import Home
from orchestration.upkeep.healing import heal_run_history


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


@pytest.mark.parametrize("kind", ["a home in a loop", "sources in a loop", "a file"])
def test_a_home_or_sources_that_are_no_folder_are_refused_with_what_to_do_and_nothing_is_made(tmp_path, kind):
    place = tmp_path / "place"
    if kind == "a file":
        place.write_text("x")
    else:
        place.symlink_to(place)
    home = Home.at(place) if kind == "a home in a loop" else Home.at(tmp_path / "home", place)
    with pytest.raises(RefreshFailed, match=r"sources folder does not exist|It must be a folder this user can read"):
        check_sources_of_a_new_home(home)
    assert [*tmp_path.iterdir()] == [place]
