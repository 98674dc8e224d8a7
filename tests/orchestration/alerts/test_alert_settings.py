"""Settings of alerts: a wrong one is named, and none shows a secret."""

import pytest

from orchestration.environment import WrongSetting, read_settings
from tests.orchestration.alerts.homes import cluster_file


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
    with pytest.raises(WrongSetting, match=variable) as error:
        read_settings(tmp_path)
    assert "hunter2" not in str(error.value)


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
