"""`cluster.toml`: every key has a default; what cannot be meant is refused with file, key and what is allowed."""

import csv
import json
from pathlib import Path
from typing import get_args

import pytest

from assets.sources.clusters import cluster_row
from assets.sources.settings import ClusterSettings, FailureCategory, Settings, read_settings
from tests.sources.folders import export, load, make, rows

PROJECT = Path(__file__).parents[2]
EVERYTHING = """
timezone = "Europe/Berlin"
simulated = true
gpus_per_node = 4
gpu_model = "H100"
price_per_gpu_hour = 2
currency = "EUR"
annotations = [{ at = 2026-01-31, text = "driver 550" }]
[attribution]
before_seconds = 300
after_seconds = 60
priority = ["pcie", "ib_link"]
[runs]
chain = false
chain_gap_seconds = 60
[nodes]
strip_suffixes = ["-ib0"]
[nodes.aliases]
storage-a = "gpu007"
[ettr]
checkpoint_minutes = 30
restart_minutes = 2.5
write_minutes = 1
[lemons]
window_days = 14
rate_days = 60
thresholds = { xid_cnt = 3 }
[sacct]
columns = ["JobID", "State"]
[tickets]
date_format = "%d.%m.%Y"
[tickets.columns]
node = "Host"
[tickets.components]
"gpu.*swap" = "GPU"
[[spans]]
kind = "events"
from = 2026-01-01
to = 2026-02-01T12:00:00+01:00
[[spans]]
kind = "sacct"
from = 2026-01-01T06:00:00
[quarantine]
max_share = 0.5
[report]
names = "hidden"
"""


def read(tmp_path, text):
    (tmp_path / "cluster.toml").write_text(text)
    return read_settings(tmp_path, "c1")


def test_without_a_file_every_default_holds(tmp_path):
    cluster, errors = read_settings(tmp_path, "c1")
    assert errors == []
    assert cluster == ClusterSettings(cluster_id="c1", settings=Settings())
    row = cluster_row(cluster)
    expected = {"timezone": "UTC", "gpus_per_node": 8, "attribution_before_seconds": 600, "checkpoint_minutes": 60}
    assert {key: row[key] for key in expected} == expected
    assert row["config_path"] is None


