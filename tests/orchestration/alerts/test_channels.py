"""Each channel delivers its message, or says without a secret why not."""

import json

import pytest

from orchestration.alerts import channels
from orchestration.alerts.channels import command, webhook
from orchestration.terminal import posting
from orchestration.terminal.posting import NotDelivered
from tests.orchestration.alerts.receivers import keeping_program
from tests.patience import PATIENCE_SECONDS

MESSAGE = {
    "kind": "lemon",
    "title": "alpha: new lemon",
    "text": "alpha: new lemon\ngpu<!channel>&1",
    "events": [{"key": "k"}],
}


def why_not(send, message=MESSAGE):
    with pytest.raises(NotDelivered) as error:
        send(message)
    assert "hunter2" not in str(error.value)
    return str(error.value), error.value.is_certain


def test_a_webhook_gets_slacks_json_and_no_name_is_a_command_to_slack(web, tmp_path):
    file = tmp_path / "webhook"
    file.write_text(f"{web.address}\n")
    for send in (webhook(web.address), webhook(None, str(file))):
        send(MESSAGE)
        assert json.loads(web.bodies.pop()) == {"text": "alpha: new lemon\ngpu&lt;!channel&gt;&amp;1"}
    assert web.paths == ["/services/T0/B0/hunter2secret"] * 2


@pytest.mark.parametrize(
    ("address", "status", "why", "is_certain"),
    [
        *((None, status, f"127.0.0.1 answered {status}", True) for status in (302, 307, 400, 404, 500)),
        ("http://127.0.0.1:1/hunter2", 200, "127.0.0.1: Connection refused", True),
        (None, None, "127.0.0.1: no answer in time", False),
    ],
)
def test_a_webhook_says_why_not_and_whether_that_is_certain(web, monkeypatch, address, status, why, is_certain):
    monkeypatch.setattr(posting, "SECONDS", PATIENCE_SECONDS if status else 0.3)
    web.status = status or 200
    if status is None:
        web.wait.clear()
    assert why_not(webhook(address or web.address)) == (why, is_certain)
    assert web.bodies == []


def test_a_command_gets_json_and_two_variables_and_runs_without_a_shell(tmp_path):
    words, kept = keeping_program(tmp_path)
    command((*words, "0", "$(touch hunter2)"))(MESSAGE)
    assert json.loads(kept.read_text()) == MESSAGE
    assert sorted(path.name for path in tmp_path.iterdir()) == ["keep it.py", "kept.jsonl"]
    printing = ("sh", "-c", f'printf "%s|%.3s" "$FAULTLINE_ALERT_TITLE" "$FAULTLINE_ALERT_TEXT" > {kept}')
    # Linux starts no program with more than 131,072 bytes in a variable.
    command(printing)(MESSAGE | {"text": "€" * 100_000})
    assert kept.read_bytes().startswith(b"alpha: new lemon|")


def test_a_command_that_fails_is_named_by_its_program_alone(tmp_path, monkeypatch):
    words, _ = keeping_program(tmp_path)
    why, is_certain = why_not(command((*words, "3", "hunter2")))
    assert why.endswith("ended with status 3") and is_certain
    assert why_not(command(("/nowhere/page", "hunter2"))) == ("page cannot be run: No such file or directory", True)
    monkeypatch.setattr(channels, "SECONDS", 0.2)
    assert why_not(command(("sleep", "5"))) == ("sleep took longer than 0.2 s", False)
