"""Each event is told once, whoever finds it and whatever the channels do; nothing that is told has a secret."""

import json
import os
import sqlite3
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from threading import Barrier, Thread
from threading import Event as Signal
from time import time
from types import SimpleNamespace

import duckdb
import pytest
from typer.testing import CliRunner

from orchestration.alert_settings import AlertSettings
from orchestration.alerts import events, sending
from orchestration.alerts.channels import Message
from orchestration.alerts.ledger import Event, Ledger, copy_alerts
from orchestration.alerts.sending import (
    all_channels,
    send_test,
    tell_if_stale,
    tell_of_failure,
    tell_of_publication,
)
from orchestration.cli import app
from orchestration.doctor.doctor import alert_findings
from orchestration.environment import HomeSettings, WrongSetting, read_settings
from orchestration.publication.folders import publish
from tests.orchestration.alerts.receivers import keeping_program, web_server

END = datetime(2026, 3, 1)


@pytest.fixture
def web():
    with web_server() as web:
        yield web


@pytest.fixture
def home(small_home):
    write(small_home, "update marts.dim_clusters set data_through_at = ?, is_simulated = cluster_id = 'beta'", [END])
    return small_home


@pytest.fixture
def settings(home, web):
    return HomeSettings(home, alerts=AlertSettings(webhook=web.address))


@pytest.fixture
def said():
    return []


def write(home, sql, values=()):
    with duckdb.connect(str(home.published_file)) as con:
        con.execute(sql, list(values))


def tell(settings, said=None):
    tell_of_publication(settings, [].append if said is None else said.append)


def test_lemons_and_changes_of_a_first_publication_are_told_once(settings, web, said):
    tell(settings, said)
    tell(settings, said)
    assert said == []
    by_title = {text.splitlines()[0]: text.splitlines()[1:] for text in web.texts}
    assert by_title["alpha: new lemon"] == [
        "node001: lemon, probability 99.0%; 90.0 failures per 1,000 node-days [45.0, 180], 90%; 8 failures"
    ]
    assert by_title["alpha: the failure rate changed (2)"] == [
        "all failures: since 2026-01-10 2 incidents per 1,000 node-days, before 1, 2 [1.1, unknown] times",
        "all failures: since 2026-02-10 4 incidents per 1,000 node-days, before 2, 2 [1.1, unknown] times",
    ]
    assert len(web.texts) == len(by_title) == 3
    assert any("(simulated)" in title for title in by_title)


def test_old_changes_of_a_cluster_that_is_new_here_are_history(settings, home, web):
    write(home, "update marts.dim_clusters set data_through_at = timestamp '2026-05-01'")
    tell(settings)
    changes = [text for text in web.texts if "rate changed" in text]
    assert all("2026-02-10" in text and "2026-01-10" not in text for text in changes)
    assert len(changes) == 2
    # Later, whatever is found is new, however long ago it was.
    web.bodies.clear()
    write(home, "update estimates.est_rate_changes set failure_category = 'pcie' where changed_at < '2026-02-01'")
    tell(settings)
    assert [text.splitlines()[1].startswith("pcie: since 2026-01-10") for text in web.texts] == [True, True]


def test_a_change_is_cluster_kind_and_month(settings, home, web):
    tell(settings)
    web.bodies.clear()
    write(home, "update estimates.est_rate_changes set changed_at = changed_at + interval 3 day")
    tell(settings)
    assert web.texts == []
    write(home, "update estimates.est_rate_changes set changed_at = '2026-03-02' where changed_at > '2026-02-01'")
    tell(settings)
    assert len(web.texts) == 2


@pytest.mark.parametrize(("quiet_days", "is_told_again"), [(27, False), (28, True), (-40, False)])
def test_a_lemon_is_told_again_after_28_quiet_days_of_data(settings, home, web, quiet_days, is_told_again):
    tell(settings)
    write(home, "update estimates.est_lemon_nodes set verdict = 'ok'")
    tell(settings)
    web.bodies.clear()
    write(home, "update marts.dim_clusters set data_through_at = ?", [END + timedelta(days=quiet_days)])
    write(home, "update estimates.est_lemon_nodes set verdict = 'lemon' where node_id = 'node001'")
    tell(settings)
    assert [text.splitlines()[0] for text in web.texts] == ["alpha: new lemon"] * is_told_again


