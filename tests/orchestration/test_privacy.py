"""A cluster with changed privacy or key: it is left out unchanged, until it is forgotten completely."""

import json
import shutil
from pathlib import Path

import dagster as dg
import pytest

import assets.raw
from assets.raw.folder import SourcesFolder
from assets.sources.intake.find.privacy import Privacy
from assets.sources.settings import ClusterSettings, Settings
from assets.sources.text.privacy_key import WrongKey, key_id, make_key, read_key
from assets.warehouse import Warehouse
from orchestration.publication.publish import complete_publication
from orchestration.refresh import forgetting
from orchestration.settings.home import Home
from tests.homes import ask, change, faultline
from tests.logs import export, numbered
from tests.privacy.planted import MARK, files_with_names, names_in, rows_of_duckdb
from tests.sources.folders import make

CLUSTER, OTHER = "planted", "other"
PLAIN, PRIVATE = "", 'privacy = "pseudonymous"\n'
ASSETS = dg.load_assets_from_package_module(assets.raw)
WRITTEN = (
    "publications/r1/report/index.html", "dagster/history/runs.db", "alerts/sent.sqlite", "metrics/faultline.prom",
    "work/faultline.duckdb.damaged-20240501T000000Z", "work/unexpected-error.txt", "work/dbt/dbt.log",
)  # fmt: skip
"""Files of runs, each with a name."""


class Place:
    """A home with two clusters; their logs are read as in a refresh."""

    def __init__(self, root: Path) -> None:
        self.home, self.key = Home.at(root / "home"), root / "keys" / "privacy.key"
        named = export(numbered([1, 2], User=f"{MARK}alice", Account=f"{MARK}lab"))
        make(self.home.sources, {f"{OTHER}/sacct/a.psv": export(numbered([1])), f"{CLUSTER}/sacct/a.psv": named})

    def configure(self, settings: str) -> None:
        (self.home.sources / CLUSTER / "cluster.toml").write_text(settings)

    def read(self) -> dict[str, str]:
        """Read the logs; return the reasons of clusters that are left out."""
        warehouse = Warehouse(str(self.home.working_file), str(self.home.build_file))
        sources = SourcesFolder(path=str(self.home.sources), privacy=str(self.home.privacy), privacy_key=str(self.key))
        run_id = dg.materialize(ASSETS, resources={"warehouse": warehouse, "sources": sources}).run_id
        change(
            warehouse, "insert into ops.runs values (?, now()::timestamp, null, 'running', 'v', null)", values=[run_id]
        )
        return dict(ask(warehouse, "select cluster_id, reason from ops.cluster_failures where run_id = ?", [run_id]))

    def forget(self, *options: str) -> str:
        done = faultline(self.home, "refresh", "--forget", CLUSTER, *options, FAULTLINE_PRIVACY_KEY_FILE=str(self.key))
        assert done.exit_code == 0, done.output
        return " ".join(done.output.split())

    def state(self) -> dict[str, str]:
        return json.loads(self.home.privacy.read_text())

    def users(self) -> set[str]:
        query = f"select user_name from raw.sacct where cluster_id = '{CLUSTER}'"
        return {user for (user,) in ask(self.home.working_file, query)}


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setattr(forgetting, "has_logs", lambda _: False)  # No refresh follows.
    return Place(tmp_path)


@pytest.mark.parametrize(
    ("read_with", "privacy", "key", "said"),
    [
        (None, "plain", "a", None),
        (None, "pseudonymous", "", None),
        ("plain", "plain", "a", None),
        ("a", "pseudonymous", "a", None),
        ("plain", "pseudonymous", "a", "privacy is switched on, and its names were stored as they are; "),
        ("plain", "pseudonymous", "", "privacy is switched on, and its names were stored as they are; "),
        ("a", "plain", "a", "privacy is switched off, and its names were stored as pseudonyms; "),
        ("a", "pseudonymous", "b", "its pseudonyms were made with another key than "),
        ("a", "pseudonymous", "", "the privacy key "),
    ],
)
def test_a_change_is_told_with_the_way(tmp_path, read_with, privacy, key, said):
    file, keys = tmp_path / "key", {"a": "a" * 64, "b": "b" * 64}
    if key:
        file.touch(0o600)
        file.write_text(keys[key])
    known = {} if read_with is None else {"c": key_id(keys[read_with]) if read_with in keys else read_with}
    cluster = ClusterSettings(cluster_id="c", settings=Settings(privacy=privacy))
    change = Privacy(tmp_path / "privacy.json", file, known).change_of(cluster)
    if said is None:
        assert change is None
    else:
        assert str(change).startswith(f"c: {said}")
        assert "stop `faultline ui` and run `faultline refresh --forget c --yes`: it deletes all" in str(change)


def exchange(key: Path) -> None:
    key.rename(key.with_name("copy"))
    make_key(key)


