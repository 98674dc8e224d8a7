"""Each channel delivers what was written, and says without a secret why it did not."""

import json
from dataclasses import replace

import pytest

from orchestration.alerts import channels
from orchestration.alerts.channels import Command, Message, NotDelivered, Webhook
from tests.orchestration.alerts.receivers import keeping_program

MESSAGE = Message(
    "lemon", "alpha", "alpha: new lemon", "alpha: new lemon\ngpu<!channel>&1: 8 failures", "/srv/faultline", False,
    [{"key": "lemon:alpha:gpu1:2026-01-28", "subject": "gpu1"}],
)  # fmt: skip


def why_not(channel):
    with pytest.raises(NotDelivered) as error:
        channel.send(MESSAGE)
    assert "hunter2" not in str(error.value)
    assert "hunter2" not in repr(channel)
    return str(error.value), error.value.is_certain


def test_a_webhook_gets_slacks_json_and_no_name_is_a_command_to_slack(web):
    Webhook("webhook", web.address).send(MESSAGE)
    assert [json.loads(body) for body in web.bodies] == [
        {"text": "alpha: new lemon\ngpu&lt;!channel&gt;&amp;1: 8 failures"}
    ]
    assert web.paths == ["/services/T0/B0/hunter2secret"]


def test_the_address_may_stand_in_a_file(web, tmp_path):
    file = tmp_path / "webhook"
    file.write_text(f"{web.address}\n")
    Webhook("webhook", None, file).send(MESSAGE)
    assert len(web.bodies) == 1
    file.write_text("file:///etc/hunter2\n")
    assert why_not(Webhook("webhook", None, file)) == (
        f"{file} holds no address that begins with https:// or http://",
        True,
    )
    file.unlink()
    assert why_not(Webhook("webhook", None, file)) == (f"{file} cannot be read: No such file or directory", True)


@pytest.mark.parametrize("status", [302, 307, 400, 404, 500])
def test_any_other_answer_is_a_failure_and_no_redirect_is_followed(web, status):
    web.status = status
    assert why_not(Webhook("webhook", web.address)) == (f"127.0.0.1 answered {status}", True)
    assert web.bodies == []


def test_a_server_that_is_not_there_certainly_got_nothing():
    assert why_not(Webhook("webhook", "http://127.0.0.1:1/hunter2")) == ("127.0.0.1: Connection refused", True)


def test_a_server_that_does_not_answer_may_have_got_it(web, monkeypatch):
    monkeypatch.setattr(channels, "SECONDS", 0.3)
    web.wait.clear()
    assert why_not(Webhook("webhook", web.address)) == ("127.0.0.1: no answer in time", False)


def test_a_command_gets_json_and_runs_without_a_shell(tmp_path):
    words, kept = keeping_program(tmp_path)
    Command("command", (*words, "0", "$(touch hunter2)")).send(MESSAGE)
    found = json.loads(kept.read_text())
    assert (found["kind"], found["cluster_id"], found["is_simulated"]) == ("lemon", "alpha", False)
    assert found["text"] == MESSAGE.text
    assert found["events"] == list(MESSAGE.events)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["keep it.py", "kept.jsonl"]


def test_a_command_finds_title_and_text_in_its_environment(tmp_path):
    words, file = '"$FAULTLINE_ALERT_TITLE" "$FAULTLINE_ALERT_TEXT"', tmp_path / "kept"
    Command("command", ("sh", "-c", f"printf '%s|%s' {words} > {file}")).send(MESSAGE)
    assert file.read_text() == f"{MESSAGE.title}|{MESSAGE.text}"
    # Linux starts no program with more than 131,072 bytes in a variable.
    Command("command", ("sh", "-c", f"printf '%s%.0s' {words} > {file}")).send(replace(MESSAGE, text="€" * 100_000))
    assert file.read_text() == MESSAGE.title


def test_a_command_that_fails_is_named_by_its_program_alone(tmp_path, monkeypatch):
    words, _ = keeping_program(tmp_path)
    why, is_certain = why_not(Command("command", (*words, "3", "hunter2")))
    assert why.endswith("ended with status 3")
    assert is_certain
    assert why_not(Command("command", ("/nowhere/page", "hunter2"))) == (
        "page cannot be run: No such file or directory", True,
    )  # fmt: skip
    monkeypatch.setattr(channels, "SECONDS", 0.2)
    assert why_not(Command("command", ("sleep", "5"))) == ("sleep took longer than 0.2 s", False)