def test_a_lemon_that_stays_on_the_list_is_not_told_again(settings, home, web):
    for night in range(0, 80, 20):
        write(home, "update marts.dim_clusters set data_through_at = ?", [END + timedelta(days=night)])
        tell(settings)
    assert sum("new lemon" in text for text in web.texts) == 1


def test_a_cluster_that_cannot_be_built_is_told_once_until_it_was_built_again(settings, home, web):
    failing = "insert into ops.cluster_failures values ('run-1', 'alpha', 'sources', ?, timestamp '2026-01-03')"
    write(home, failing, ["all.psv cannot be read"])
    stale = "update marts.dim_clusters set is_stale = ?, built_at = ? where cluster_id = 'alpha'"
    write(home, stale, [True, datetime(2026, 1, 2, 2)])
    tell(settings)
    tell(settings)
    (text,) = [text for text in web.texts if text.startswith("alpha: no new numbers")]
    assert text.splitlines()[1] == (
        "it could not be built and keeps its numbers of 2026-01-02 02:00 UTC: all.psv cannot be read"
    )
    assert not [text for text in web.texts if text.startswith(("alpha: new lemon", "alpha: the failure rate"))]
    write(home, stale, [True, datetime(2026, 1, 9, 2)])
    tell(settings)
    assert sum("could not be built" in text for text in web.texts) == 2


def test_a_cluster_that_cannot_be_fetched_is_told_once_until_it_was_fetched_again(settings, home, web):
    stale = "update marts.dim_clusters set is_stale = ?, stale_reason = ?, built_at = ? where cluster_id = 'alpha'"
    reason = "its logs could not be fetched from Slurm: sacct: Connection refused"
    write(home, stale, [True, reason, datetime(2026, 2, 27, 2)])
    tell(settings)
    tell(settings)
    (text,) = [text for text in web.texts if text.startswith("alpha:")]
    assert text.splitlines() == ["alpha: no new numbers", f"{reason}; its accounting ends 2026-02-27 02:00 UTC"]
    write(home, stale, [False, None, datetime(2026, 2, 28, 2)])
    tell(settings)
    write(home, stale, [True, reason, datetime(2026, 2, 28, 2)])
    tell(settings)
    assert sum("could not be fetched" in text for text in web.texts) == 2


def test_a_cluster_of_which_nothing_was_ever_fetched_is_told_once(settings, home, web):
    nothing = "update marts.dim_clusters set is_stale = true, stale_reason = 'ssh failed', data_through_at = null"
    for tried_at in (datetime(2026, 2, 27, 2), datetime(2026, 2, 28, 2)):
        write(home, f"{nothing}, built_at = ? where cluster_id = 'alpha'", [tried_at])
        tell(settings)
    (text,) = [text for text in web.texts if text.startswith("alpha:")]
    assert text.splitlines()[1] == "ssh failed; none of its accounting is there yet"


