"""dagster.yaml belongs to the user: only what Faultline itself wrote is replaced, and `doctor` shows the difference."""

import hashlib

import pytest

from orchestration.doctor.doctor import settings_findings
from orchestration.runs.instance import (
    SETTINGS,
    SHIPPED,
    UnreadableSettings,
    open_storage,
    prepare_storage,
    settings_file,
)
from orchestration.settings.home import Home

OF_0_1_0 = """\
telemetry:
  enabled: false
concurrency:
  runs:
    max_concurrent_runs: 1
  pools:
    default_limit: 1
    granularity: op
run_retries:
  enabled: true
  max_retries: 2
  retry_on_asset_or_op_failure: false
"""
MONITORED = f"{SETTINGS}run_monitoring:\n  enabled: true\n"


@pytest.fixture
def home(tmp_path):
    home = Home.at(tmp_path)
    home.dagster.mkdir()
    return home


def write(home, text):
    settings_file(home).write_text(text, encoding="utf-8")


def read(home):
    prepare_storage(home)
    return settings_file(home).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (OF_0_1_0, SETTINGS), ("", SETTINGS), ("\n", SETTINGS), (SETTINGS, SETTINGS),
        *((text, text) for text in (MONITORED, f"{SETTINGS}\n", SETTINGS.replace("2", "3"), "{}\n")),
    ],
)  # fmt: skip
def test_only_a_file_that_faultline_wrote_is_replaced_and_what_somebody_wrote_stays_to_the_byte(home, before, after):
    """Later versions will replace the file of today."""
    assert {hashlib.sha256(text.encode()).hexdigest() for text in (OF_0_1_0, SETTINGS)} <= {*SHIPPED}
    write(home, before)
    assert [read(home), read(home)] == [after, after]


def test_a_damaged_file_is_kept_aside(home):
    settings_file(home).write_bytes(bytes(range(256)))
    assert read(home) == SETTINGS
    (aside,) = home.dagster.glob("dagster.yaml.damaged-*")
    assert aside.read_bytes() == bytes(range(256))


@pytest.mark.parametrize("text", ["storage: [\n  password: hunter2\n", "- a list\n"])
def test_a_mistake_is_told_and_the_file_stays(home, text):
    write(home, text)
    with pytest.raises(UnreadableSettings, match="correct it, or delete it") as error:
        prepare_storage(home)
    assert "hunter2" not in str(error.value)
    assert settings_file(home).read_text(encoding="utf-8") == text
    (finding,) = settings_findings(home)
    assert finding.level == "error"


def test_doctor_says_what_a_change_gives_up_and_shows_no_password(home):
    write(home, "storage:\n  postgres:\n    postgres_db:\n      password: hunter2\n      hostname: db\n")
    (finding,) = settings_findings(home)
    assert finding.level == "warning"
    assert [words in finding.what for words in ("its maker", "two runs", "not started again")] == [True] * 3
    assert "waits for the disk" not in finding.what
    assert "hunter2" not in str(finding)
    assert "+      hostname: db" in finding.details


def test_a_storage_that_is_wrong_is_told_with_its_file(home):
    write(home, "storage:\n  nonsense: {password: hunter2}\n")
    prepare_storage(home)
    with pytest.raises(UnreadableSettings, match=r"dagster\.yaml names a storage") as error, open_storage(home):
        pass
    assert "hunter2" not in str(error.value)
