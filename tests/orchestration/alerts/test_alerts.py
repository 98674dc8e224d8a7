"""Each event is sent once, whoever finds it and whatever the channels do; no message or line has a secret."""

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from dataclasses import replace
from datetime import datetime, timedelta
from time import time

import pytest

from assets.warehouse import Warehouse
from orchestration.alerts.channels import channels_of
from orchestration.alerts.sending import send_test, tell_if_stale, tell_of_failure, tell_of_publication
from orchestration.doctor.doctor import alert_findings
from orchestration.doctor.sources import sources_findings
from orchestration.read_commands import stale
from orchestration.read_commands.sent_alerts import copy_alerts, deliveries
from orchestration.refresh.wrong_settings import tell_wrong_settings
from orchestration.settings.environment import HomeSettings
from orchestration.terminal.posting import NotDelivered
from tests.homes import change
from tests.orchestration.alerts.homes import END, cluster_file, old_publication, write
from tests.orchestration.alerts.receivers import keeping_program

FAILING = "insert into ops.cluster_failures values ('run-1', 'alpha', 'sources', ?, timestamp '2026-01-03')"
STALE = "update marts.dim_clusters set is_stale = true, stale_reason = ?, built_at = ? where cluster_id = 'alpha'"
OLD_FILE = """
create table clusters as select column1 as cluster_id, '2026-01-01' as first_seen_at from (values ('alpha'), ('beta'));
create table lemons as select 'alpha' as cluster_id, 'node001' as node_id, '2026-01-07' as since, '2026-02-20' as last;
create table deliveries as
    select column1 as key, column2 as channel, column3 as status, 1 as attempts, '2026-02-20T02:00:00.000+00:00' as at
    from (values
        ('lemon:alpha:node001:2026-01-07', 'webhook', 'delivered'),
        ('error_budget:alpha:2026-01:fast', 'email', 'failed'),
        ('change_point:alpha:all:2026-01', 'webhook', 'uncertain'),
        ('change_point:alpha:all:2026-02', 'webhook', 'failed'));
create table events as
    select key, at as claimed_at from deliveries union select 'change_point:beta:all:2026-01', '2026-02-20';
"""
REPORT = """
import sys
from pathlib import Path
from orchestration.alerts.sending import tell_of_failure
from orchestration.settings.environment import read_settings
settings = read_settings(Path(sys.argv[1]))
print("ready", flush=True)
sys.stdin.readline()
tell_of_failure(settings, "disk full", "run-7", print)
"""


def report(settings, web):
    """Report the publication, and return the messages by their titles."""
    web.bodies.clear()
    tell_of_publication(settings, pytest.fail)
    return {text.splitlines()[0]: text.splitlines()[1:] for text in web.texts}


def test_what_a_first_publication_has_is_sent_once(settings, web):
    sent = report(settings, web)
    assert sent == {
        "alpha: new lemon": [
            "node001: lemon, probability 99.0%; 90.0 failures per 1,000 node-days [45.0, 180], 90%; 8 failures"
        ],
        "alpha: the error budget burns": [
            "fast burn, in failed node-hours against those that the objective of 99% allows: 5 over 1 day, 5 over 3 "
            "days, unknown over 7 days, unknown over 28 days; 521% of the budget of the month's hours so far is used"
        ],
        "alpha: the failure rate changed (2)": [
            f"all failures: since {since} incidents per 1,000 node-days, before {before}, 2 [1.1, unknown] times"
            for since, before in (("2026-01-10 2 [1, 4]", "1 [0.5, 2]"), ("2026-02-10 4 [2, 8]", "2 [1, 4]"))
        ],
        "beta (simulated): the failure rate changed (2)": sent["alpha: the failure rate changed (2)"],
    }
    assert report(settings, web) == {}