def test_processes_that_find_the_same_at_once_tell_it_once(settings, web):
    together = Barrier(4)

    def find():
        together.wait()
        tell_of_failure(settings, "disk full", "run-7", print)

    threads = [Thread(target=find) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(web.texts) == 1


def test_a_failure_is_its_run_and_without_a_run_one_message_a_day(settings, web, said):
    for message, run in (("a", "run-1"), ("b", "run-1"), ("a", "run-2"), ("a", None), ("a", None), ("b", None)):
        tell_of_failure(settings, message, run, said.append)
    assert len(web.texts) == 4
    assert said == []


def test_what_certainly_did_not_arrive_is_sent_again_for_a_day(settings, home, web, said):
    web.status = 500
    tell_of_failure(settings, "disk full", "run-1", said.append)
    (line,) = said
    assert "alert not delivered by webhook: 127.0.0.1 answered 500; it is tried again" in line
    assert "hunter2" not in line
    (finding,) = alert_findings(home)
    assert "127.0.0.1 answered 500" in finding.what
    web.status = 200
    tell(settings)
    assert sum("disk full" in text for text in web.texts) == 1
    assert alert_findings(home) == []
    tell(settings)
    assert sum("disk full" in text for text in web.texts) == 1


def test_nothing_is_sent_again_after_a_day_or_five_attempts(settings, home, web, said):
    web.status = 500
    tell_of_failure(settings, "disk full", "run-1", said.append)
    for _ in range(9):
        tell_of_failure(settings, "disk full", "run-1", said.append)
    assert len(said) == 5
    tell_of_failure(settings, "disk full", "run-2", said.append)
    with sqlite3.connect(home.alerts) as con:
        con.execute("update events set claimed_at = '2026-01-01' where key = 'failure:run-2'")
    web.status = 200
    tell_if_stale(settings, said.append)
    assert web.texts == []


def test_what_may_have_arrived_is_not_sent_again(settings, web, said, monkeypatch):
    monkeypatch.setattr("orchestration.alerts.channels.SECONDS", 0.3)
    web.wait.clear()
    tell_of_failure(settings, "disk full", "run-1", said.append)
    assert "it is not sent again" in said[0]
    web.wait.set()
    monkeypatch.setattr("orchestration.alerts.channels.SECONDS", 10)
    tell_of_failure(settings, "disk full", "run-1", said.append)
    assert sum("disk full" in text for text in web.texts) <= 1


def test_a_process_that_died_between_claim_and_sending_told_nothing_and_nobody_tells_it_twice(settings, home, web):
    Ledger(home.alerts).claim(
        [Event("failure:run-1", "failure", None, "x", "disk full")], {"failure:run-1": ["webhook"]}
    )
    tell_of_failure(settings, "disk full", "run-1", print)
    assert web.texts == []


def test_no_channel_no_file(home, said):
    tell(HomeSettings(home), said)
    assert not home.alerts.exists()
    assert said == []


def test_whatever_a_channel_does_the_refresh_goes_on(settings, home, said, monkeypatch):
    def explode(*_):
        raise RuntimeError("hunter2")

    monkeypatch.setattr("orchestration.alerts.channels.Webhook.send", explode)
    tell_of_failure(settings, "disk full", "run-1", said.append)
    assert "unexpected RuntimeError" in said[0]
    assert "hunter2" not in said[0]
    home.alerts.write_bytes(b"garbage" * 1000)
    tell_of_failure(settings, "disk full", "run-2", said.append)
    assert "alerts could not be sent" in said[1]
    assert "remove the file" in alert_findings(home)[0].next_step


def test_no_secret_of_a_message_goes_out(settings, web):
    tell_of_failure(settings, "could not read: password=swordfish1", "run-1", print)
    assert "swordfish1" not in web.texts[0]


def test_only_the_kinds_of_the_setting_are_told(settings, web):
    own = replace(settings, alerts=replace(settings.alerts, kinds=("failure",)))
    tell(own)
    assert web.texts == []
    tell_of_failure(own, "disk full", "run-1", print)
    assert len(web.texts) == 1


def cluster_file(home, text):
    file = home.sources / "alpha" / "cluster.toml"
    file.write_text(text)
    file.chmod(0o600)
    file.parent.chmod(0o700)
    return file


def test_a_clusters_own_channels_get_its_events_and_no_others(home, web, tmp_path, said):
    words, kept = keeping_program(tmp_path)
    cluster_file(
        home,
        f"[alerts]\non = ['lemon']\nwebhook = '{web.address}'\ncommand = {json.dumps([*words, '0'])}\n",
    )
    settings = HomeSettings(home)
    tell(settings, said)
    tell_of_failure(settings, "disk full", "run-1", said.append)
    assert said == []
    assert [text.splitlines()[0] for text in web.texts] == ["alpha: new lemon"]
    assert [json.loads(line)["kind"] for line in kept.read_text().splitlines()] == ["lemon"]
    assert [channel.name for channel, _ in all_channels(settings)] == ["alpha/webhook", "alpha/command"]


@pytest.mark.parametrize("what", ["file", "folder"])
def test_a_command_in_a_file_that_others_may_write_is_not_run(home, tmp_path, what):
    words, kept = keeping_program(tmp_path)
    file = cluster_file(home, f"[alerts]\ncommand = {json.dumps([*words, '0'])}\n")
    (file if what == "file" else file.parent).chmod(0o777)
    tell(HomeSettings(home))
    assert not kept.exists()
    (file if what == "file" else file.parent).chmod(0o700)
    home.alerts.unlink()
    tell(HomeSettings(home))
    assert kept.exists()


def old_publication(home, hours):
    report = home.working_reports / "latest"
    report.mkdir(parents=True)
    (report / "index.html").write_text("page")
    publication = publish(home, "run-2", "0.1.0+abc", home.published_file, report)
    file = publication.folder / "publication.json"
    written = json.loads(file.read_text())
    moment = datetime.now(UTC) - timedelta(hours=hours)
    file.write_text(json.dumps(written | {"published_at": moment.isoformat(timespec="seconds")}))


def test_a_stale_night_is_told_once_per_publication(settings, home, web, said):
    old_publication(home, 37)
    event = tell_if_stale(settings, said.append)
    assert tell_if_stale(settings, said.append) == event
    (text,) = web.texts
    assert "more than 36 hours ago" in text
    assert "no new logs came, or no refresh was started" in text or "`faultline status` says more" in text
    assert tell_if_stale(replace(settings, freshness_hours=38), said.append) is None
    assert said == []


@pytest.mark.parametrize("days", [1, 3])
def test_a_publication_without_a_moment_is_as_old_as_its_file(settings, home, monkeypatch, days):
    old_publication(home, 0)
    moment = time() - 86_400 * days
    os.utime(home.current / "faultline.duckdb", (moment, moment))
    lost = replace(events.newest_publication(home), published_at="")
    monkeypatch.setattr(events, "newest_publication", lambda _: lost)
    assert (tell_if_stale(settings, pytest.fail) is None) == (days == 1)


def test_a_home_without_any_publication_is_stale_once_it_is_old_enough(tmp_path):
    home = HomeSettings(events.Home.at(tmp_path))
    for folder in (home.home.root, home.home.dagster):
        folder.mkdir(exist_ok=True)
        assert events.stale_event(home.home, 36) is None
        assert "nothing was ever published" in events.stale_event(home.home, -1).line


def test_the_check_for_a_stale_night_fails_where_there_is_no_home(tmp_path):
    done = run(events.Home.at(tmp_path / "none"), "status", "--alert")
    assert done.exit_code == 1
    assert "there is no home" in done.stderr


def run(home, *arguments, **environment):
    return CliRunner().invoke(app, [*arguments, "--home", str(home.root)], env=environment)


def test_status_alert_is_for_cron(home, web):
    old_publication(home, 40)
    for _ in range(2):
        result = run(home, "status", "--alert", FAULTLINE_ALERT_WEBHOOK=web.address)
        assert result.exit_code == 1
        assert "more than 36 hours ago" in result.stderr
        assert result.stdout == ""
    assert len(web.texts) == 1
    result = run(home, "status", "--alert", FAULTLINE_FRESHNESS_HOURS="48", FAULTLINE_ALERT_WEBHOOK=web.address)
    assert (result.exit_code, result.output) == (0, "")


def test_a_refresh_whose_home_is_not_there_is_told_and_makes_no_folder(tmp_path, web):
    home = events.Home.at(tmp_path / "not mounted")
    for times in (1, 2):
        result = run(home, "refresh", FAULTLINE_ALERT_WEBHOOK=web.address)
        assert result.exit_code == 1
        assert len(web.texts) == times
    assert "the refresh failed" in web.texts[0]
    assert not home.root.exists()
    web.status = 500
    result = run(home, "refresh", FAULTLINE_ALERT_WEBHOOK=web.address)
    assert "alert not delivered by webhook: 127.0.0.1 answered 500" in result.stderr
    assert result.exit_code == 1


def test_the_test_tries_every_channel_and_says_which_does_not_work(home, web, tmp_path):
    words, kept = keeping_program(tmp_path)
    both = {"FAULTLINE_ALERT_WEBHOOK": web.address, "FAULTLINE_ALERT_COMMAND": f"{words[0]} '{words[1]}' 0"}
    result = run(home, "alerts", "--test", **both)
    assert (result.exit_code, result.stdout) == (0, "webhook: sent\ncommand: sent\n")
    assert "this is a test" in web.texts[0].lower()
    assert json.loads(kept.read_text())["kind"] == "test"
    web.status = 403
    result = run(home, "alerts", "--test", "--json", **both)
    assert result.exit_code == 1
    assert json.loads(result.stdout) == [
        {"channel": "webhook", "problem": "127.0.0.1 answered 403"}, {"channel": "command", "problem": None},
    ]  # fmt: skip
    assert run(home, "alerts", "--test").exit_code == 1


def test_the_test_tries_the_channels_of_clusters_whose_logs_lie_elsewhere(home, tmp_path):
    words, kept = keeping_program(tmp_path)
    cluster = tmp_path / "logs" / "alpha"
    cluster.mkdir(parents=True)
    (cluster / "cluster.toml").write_text(f"[alerts]\ncommand = {json.dumps([*words, '0'])}\n")
    assert run(home, "alerts", "--test", "--sources", str(tmp_path / "logs")).exit_code == 0
    assert json.loads(kept.read_text())["cluster_id"] == "alpha"


def test_alerts_lists_what_was_sent(settings, home, web):
    tell(settings)
    result = run(home, "alerts", FAULTLINE_ALERT_WEBHOOK=web.address)
    assert result.stdout.startswith("channels   webhook\n")
    assert "webhook: delivered  lemon alpha node001" in result.stdout
    assert "hunter2" not in result.stdout


def test_what_was_told_stands_in_ops_at_the_next_publication(settings, home, web, warehouse):
    web.status = 404
    tell_of_failure(settings, "disk full", "run-1", [].append)
    web.status = 200
    tell(settings)
    with warehouse.writing() as con:
        for _ in range(2):
            copy_alerts(con, home)
        rows = con.execute("select event_key, channel, status, attempt_count, error from ops.alerts").fetchall()
    assert ("failure:run-1", "webhook", "delivered", 2, None) in rows
    assert len(rows) == 6
    assert send_test(replace(settings, alerts=AlertSettings())) == []
    assert "hunter2" not in str(rows)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("FAULTLINE_ALERT_WEBHOOK", "ftp://example.org/hunter2"),
        ("FAULTLINE_ALERT_EMAIL", "ana"),
        ("FAULTLINE_ALERT_COMMAND", "page 'hunter2"),
        ("FAULTLINE_ALERT_ON", "failure,everything"),
        ("FAULTLINE_SMTP", "mail.example.org"),
        ("FAULTLINE_SMTP", "smtp://ana:hunter2@mail.example.org"),
        ("FAULTLINE_SMTP", "smtp://mail.example.org:port"),
    ],
)
def test_a_wrong_setting_is_named_without_its_secret(monkeypatch, tmp_path, variable, value):
    monkeypatch.setenv(variable, value)
    with pytest.raises(WrongSetting, match=variable) as told:
        read_settings(tmp_path)
    assert "hunter2" not in str(told.value)


