"""Switching pseudonyms on, off and to another key: what is deleted, what is said, and what an interruption leaves."""

import shutil
from pathlib import Path

import duckdb
import pytest

from assets.raw import pseudonymous_copy
from assets.sources.text.privacy_key import WrongKey, key_id, make_key, read_key
from assets.warehouse import Warehouse
from orchestration.environment import HomeSettings
from orchestration.home import Home
from orchestration.refresh import privacy
from orchestration.refresh.privacy import follow_privacy
from orchestration.upkeep.privacy import PrivacyChanged, change_of, read_state, require_no_change
from tests.homes import ask

NAME = "zqxvalice"


@pytest.fixture
def settings(tmp_path: Path) -> HomeSettings:
    """A home that holds a plain name wherever a run writes one, of a cluster that wants pseudonyms."""
    home = Home.at(tmp_path / "home")
    (home.sources / "c1" / "sacct").mkdir(parents=True)
    (home.sources / "c2" / "sacct").mkdir(parents=True)
    (home.sources / "c1" / "cluster.toml").write_text('privacy = "pseudonymous"\n', encoding="utf-8")
    with Warehouse(path=str(home.working_file)).writing() as con:
        for cluster in ("c1", "c2"):
            con.execute(
                "insert into raw.node_events by name select ? as cluster_id, 'p' as path, 1 as line_number,"
                " 'loaded' as disposition, 'node' as event_kind, timestamp '2024-05-01' as started_at, ? as reason",
                [cluster, f"gpu bad, {NAME}"],
            )
    for place in (
        home.publications / "r1" / "report" / "index.html",
        home.work / "faultline.duckdb.damaged-20240501T000000Z",
        home.work / "unexpected-error.txt",
        home.dagster / "history" / "runs.db",
        home.work / "reading-x" / "0.txt",
    ):
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(NAME, encoding="utf-8")
    (home.dagster / "dagster.yaml").write_text("telemetry:\n  enabled: false\n", encoding="utf-8")
    return HomeSettings(home, privacy_key=tmp_path / "keys" / "privacy.key")


def reasons(home: Home) -> dict[str, str]:
    """Return the reason of each cluster's event."""
    return dict(ask(home.working_file, "select cluster_id, reason from raw.node_events"))


def files_with_the_name(home: Home) -> list[str]:
    """List the files beside the sources that hold the name; the other cluster's stays in the working file."""
    return [
        path.name
        for path in home.root.rglob("*")
        if path.is_file() and path != home.working_file and NAME.encode() in path.read_bytes()
    ]


def test_switching_on_hashes_and_deletes(settings: HomeSettings) -> None:
    home, said = settings.home, list[str]()
    with pytest.raises(PrivacyChanged, match="stop `faultline ui` and run `faultline refresh` once"):
        require_no_change(home, settings.privacy_key)
    follow_privacy(settings, said.append)
    assert said[0].startswith(f"the key of pseudonyms was made: {settings.privacy_key}")
    assert said[1] == (
        "privacy of c1 is switched on; deleted: 1 damaged copy, the logs of runs, Dagster's history; the logs are read"
        " again"
    )
    assert reasons(home)["c2"] == f"gpu bad, {NAME}"
    assert reasons(home)["c1"].startswith("gpu bad, x #")
    assert files_with_the_name(home) == []
    assert (home.dagster / "dagster.yaml").exists()
    key = read_key(settings.privacy_key)
    assert key is not None
    assert read_state(home) == {"c1": key_id(key)}
    said.clear()
    follow_privacy(settings, said.append)
    require_no_change(home, settings.privacy_key)
    assert said == []