@pytest.mark.parametrize(
    ("statement", "values", "titles"),
    [
        ("update estimates.est_rate_changes set changed_at = changed_at + interval 3 day", [], []),
        ("update estimates.est_rate_changes set changed_at = '2026-03-02' where changed_at > '2026-02-01'", [],
         ["alpha: the failure rate changed", "beta (simulated): the failure rate changed"]),
        ("update marts.agg_availability_monthly set burn_pace = 'medium'", [], ["alpha: the error budget burns"]),
        ("insert into marts.agg_availability_monthly by name select 'alpha' as cluster_id, date '2026-02-01' as"
         " month_date, 0.99 as objective", [], []),
        (STALE, ["ssh failed", datetime(2026, 2, 27, 2)], ["alpha: no new numbers"]),
    ],
)  # fmt: skip
def test_an_event_is_its_key(settings, home, web, statement, values, titles):
    report(settings, web)
    write(home, statement, values)
    assert list(report(settings, web)) == titles
    assert report(settings, web) == {}


def test_old_changes_of_a_cluster_that_is_new_here_are_history(settings, home, web):
    write(home, "update marts.dim_clusters set data_through_at = timestamp '2026-05-01'")
    changes = [lines for title, lines in report(settings, web).items() if "rate changed" in title]
    assert [len(lines) for lines in changes] == [1, 1] and "2026-02-10" in str(changes)
    # Later, every change is new, however old it is.
    write(home, "update estimates.est_rate_changes set failure_category = 'pcie' where changed_at < '2026-02-01'")
    assert ["pcie: since 2026-01-10" in lines[0] for lines in report(settings, web).values()] == [True, True]


@pytest.mark.parametrize(("quiet_days", "is_sent"), [((27,), 0), ((28,), 1), ((-40,), 0), ((20, 20, 20), 0)])
def test_a_lemon_is_sent_again_after_28_quiet_days_of_data(settings, home, web, quiet_days, is_sent):
    report(settings, web)
    day = END
    for days in quiet_days:
        write(home, "update estimates.est_lemon_nodes set verdict = 'ok'")
        report(settings, web)
        day += timedelta(days=days)
        write(home, "update marts.dim_clusters set data_through_at = ?", [day])
        write(home, "update estimates.est_lemon_nodes set verdict = 'lemon' where node_id = 'node001'")
        assert list(report(settings, web)) == ["alpha: new lemon"] * is_sent


@pytest.mark.parametrize(
    ("reason", "through", "line"),
    [
        ("all.psv cannot be read", END, "it could not be built and keeps its numbers of 2026-01-02 02:00 UTC: {}"),
        ("its logs could not be fetched from Slurm: refused", END, "{}; its accounting ends 2026-01-02 02:00 UTC"),
        ("ssh failed", None, "{}; it has no accounting yet"),
    ],
)
def test_a_cluster_without_new_numbers_is_sent_once_until_it_has_some(settings, home, web, reason, through, line):
    write(home, "update marts.dim_clusters set data_through_at = ? where cluster_id = 'alpha'", [through])
    if line.startswith("it could not be built"):
        write(home, FAILING, [reason])
    sent = []
    for day in (2, 2, 9):
        write(home, STALE, [reason, datetime(2026, 1, day, 2)])
        sent.append(report(settings, web).get("alpha: no new numbers"))
    assert sent[:2] == [[line.format(reason)], None] and (sent[2] is None) == (through is None)


def test_words_of_errors_are_hidden_where_names_are(settings, home, web):
    rows = "select unnest(['alpha', 'beta']) as cluster_id, 'hidden' as report_names"
    write(home, f"create or replace table raw.clusters as {rows}")
    write(home, FAILING, ["marts.fct_node_outages: reason zebulon-planted"])
    write(home, STALE.replace("alpha", "beta"), ["zebulon-planted", END])
    check = "'run-1', 'estimates.est_repairs', 'computed', false, false, ?, '', timestamp '2026-01-03', null"
    write(home, f"insert into ops.checks values ({check})", ["KeyError: zebulon-planted"])
    sent = report(settings, web)
    assert {"alpha: no new numbers", "beta (simulated): no new numbers"} < set(sent)
    assert "could not be computed" in str(sent) and "zebulon-planted" not in str(sent)


REFUSED, UNKNOWN, OK = NotDelivered("answered 500"), NotDelivered("no answer", is_certain=False), None
KILLED = KeyboardInterrupt()
"""The process ends between sending and recording."""