def test_settings_show_no_secret(monkeypatch, tmp_path):
    for name, value in {
        "FAULTLINE_ALERT_WEBHOOK": "https://hooks.example.org/hunter2",
        "FAULTLINE_ALERT_COMMAND": "page --key hunter2",
        "FAULTLINE_SMTP": "smtps://ana%40example.org@mail.example.org",
        "FAULTLINE_SMTP_PASSWORD": "hunter2",
    }.items():
        monkeypatch.setenv(name, value)
    settings = read_settings(tmp_path)
    assert "hunter2" not in repr(settings)
    server = settings.alerts.mail_server
    assert (server.user, server.host, server.port, server.is_tls) == ("ana@example.org", "mail.example.org", 465, True)


def test_a_wrong_webhook_of_a_cluster_is_told_without_it(home):
    from assets.sources.settings import read_settings as read_cluster

    cluster_file(home, "[alerts]\nwebhook = 'hooks.example.org/hunter2'\nemail = ['ana']\n")
    _, errors = read_cluster(home.sources / "alpha", "alpha")
    assert len(errors) == 2
    assert "hunter2" not in str(errors)


def test_root_owned_and_own_files_are_trusted(tmp_path):
    file = tmp_path / "cluster.toml"
    file.write_text("")
    file.chmod(0o640)
    tmp_path.chmod(0o755)
    assert sending._only_we_may_write(file)
    assert file.stat().st_uid == os.geteuid()


def test_a_server_that_sends_a_byte_now_and_then_does_not_hold_a_refresh_up(monkeypatch):
    monkeypatch.setattr(sending, "MAX_SECONDS", 0.2)
    never = Signal()
    channel = SimpleNamespace(name="email", send=lambda _message: never.wait(30))
    started = time()
    assert sending._problem_of(channel, Message("test", None, "t", "t", "h")) == ("uncertain", "no end after 0.2 s")
    assert time() - started < 10
    never.set()
