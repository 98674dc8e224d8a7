"""The token of the web UI: random unless given, never weak, and never part of a printed object."""

import pytest

from orchestration.environment import UI_TOKEN
from orchestration.ui.tokens import Token, WeakToken

GOOD = "0123456789abcdef0123456789abcdef"


@pytest.fixture(autouse=True)
def no_token_in_the_environment(monkeypatch):
    monkeypatch.delenv(UI_TOKEN, raising=False)


def token_file(tmp_path, text, mode=0o600):
    file = tmp_path / "token"
    file.write_text(text)
    file.chmod(mode)
    return file


def test_each_start_has_another_token():
    first, second = Token.choose(None), Token.choose(None)
    assert first != second
    assert len(first.value) >= 40
    assert not first.is_given


def test_a_file_comes_before_the_environment_and_the_variable_is_removed(tmp_path, monkeypatch):
    monkeypatch.setenv(UI_TOKEN, GOOD[::-1])
    assert Token.choose(token_file(tmp_path, f"{GOOD}\n")) == Token(GOOD, is_given=True)
    assert Token.choose(None) != Token(GOOD[::-1], is_given=True)


def test_the_environment_gives_a_token(monkeypatch):
    monkeypatch.setenv(UI_TOKEN, GOOD)
    assert Token.choose(None) == Token(GOOD, is_given=True)


@pytest.mark.parametrize("text", ["", "short", "with spaces in it, though long", "ä" * 30])
def test_a_weak_token_is_refused(tmp_path, text):
    with pytest.raises(WeakToken, match="openssl rand"):
        Token.choose(token_file(tmp_path, text))


def test_a_file_that_every_user_can_read_is_refused(tmp_path):
    with pytest.raises(WeakToken, match="chmod 600"):
        Token.choose(token_file(tmp_path, GOOD, 0o644))


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(WeakToken, match="missing"):
        Token.choose(tmp_path / "missing")


def test_the_text_of_a_token_hides_it():
    assert GOOD not in f"{Token(GOOD)!r} {Token(GOOD)}"