@pytest.mark.parametrize(
    ("outcomes", "attempts", "status"),
    [
        ([OK, OK], 1, "delivered"),
        ([REFUSED, OK, OK], 2, "delivered"),
        ([REFUSED] * 9, 5, "failed"),
        ([UNKNOWN, OK, OK], 2, "delivered"),
        ([UNKNOWN] * 4, 2, "uncertain"),
        ([KILLED, KILLED, OK], 2, "uncertain"),
        ([REFUSED, REFUSED, UNKNOWN, UNKNOWN, OK], 4, "uncertain"),
        ([UNKNOWN, REFUSED, REFUSED, KILLED, OK], 4, "uncertain"),
        ([RuntimeError("hunter2"), OK], 2, "delivered"),
    ],
)
def test_what_is_sent_again_and_how_often(settings, home, monkeypatch, said, outcomes, attempts, status):
    left = list(outcomes)

    def post(*_):
        outcome = left.pop(0)
        if outcome is not None:
            raise outcome

    monkeypatch.setattr("orchestration.alerts.channels.post", post)
    for _ in outcomes:
        with suppress(KeyboardInterrupt):
            tell_of_failure(settings, "disk full", "run-1", said.append)
    (row,) = deliveries(home)
    assert (len(outcomes) - len(left), row["attempts"], row["status"]) == (attempts, attempts, status)
    assert len(alert_findings(home)) == (status != "delivered")
    assert "hunter2" not in str(said)


