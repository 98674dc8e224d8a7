"""Each event is told once, whoever finds it and whatever the channels do; nothing that is told has a secret."""

import json
import sqlite3
from datetime import datetime, timedelta
from threading import Barrier, Thread
from threading import Event as Signal
from time import time
from types import SimpleNamespace

import pytest

from orchestration.alerts import sending
from orchestration.alerts.channels import Message
from orchestration.alerts.ledger import Event, Ledger, copy_alerts
from orchestration.alerts.sending import all_channels, send_test, tell_if_stale, tell_of_failure, tell_of_publication
from orchestration.doctor.doctor import alert_findings
from orchestration.doctor.sources import sources_findings
from orchestration.environment import HomeSettings
from orchestration.refresh.wrong_settings import tell_wrong_settings
from tests.orchestration.alerts.homes import END, cluster_file, write
from tests.orchestration.alerts.receivers import keeping_program
from tests.patience import PATIENCE_SECONDS


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
        "all failures: since 2026-01-10 2 [1, 4] incidents per 1,000 node-days, before 1 [0.5, 2], "
        "2 [1.1, unknown] times",
        "all failures: since 2026-02-10 4 [2, 8] incidents per 1,000 node-days, before 2 [1, 4], "
        "2 [1.1, unknown] times",
    ]
    assert len(web.texts) == len(by_title) == 4
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


def test_a_budget_that_burns_is_told_once_a_month_and_pace(settings, home, web):
    tell(settings)
    (text,) = [text for text in web.texts if "error budget" in text]
    assert text.splitlines() == [
        "alpha: the error budget burns",
        "fast burn, in failed node-hours against those that the objective of 99% allows: 5 over 1 day, 5 over 3 days, "
        "unknown over 7 days, unknown over 28 days; 521% of the budget of the month's hours so far is used",
    ]
    web.bodies.clear()
    tell(settings)
    assert web.texts == []
    write(home, "update marts.agg_availability_monthly set burn_pace = 'medium', error_budget_left_high = null")
    tell(settings)
    assert [text.splitlines()[0] for text in web.texts] == ["alpha: the error budget burns"]
    assert web.texts[0].endswith("an unknown part of the budget of the month's hours so far is used")
    # A month later nothing burns any more, and the month before is history.
    write(home, "insert into marts.agg_availability_monthly by name select 'alpha' as cluster_id, "
                "date '2026-02-01' as month_date, 0.99 as objective")  # fmt: skip
    write(home, "update marts.agg_availability_monthly set burn_pace = 'slow' where month_date = '2026-01-01'")
    web.bodies.clear()
    tell(settings)
    assert web.texts == []


def test_a_publication_of_a_version_without_the_table_still_tells_the_rest(settings, home, web):
    write(home, "drop table marts.agg_availability_monthly")
    tell(settings)
    assert any("new lemon" in text for text in web.texts)


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


@pytest.mark.parametrize("names", ["shown", "hidden"])
def test_words_of_errors_are_hidden_where_names_are(settings, home, web, names):
    rows = "select unnest(['alpha', 'beta']) as cluster_id, ? as report_names"
    write(home, f"create or replace table raw.clusters as {rows}", [names])
    failing = "insert into ops.cluster_failures values ('run-1', 'alpha', 'sources', ?, timestamp '2026-01-03')"
    write(home, failing, ["marts.fct_node_outages: reason zebulon-planted"])
    stale = "update marts.dim_clusters set is_stale = true, stale_reason = ? where cluster_id = 'beta'"
    write(home, stale, ["zebulon-planted"])
    check = "'run-1', 'estimates.est_repairs', 'computed', false, false, ?, '', timestamp '2026-01-03', null"
    write(home, f"insert into ops.checks values ({check})", ["KeyError: zebulon-planted"])
    tell(settings)
    sent = b"".join(web.bodies).decode()
    assert all(
        words in sent for words in ("could not be built", "beta (simulated): no new numbers", "could not be computed")
    )
    assert ("zebulon" in sent) == (names == "shown")


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
    mail = Event("failure:run-0", "failure", None, "the refresh failed", "disk full")
    Ledger(home.alerts).claim([mail], {mail.key: ["email", "alpha/email"]})
    for channel in ("email", "alpha/email"):
        Ledger(home.alerts).record([mail], channel, "failed", "by an earlier version")
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