@pytest.mark.parametrize("kind", ["key changed", pytest.param("switched on", marks=pytest.mark.slow)])
def test_it_is_left_out_until_it_is_set_back_or_forgotten(kind, place):
    home = place.home
    before = PLAIN if kind == "switched on" else PRIVATE
    place.configure(before)
    assert place.read() == {}
    users, state = place.users(), place.state()
    assert state == {CLUSTER: "plain" if before == PLAIN else key_id(read_key(place.key)), OTHER: "plain"}
    assert (files_with_names(home) != []) is (before == PLAIN)

    place.configure(PRIVATE)
    if before == PRIVATE:
        exchange(place.key)
    (home.sources / CLUSTER / "sacct" / "new.psv").write_text(export(numbered([9], User="new")))
    assert place.read().keys() == {CLUSTER}
    assert (place.users(), place.state()) == (users, state), "it is not read, and the home is as it was"
    assert ask(home.working_file, "select cluster_id from raw.clusters") == [(OTHER,)]
    quoted = f"insert into ops.cluster_failures values ('r', '{CLUSTER}', 'raw', '{MARK}', now()::timestamp)"
    change(home.working_file, quoted)
    with Warehouse(str(home.working_file), str(home.build_file)).writing() as con:
        complete_publication(con)
    assert names_in(rows_of_duckdb(home.build_file)) == []
    assert ask(home.build_file, "select cluster_id, stage from ops.cluster_failures") == [(CLUSTER, "privacy")]
    assert ask(home.build_file, "select distinct cluster_id from ops.files") == [(OTHER,)]

    place.configure(before)
    if before == PRIVATE:
        place.key.with_name("copy").replace(place.key)
    assert place.read() == {}
    assert len(place.users()) == 2, "set back, it is read on"

    place.configure(PRIVATE)
    if before == PRIVATE:
        exchange(place.key)
    for left in WRITTEN:
        (home.root / left).parent.mkdir(parents=True, exist_ok=True)
        (home.root / left).write_text(f"{MARK}left")
    (home.dagster / "dagster.yaml").write_text("telemetry:\n  enabled: false\n")
    users = place.users()
    assert f"{CLUSTER}/sacct/a.psv: 2 lines {CLUSTER}/sacct/new.psv: 1 line would be forgotten" in place.forget()
    assert (place.users(), place.state()) == (users, state)
    assert "all publications, reports, logs of runs, alerts sent and Dagster's history" in place.forget("--yes")
    assert files_with_names(home) == []
    assert [left for left in WRITTEN if (home.root / left).exists()] == []
    assert (home.dagster / "dagster.yaml").exists()
    assert ask(home.working_file, "select cluster_id from raw.sacct union select cluster_id from ops.files") == [
        (OTHER,)
    ]
    assert place.state() == {OTHER: "plain"}

    assert place.read() == {}
    assert files_with_names(home) == []
    assert len(place.users()) == 2
    assert not place.users() & users
    assert all(user.startswith("user-") for user in place.users())


def test_where_privacy_json_is_lost_the_tables_say_it_and_where_these_are_lost_it_does(place):
    place.configure(PRIVATE)
    place.read()
    state = place.state()
    place.home.privacy.write_text("[]")
    assert place.read() == {}
    assert place.state() == state
    place.home.privacy.unlink()
    place.configure(PLAIN)
    assert place.read().keys() == {CLUSTER}
    place.home.working_file.rename(place.home.working_file.with_name("faultline.duckdb.damaged-1"))
    assert place.read().keys() == {CLUSTER}
    place.forget("--yes")
    assert (files_with_names(place.home), place.state()) == ([], {OTHER: "plain"})


def test_what_was_interrupted_is_done_again(place, monkeypatch):
    place.read()
    place.home.privacy.unlink()
    place.configure(PRIVATE)
    (place.home.work / "left").write_text(MARK)

    def stop(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(forgetting, "remove", stop)
        forgetting.forget(place.home, [CLUSTER], is_confirmed=True)
    assert place.read().keys() == {CLUSTER}
    forgetting.forget(place.home, [CLUSTER], is_confirmed=True)
    assert files_with_names(place.home) == []


def test_a_cluster_whose_settings_are_wrong_stays_as_it_is_and_where_all_changed_the_step_fails(place):
    place.configure(PRIVATE)
    place.read()
    state = place.state()
    place.configure("privcy = 1\n")
    assert "unknown key 'privcy'" in place.read()[CLUSTER]
    assert place.state() == state
    shutil.rmtree(place.home.sources / OTHER)
    place.configure(PLAIN)
    with pytest.raises(Exception, match="privacy is switched off"):
        place.read()


def test_a_key_with_the_data_is_refused(place):
    place.key = place.home.root / "keys" / "privacy.key"
    place.configure(PRIVATE)
    with pytest.raises(WrongKey, match=r"lies in the home .*FAULTLINE_PRIVACY_KEY_FILE"):
        place.read()
    assert not place.home.privacy.exists()


def test_a_key_is_for_its_owner_alone(tmp_path):
    file = tmp_path / "keys" / "privacy.key"
    assert read_key(file) is None
    key = make_key(file)
    assert (read_key(file), len(key)) == (key, 64)
    file.chmod(0o640)
    with pytest.raises(WrongKey, match="chmod 600"):
        read_key(file)
    file.chmod(0o600)
    file.write_text("k" * 32)
    assert read_key(file) == "k" * 32
    file.write_text("k" * 31)
    with pytest.raises(WrongKey, match="fewer than 32 characters"):
        read_key(file)