def test_two_processes_never_send_one_event(home, web):
    web.wait.clear()
    environment = os.environ | {"FAULTLINE_ALERT_WEBHOOK": web.address}
    start = [sys.executable, "-c", REPORT, str(home.root)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    processes = [subprocess.Popen(start, env=environment, **pipes) for _ in range(2)]
    assert [process.stdout.readline() for process in processes] == ["ready\n"] * 2
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    with pytest.raises(subprocess.TimeoutExpired):
        processes[0].wait(0.5)
    web.wait.set()
    assert [process.communicate()[0] for process in processes] == ["", ""]
    assert len(web.texts) == 1


def test_the_file_of_an_earlier_version_is_taken_over(settings, home, web):
    home.alerts.parent.mkdir()
    with closing(sqlite3.connect(home.alerts)) as con:
        con.executescript(OLD_FILE)
    assert deliveries(home) == []
    # Refused and new events are sent; the others were sent, are history, or belong to mail.
    assert {title: len(lines) for title, lines in report(settings, web).items()} == {
        "alpha: the failure rate changed": 1, "beta (simulated): the failure rate changed": 1,
    }  # fmt: skip
    assert alert_findings(home) == [] and report(settings, web) == {}


def test_a_failure_is_its_run_and_without_a_run_one_message_a_day(settings, web, said):
    runs = [("password=swordfish1", "run-1"), ("b", "run-1"), ("a", "run-2"), ("a", None), ("a", None), ("b", None)]
    for message, run in runs:
        tell_of_failure(settings, message, run, said.append)
    assert len(web.texts) == 4
    assert said == [] and "swordfish1" not in str(web.texts)


def test_a_failure_is_sent_although_the_ledger_cannot_be_used(settings, home, web, said):
    home.alerts.parent.mkdir()
    home.alerts.write_bytes(b"garbage" * 1000)
    tell_of_failure(settings, "disk full", "run-2", said.append)
    assert "alerts could not be sent" in said[0]
    assert [text.splitlines()[1] for text in web.texts] == ["disk full"]
    assert "remove the file" in alert_findings(home)[0].next_step


def test_a_failure_that_was_refused_is_sent_at_the_next_look_unless_another_run_came(settings, home, web, said):
    young = replace(settings, freshness_hours=10**6)
    add = "insert into ops.runs (run_id, started_at, status, code_version, "
    with Warehouse(path=str(home.working_file)).writing() as con:
        con.execute(f"{add} message) values ('run-1', now()::timestamp, 'failed', '', 'disk full')")
    web.status = 500
    tell_of_failure(settings, "disk full", "run-1", said.append)
    assert "hunter2" not in said[0] and "127.0.0.1 answered 500" in said[0]
    with Warehouse(path=str(home.working_file)).writing() as con:
        con.execute(f"{add} message) values ('run-2', now()::timestamp, 'failed', '', 'stopped by Ctrl-C')")
    web.status = 200
    tell_if_stale(young, pytest.fail)
    assert web.texts == []
    change(home.working_file, "delete from ops.runs where run_id = 'run-2'")
    for _ in range(2):
        tell_if_stale(young, pytest.fail)
    assert [text.splitlines()[1] for text in web.texts] == ["disk full"]


def test_a_clusters_own_channels_get_its_events_and_no_others(home, web, tmp_path):
    words, kept = keeping_program(tmp_path)
    assert report(HomeSettings(home), web) == {} and not home.alerts.exists()
    cluster_file(home, f"[alerts]\non = ['lemon']\nwebhook = '{web.address}'\ncommand = {json.dumps([*words, '0'])}\n")
    settings = HomeSettings(home)
    assert list(report(settings, web)) == ["alpha: new lemon"]
    tell_of_failure(settings, "disk full", "run-1", pytest.fail)
    assert [json.loads(line)["kind"] for line in kept.read_text().splitlines()] == ["lemon"]
    assert [channel.name for channel in channels_of(settings)] == ["alpha/webhook", "alpha/command"]


def test_channels_in_a_file_that_others_may_write_send_nothing_and_say_so(home, web, tmp_path, said):
    words, kept = keeping_program(tmp_path)
    (tmp_path / "secret").write_text(web.address)
    own = f"webhook_file = '{tmp_path / 'secret'}'\ncommand = {json.dumps([*words, '0'])}\n"
    file = cluster_file(home, f"[alerts]\n{own}")
    file.chmod(0o777)
    tell_of_publication(HomeSettings(home), said.append)
    assert not kept.exists() and web.texts == []
    assert f"others may write {file} (mode 0777)" in said[0] and f"chmod go-w {file}" in said[0]
    assert ["[alerts] is not obeyed" in problem for _, problem in send_test(HomeSettings(home))] == [True, True]
    file.chmod(0o600)
    assert report(HomeSettings(home), web) and kept.exists()


def test_a_removed_key_of_a_cluster_is_a_warning_and_one_alert(home, web, said):
    cluster_file(home, f"[alerts]\non = ['cluster']\nwebhook = '{web.address}'\nemail = ['ana@example.org']\n")
    ((title, (warning,)),) = report(HomeSettings(home), web).items()
    assert title == "alpha: a removed setting" and "alerts.email" in warning
    assert report(HomeSettings(home), web) == {}
    assert tell_wrong_settings(home, said.append) is None and said == [warning]
    assert [found.level for found in sources_findings(home.sources) if "alerts.email" in found.what] == ["warning"]


def test_what_was_sent_stands_in_ops_at_the_next_publication(settings, home, web, warehouse):
    web.status = 404
    tell_of_failure(settings, "disk full", "run-1", [].append)
    web.status = 200
    report(settings, web)
    with warehouse.writing() as con:
        for _ in range(2):
            copy_alerts(con, home)
        rows = con.execute("select * exclude tried_at from ops.alerts order by event_key").fetchall()
    assert ("failure:run-1", "failure", None, "webhook", "failed", 1) in rows
    assert ("error_budget:alpha:2026-01:fast", "error_budget", "alpha", "webhook", "delivered", 1) in rows
    assert len(rows) == 7


def test_a_publication_without_a_moment_is_as_old_as_its_file(settings, home, monkeypatch):
    old_publication(home, 0)
    lost = replace(stale.newest_publication(home), published_at="")
    monkeypatch.setattr(stale, "newest_publication", lambda _: lost)
    for days, is_stale in ((1, False), (3, True)):
        os.utime(home.current / "faultline.duckdb", (time() - 86_400 * days,) * 2)
        assert (tell_if_stale(settings, pytest.fail) is not None) == is_stale
