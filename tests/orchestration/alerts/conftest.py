"""A home with events to report, a channel that keeps its messages, and the lines printed when one fails."""

import pytest

from orchestration.settings.environment import HomeSettings
from tests.orchestration.alerts.homes import END, write
from tests.orchestration.alerts.receivers import web_server


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
    return HomeSettings(home, alert_webhook=web.address)


@pytest.fixture
def said():
    return []
