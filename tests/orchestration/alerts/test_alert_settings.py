"""Settings of alerts: a wrong one is named, and none shows a secret."""

import pytest

from orchestration.environment import WrongSetting, read_settings
from tests.orchestration.alerts.homes import cluster_file


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("FAULTLINE_ALERT_WEBHOOK", "ftp://example.org/hunter2"),
        ("FAULTLINE_ALERT_COMMAND", "page 'hunter2"),
        ("FAULTLINE_SMTP", "smtp://ana:hunter2@mail.example.org"),
        ("FAULTLINE_SMTP_PASSWORD", "hunter2"),
    ],
)
def test_a_wrong_setting_is_named_without_its_secret(monkeypatch, tmp_path, variable, value):
    monkeypatch.setenv(variable, value)
    with pytest.raises(WrongSetting, match=variable) as error:
        read_settings(tmp_path)
    assert "hunter2" not in str(error.value)


def test_settings_show_no_secret(monkeypatch, tmp_path):
    for name, value in {
        "FAULTLINE_ALERT_WEBHOOK": "https://hooks.example.org/hunter2",
        "FAULTLINE_ALERT_COMMAND": "page --key hunter2",
    }.items():
        monkeypatch.setenv(name, value)
    assert "hunter2" not in repr(read_settings(tmp_path))


def test_a_variable_of_mail_is_an_error_that_says_what_replaces_it(monkeypatch, tmp_path):
    monkeypatch.setenv("FAULTLINE_SMTP_FROM", "")
    read_settings(tmp_path)
    monkeypatch.setenv("FAULTLINE_ALERT_EMAIL", "ana@example.org")
    monkeypatch.setenv("FAULTLINE_SMTP", "smtp://mail.example.org")
    with pytest.raises(WrongSetting) as error:
        read_settings(tmp_path)
    assert str(error.value) == (
        "FAULTLINE_ALERT_EMAIL is not read any more: set FAULTLINE_ALERT_COMMAND to a program that sends mail"
        " (docs/alerts.md); unset it"
    )


def test_a_wrong_webhook_of_a_cluster_is_told_without_it(home):
    from assets.sources.settings import read_settings as read_cluster

    cluster_file(home, "[alerts]\nwebhook = 'hooks.example.org/hunter2'\non = ['x']\n")
    _, errors = read_cluster(home.sources / "alpha", "alpha")
    assert len(errors) == 2
    assert "hunter2" not in str(errors)