def test_what_was_interrupted_is_done_again(settings: HomeSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(_home: Home) -> list[str]:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(privacy, "_delete_what_runs_wrote", stop)
        follow_privacy(settings, lambda _: None)
    once = reasons(settings.home)
    assert read_state(settings.home) == {}
    follow_privacy(settings, lambda _: None)
    assert reasons(settings.home) == once, "a pseudonym is not hashed again"
    assert files_with_the_name(settings.home) == []
    assert read_state(settings.home).keys() == {"c1"}


@pytest.mark.parametrize(
    "error",
    [
        duckdb.OutOfMemoryException("Out of Memory Error: could not allocate"),
        duckdb.InterruptException("INTERRUPT Error: Interrupted!"),
        duckdb.ConversionException("Conversion Error: Could not convert string 'Corrupt database file'"),
        duckdb.InternalException("INTERNAL Error: of the statement, not of the file"),
        KeyboardInterrupt(),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_without_damage_leaves_the_working_file(
    settings: HomeSettings, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def stop(*_: object) -> int:
        raise error

    make_key(settings.privacy_key)
    monkeypatch.setattr(pseudonymous_copy, "copy_with_pseudonyms", stop)
    with pytest.raises(type(error)):
        follow_privacy(settings, pytest.fail)
    assert reasons(settings.home) == {cluster: f"gpu bad, {NAME}" for cluster in ("c1", "c2")}
    assert read_state(settings.home) == {}


def test_a_damaged_working_file_is_built_again_and_its_lost_files_are_counted(settings: HomeSettings) -> None:
    home, said = settings.home, list[str]()
    make_key(settings.privacy_key)
    with Warehouse(path=str(home.working_file)).writing() as con:
        con.execute("create or replace table ops.files as select 'c1/sacct/gone' as path, 1 as loaded")
    home.published_file.parent.mkdir(parents=True)
    shutil.copy(home.working_file, home.published_file)
    home.working_file.write_bytes(b"no database")
    follow_privacy(settings, said.append)
    assert said[0].endswith("lost, because gone from the sources folder: 1 file")
    assert not home.working_file.exists()
    assert files_with_the_name(home) == []


def test_a_lost_key_is_told_and_switching_off_too(settings: HomeSettings) -> None:
    said = list[str]()
    follow_privacy(settings, said.append)
    settings.privacy_key.unlink()
    change = change_of(settings.home, settings.privacy_key)
    assert change is not None
    assert change.rekeyed == ["c1"]
    follow_privacy(settings, said.append)
    assert "the key of c1 is another one, so all pseudonyms change" in said[-1]
    (settings.home.sources / "c1" / "cluster.toml").write_text("", encoding="utf-8")
    follow_privacy(settings, said.append)
    assert said[-1].startswith("privacy of c1 is switched off in cluster.toml: users, accounts, job names and the text")
    assert read_state(settings.home) == {}


def test_a_cluster_whose_settings_are_wrong_stays_as_it_is(settings: HomeSettings) -> None:
    follow_privacy(settings, lambda _: None)
    (settings.home.sources / "c1" / "cluster.toml").write_text("privcy = 1\n", encoding="utf-8")
    assert change_of(settings.home, settings.privacy_key) is None


def test_a_key_with_the_data_is_refused(settings: HomeSettings) -> None:
    inside = HomeSettings(settings.home, privacy_key=settings.home.root / "keys" / "privacy.key")
    with pytest.raises(WrongKey, match=r"lies in the home .*FAULTLINE_PRIVACY_KEY_FILE"):
        follow_privacy(inside, lambda _: None)
    assert reasons(settings.home)["c1"] == f"gpu bad, {NAME}"


def test_a_key_is_for_its_owner_alone(tmp_path: Path) -> None:
    file = tmp_path / "keys" / "privacy.key"
    assert read_key(file) is None
    key = make_key(file)
    assert (read_key(file), len(key)) == (key, 64)
    file.chmod(0o640)
    with pytest.raises(WrongKey, match="chmod 600"):
        read_key(file)
    file.chmod(0o600)
    file.write_text("short", encoding="utf-8")
    with pytest.raises(WrongKey, match="fewer than 32 characters"):
        read_key(file)
