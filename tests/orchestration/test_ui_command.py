"""Options of `faultline ui`: what is refused, and where it listens."""

import os
import socket
import stat

import pytest
from typer.testing import CliRunner

from orchestration.cli import app
from orchestration.environment import UI_TOKEN
from orchestration.ui import serving
from orchestration.ui.guard import LOOPBACK
from orchestration.ui.serving import Address, NotServing, _take_lock

GOOD = "0123456789abcdef0123456789abcdef"


@pytest.fixture
def started(monkeypatch, tmp_path):
    """Run the command up to where it would serve; return its result and what it would serve with."""
    monkeypatch.delenv(UI_TOKEN, raising=False)
    given = {}

    def serve(settings, address, rules, announce):
        given.update(settings=settings, address=address, rules=rules)
        announce("http://127.0.0.1:3000/", given.get("runs_schedule", True))

    monkeypatch.setattr(serving, "serve", serve)

    def run(*arguments, environment=None, runs_schedule=True):
        given["runs_schedule"] = runs_schedule
        result = CliRunner().invoke(app, ["ui", "--home", str(tmp_path), *arguments], env=environment)
        return result, given

    return run


def test_it_listens_on_this_machine_only_and_prints_the_token(started):
    result, given = started()
    assert result.exit_code == 0, result.output
    assert given["address"] == Address("127.0.0.1", 3000, None)
    assert f"?token={given['rules'].token.value}\n" in result.output
    assert not given["rules"].is_read_only


def test_a_token_that_the_user_gave_is_not_printed(started):
    result, given = started(environment={UI_TOKEN: GOOD})
    assert given["rules"].token.value == GOOD
    assert GOOD not in result.output
    assert "http://127.0.0.1:3000/\n" in result.output


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.7", "login.example.org"])
def test_the_network_needs_a_proxy_or_a_token(started, host):
    result, given = started("--host", host)
    assert result.exit_code == 2
    assert "--i-have-a-proxy" in result.output
    assert UI_TOKEN in result.output
    assert "rules" not in given
    assert started("--host", host, "--i-have-a-proxy")[0].exit_code == 0
    assert started("--host", host, environment={UI_TOKEN: GOOD})[0].exit_code == 0


def test_a_weak_token_is_wrong_usage(started):
    result, _ = started(environment={UI_TOKEN: "secret"})
    assert result.exit_code == 2
    assert "20 letters" in result.output


def test_names_are_allowed_without_their_ports(started):
    _, given = started(
        "--host", "10.0.0.7", "--i-have-a-proxy",
        "--allowed-host", "Faultline.Example.org", "--allowed-host", "a.example:8443", "--allowed-host", "fd00::7",
    )  # fmt: skip
    assert given["rules"].hosts == {
        "localhost", "127.0.0.1", "[::1]", "10.0.0.7", "faultline.example.org", "a.example", "[fd00::7]",
    }  # fmt: skip


@pytest.mark.parametrize("host", sorted(serving.ANY_ADDRESS))
def test_every_address_is_no_name(started, host):
    _, given = started("--host", host, "--i-have-a-proxy")
    assert given["rules"].hosts == LOOPBACK


def test_it_says_who_runs_the_schedule(started):
    assert "another `faultline ui`" in started(runs_schedule=False)[0].output
    assert "another" not in started()[0].output


def test_it_says_how_to_reach_a_socket(started, tmp_path):
    result, given = started("--socket", str(tmp_path / "ui.sock"))
    assert given["address"].socket_file == tmp_path / "ui.sock"
    assert f"ssh -L 3000:{tmp_path}/ui.sock" in result.output


def test_read_only_reaches_the_guard(started):
    assert started("--read-only")[1]["rules"].is_read_only


def test_a_unix_socket_is_for_this_user_only(tmp_path):
    file = tmp_path / "ui.sock"
    mask = os.umask(0)
    try:
        with Address(socket_file=file).listening() as listener:
            assert stat.S_IMODE(file.stat().st_mode) == 0o600
            assert Address(socket_file=file).link(listener) == "http://localhost:3000/"
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(str(file))
    finally:
        assert os.umask(mask) == 0
    assert not file.exists()


def test_a_socket_that_a_killed_server_left_is_replaced(tmp_path):
    file = tmp_path / "ui.sock"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(file))
    with Address(socket_file=file).listening():
        pass


def test_an_address_in_use_is_reported(tmp_path):
    file = tmp_path / "ui.sock"
    with Address(socket_file=file).listening(), pytest.raises(NotServing, match="in use"):
        Address(socket_file=file).listening().__enter__()
    assert not file.exists()
    with Address(port=0).listening() as listener:
        port = listener.getsockname()[1]
        with pytest.raises(NotServing, match=f"127.0.0.1:{port}"):
            Address(port=port).listening().__enter__()


def test_one_server_of_a_home_runs_the_schedule(tmp_path):
    first = _take_lock(tmp_path / "daemon.lock")
    assert first is not None
    assert _take_lock(tmp_path / "daemon.lock") is None
    os.close(first)
    second = _take_lock(tmp_path / "daemon.lock")
    assert second is not None
    os.close(second)