def test_a_failure_is_an_alert_although_the_ledger_cannot_be_used(settings, home, web, said):
    home.alerts.parent.mkdir()
    home.alerts.write_bytes(b"garbage" * 1000)
    tell_of_failure(settings, "disk full", "run-2", said.append)
    assert "alerts could not be sent" in said[0]
    assert [text.splitlines()[1] for text in web.texts] == ["disk full"]
    assert "remove the file" in alert_findings(home)[0].next_step


def test_no_secret_of_a_message_goes_out(settings, web):
    tell_of_failure(settings, "could not read: password=swordfish1", "run-1", print)
    assert "swordfish1" not in web.texts[0]


def test_a_clusters_own_channels_get_its_events_and_no_others(home, web, tmp_path, said):
    words, kept = keeping_program(tmp_path)
    cluster_file(home, f"[alerts]\non = ['lemon']\nwebhook = '{web.address}'\ncommand = {json.dumps([*words, '0'])}\n")
    settings = HomeSettings(home)
    tell(settings, said)
    tell_of_failure(settings, "disk full", "run-1", said.append)
    assert said == []
    assert [text.splitlines()[0] for text in web.texts] == ["alpha: new lemon"]
    assert [json.loads(line)["kind"] for line in kept.read_text().splitlines()] == ["lemon"]
    assert [channel.name for channel, _ in all_channels(settings)] == ["alpha/webhook", "alpha/command"]


@pytest.mark.parametrize("what", ["file", "folder"])
def test_channels_in_a_file_that_others_may_write_are_not_used_and_the_refusal_is_told(
    home, web, tmp_path, said, capsys, what
):
    words, kept = keeping_program(tmp_path)
    (tmp_path / "secret").write_text(web.address)
    own = f"webhook_file = '{tmp_path / 'secret'}'\ncommand = {json.dumps([*words, '0'])}\n"
    file = cluster_file(home, f"[alerts]\n{own}")
    opened = file if what == "file" else file.parent
    opened.chmod(0o777)
    tell(HomeSettings(home), said)
    assert not kept.exists() and web.texts == []
    assert f"others may write {opened} (mode 0777)" in said[0] and f"chmod go-w {opened}" in said[0]
    results = send_test(HomeSettings(home))
    assert [name for name, _ in results] == ["alpha/webhook", "alpha/command"]
    assert all("[alerts] is not obeyed" in problem for _, problem in results)
    opened.chmod(0o700)
    home.alerts.unlink()
    tell(HomeSettings(home))
    assert kept.exists() and web.texts


def test_a_removed_key_of_a_cluster_is_ignored_with_a_warning_and_one_alert(home, web, said):
    file = cluster_file(home, f"[alerts]\non = ['cluster']\nwebhook = '{web.address}'\nemail = ['ana@example.org']\n")
    warning = (
        f"alpha/{file.name}: key 'alerts.email' is not read any more."
        " Let 'command' run a program that sends mail (docs/alerts.md), and delete the key."
    )
    settings = HomeSettings(home)
    tell(settings, said)
    tell(settings, said)
    assert said == []
    assert web.texts == [f"alpha: a removed setting\n{warning}"]
    assert tell_wrong_settings(home, said.append) is None
    assert said == [warning]
    (finding,) = (found for found in sources_findings(home.sources) if "alerts.email" in found.what)
    assert (finding.level, finding.where) == ("warning", "alpha/cluster.toml")
    assert "docs/alerts.md" in finding.next_step


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
    assert len(rows) == 7
    assert send_test(HomeSettings(home)) == []
    assert "hunter2" not in str(rows)


def test_a_server_that_sends_a_byte_now_and_then_does_not_hold_a_refresh_up(monkeypatch):
    monkeypatch.setattr(sending, "MAX_SECONDS", 0.2)
    never = Signal()
    channel = SimpleNamespace(name="webhook", send=lambda _message: never.wait(PATIENCE_SECONDS))
    started = time()
    assert sending._problem_of(channel, Message("test", None, "t", "t", "h")) == ("uncertain", "no end after 0.2 s")
    assert time() - started < PATIENCE_SECONDS
    never.set()