def test_every_key(tmp_path):
    con = load(make(tmp_path, {"c1/sacct/a.txt": export([{}]), "c1/cluster.toml": EVERYTHING}))
    row = rows(con, "select * from raw.clusters")[0]
    assert row.pop("config_sha256")
    assert json.loads(row.pop("annotations")) == [{"at": "2026-01-31", "text": "driver 550"}]
    assert json.loads(row.pop("lemon_thresholds")) == {"xid_cnt": 3.0}
    assert row == {
        "cluster_id": "c1", "is_simulated": True, "timezone": "Europe/Berlin", "gpus_per_node": 4, "gpu_model": "H100",
        "price_per_gpu_hour": 2.0, "currency": "EUR", "attribution_before_seconds": 300,
        "attribution_after_seconds": 60, "attribution_priority": ["pcie", "ib_link"], "runs_chain": False,
        "runs_chain_gap_seconds": 60, "checkpoint_minutes": 30.0, "restart_minutes": 2.5, "write_minutes": 1.0,
        "lemon_window_days": 14, "lemon_rate_days": 60, "quarantine_max_share": 0.5, "config_path": "c1/cluster.toml",
        "report_names": "hidden",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("timezon = 'UTC'", ["unknown key 'timezon'", "Allowed there: annotations, attribution,", "timezone"]),
        ("[attribution]\nbefore = 3", ["unknown key 'attribution.before'", "after_seconds, before_seconds, priority"]),
        ("timezone = 'CEST'", ["key 'timezone' has the bad value 'CEST'", "IANA time zone such as UTC, Europe/Berlin"]),
        ("gpus_per_node = 'eight'", ["key 'gpus_per_node' has the bad value 'eight'", "valid integer"]),
        ("[lemons.thresholds]\nxids = 3", ["lemons.thresholds.xids", "'excl_jobid_count', 'xid_cnt', 'tickets'"]),
        ("gpus_per_node = -1", ["key 'gpus_per_node' has the bad value -1", "greater than or equal to 0"]),
        ("[quarantine]\nmax_share = 2", ["key 'quarantine.max_share'", "less than or equal to 1"]),
        ("[tickets]\ntimezone = 'here'", ["key 'tickets.timezone'", "IANA"]),
        ("[tickets.components]\n'(' = 'GPU'", ["key 'tickets.components'", "is not a regular expression"]),
        ("[tickets.components]\n'x' = 'Gpu'", ["key 'tickets.components.x'", "'GPU'"]),
        ("[tickets.columns]\nhost = 'x'", ["unknown key 'tickets.columns.host'", "closed, component, node, opened"]),
        (
            "annotations = [{ at = 2026-01-31, txt = 'x' }]",
            ["unknown key 'annotations.0.txt'", "Allowed there: at, text"],
        ),
        ("[report]\nnames = 'secret'", ["key 'report.names' has the bad value 'secret'", "'shown' or 'hidden'"]),
        ("[report]\nusers = 'hidden'", ["unknown key 'report.users'", "Allowed there: names"]),
        ("attribution = 3", ["key 'attribution' has the bad value 3"]),
        ("timezone = UTC", ["not valid TOML"]),
        ("timezone = '\\xff'", ["cluster.toml"]),
    ],
)
def test_what_is_refused(text, parts, tmp_path):
    if "xff" in text:
        (tmp_path / "cluster.toml").write_bytes(b"timezone = '\xff'")
        _, errors = read_settings(tmp_path, "c1")
    else:
        _, errors = read(tmp_path, text)
    shown = "\n".join(map(str, errors))
    assert shown.startswith("c1/cluster.toml: ")
    missing = [part for part in parts if part not in shown.replace("action, ", "")]
    assert missing == [], shown


def test_only_what_changes_reading_changes_the_reading_hash(tmp_path):
    plain = read(tmp_path, "")[0].reading_hash
    assert read(tmp_path, "price_per_gpu_hour = 3.0\n[ettr]\nwrite_minutes = 3")[0].reading_hash == plain
    for text in ("timezone = 'Asia/Tokyo'", "[nodes]\nstrip_suffixes = ['-ib']", "[tickets]\ndelimiter = ';'"):
        assert read(tmp_path, text)[0].reading_hash != plain


def test_ticket_columns_may_stand_directly_below_tickets(tmp_path):
    direct, _ = read(tmp_path, '[tickets]\nnode = "Host"\nopened = "Created"\n')
    nested, _ = read(tmp_path, '[tickets.columns]\nnode = "Host"\nopened = "Created"\n')
    assert direct.settings.tickets == nested.settings.tickets
    assert direct.settings.tickets.columns.node == "Host"


def test_notes_may_be_a_table_of_days(tmp_path):
    table, errors = read(tmp_path, '[annotations]\n"2026-01-31" = "driver 550"\n')
    listed, _ = read(tmp_path, 'annotations = [{ at = 2026-01-31, text = "driver 550" }]\n')
    assert errors == []
    assert table.settings.annotations == listed.settings.annotations


def test_an_unknown_cause_is_refused_with_what_is_allowed(tmp_path):
    _, errors = read(tmp_path, '[attribution]\npriority = ["pcie", "gremlins"]\n')
    assert "gremlins" in str(errors[0])
    assert "gpu_memory" in str(errors[0])


def test_the_causes_are_those_of_the_taxonomy():
    with (PROJECT / "dbt_project" / "seeds" / "failure_categories.csv").open() as file:
        causes = [
            (int(row["priority"]), row["failure_category"])
            for row in csv.DictReader(file)
            if row["is_cause"] == "true" and row["failure_category"] in get_args(FailureCategory)
        ]
    assert [name for _, name in sorted(causes)] == list(get_args(FailureCategory))
