"""Options of `faultline ui`: what is refused, and where it listens."""

import os
import socket
import stat
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from orchestration.cli import app
from orchestration.settings.environment import UI_TOKEN
from orchestration.ui import serving
from orchestration.ui.guard import LOOPBACK
from orchestration.ui.serving import Address, NotServing, _take_lock

GOOD = "0123456789abcdef0123456789abcdef"


@pytest.fixture
def start(monkeypatch, tmp_path):
    """Run the command up to the point where it would serve; return its result and its arguments."""
    monkeypatch.delenv(UI_TOKEN, raising=False)

    def run(*options, given=None):
        got = SimpleNamespace(rules=None)

        def serve(_, address, rules, announce, *, is_read_only):
            vars(got).update(address=address, rules=rules, is_read_only=is_read_only)
            announce("http://127.0.0.1:3000/", True)

        monkeypatch.setattr(serving, "serve", serve)
        result = CliRunner().invoke(app, ["ui", "--home", str(tmp_path), *options], env={UI_TOKEN: given})
        return SimpleNamespace(status=result.exit_code, said=result.output, **vars(got))

    return run


def test_it_prints_its_token_but_none_that_was_given(start):
    own, given = start(), start(given=GOOD)
    assert (own.status, own.address, own.is_read_only) == (0, Address("127.0.0.1", 3000, None), False)
    assert f"http://127.0.0.1:3000/?token={own.rules.token.value}\n" in own.said
    assert given.rules.token.value == GOOD
    assert GOOD not in given.said


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.7", "login.example.org"])
def test_the_network_needs_a_proxy_or_a_token(start, host):
    for given in (None, "secret"):
        refused = start("--host", host, given=given)
        assert (refused.status, refused.rules) == (2, None)
    for accepted in (start("--host", host, "--i-have-a-proxy"), start("--host", host, given=GOOD)):
        # An address that stands for all addresses is no name.
        assert (accepted.status, accepted.rules.hosts) == (0, LOOPBACK | ({host} - set(serving.ANY_ADDRESS)))


def test_options_reach_the_server_and_names_are_allowed_without_their_ports(start, tmp_path):
    names = [word for name in ("A.Example.org", "b.example:8443", "fd00::7") for word in ("--allowed-host", name)]
    got = start("--read-only", "--socket", str(tmp_path / "ui.sock"), *names)
    assert (got.is_read_only, got.address.socket_file) == (True, tmp_path / "ui.sock")
    assert got.rules.hosts == LOOPBACK | {"a.example.org", "b.example", "[fd00::7]"}


def test_a_socket_is_for_this_user_only_and_an_address_for_one_server(tmp_path):
    file = tmp_path / "ui.sock"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(file))  # by a server that was killed
    mask = os.umask(0)
    try:
        with Address(socket_file=file).listening() as listener:
            assert stat.S_IMODE(file.stat().st_mode) == 0o600
            assert Address(socket_file=file).link(listener) == "http://localhost:3000/"
            with pytest.raises(NotServing, match="in use"):
                Address(socket_file=file).listening().__enter__()
    finally:
        assert os.umask(mask) == 0
    assert not file.exists()
    with Address(port=0).listening() as listener:
        port = listener.getsockname()[1]
        with pytest.raises(NotServing, match=f"127.0.0.1:{port}"):
            Address(port=port).listening().__enter__()


def test_one_server_of_a_home_runs_the_schedule(tmp_path):
    first = _take_lock(tmp_path / "daemon.lock")
    assert _take_lock(tmp_path / "daemon.lock") is None
    os.close(first)
    os.close(_take_lock(tmp_path / "daemon.lock"))
