"""`cluster.toml`: every key has a default; what cannot be meant is refused with file, key and what is allowed."""

import csv
import json
import time
from pathlib import Path
from typing import get_args

import pytest

from assets.sources.intake.account.spans import write_spans
from assets.sources.intake.find.clusters import cluster_row
from assets.sources.intake.find.folder import survey
from assets.sources.settings import MAX_ERRORS, ClusterSettings, FailureCategory, Settings, read_settings
from tests.logs import export
from tests.sources.folders import ONLY_SACCT, load, make, rows

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
[topology]
rack = '(\\pL\\d+)\\z'
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
[availability]
objective = 0.99
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
        "report_names": "hidden", "health_check_rules": "[]", "kernel_rules": "[]",
        "node_reason_rules": "[]", "xid_rules": "[]", "availability_objective": 0.99,
        "rack_pattern": r"(\pL\d+)\z", "switch_pattern": None, "nvlink_domain_pattern": None, "position_pattern": None,
        "repair_action_rules": "[]", "units_in_service": "[]",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("timezon = 'UTC'", ["unknown key 'timezon'", "Allowed there: accelerators, accounting, alerts,", "timezone"]),
        ("[attribution]\nbefore = 3", ["unknown key 'attribution.before'", "after_seconds, before_seconds, priority"]),
        ("timezone = 'CEST'", ["key 'timezone' has the bad value 'CEST'", "IANA time zone such as UTC, Europe/Berlin"]),
        ("gpus_per_node = 'eight'", ["key 'gpus_per_node' has the bad value 'eight'", "valid integer"]),
        ("[lemons.thresholds]\nxids = 3", ["lemons.thresholds.xids", "'excl_jobid_count', 'xid_cnt', 'tickets'"]),
        ("gpus_per_node = -1", ["key 'gpus_per_node' has the bad value -1", "greater than or equal to 0"]),
        ("[quarantine]\nmax_share = 2", ["key 'quarantine.max_share'", "less than or equal to 1"]),
        ("[availability]\nobjective = 1.0", ["key 'availability.objective'", "less than 1"]),
        ("[tickets]\ntimezone = 'here'", ["key 'tickets.timezone'", "IANA"]),
        ("[topology]\nrack = '^r1'", ["key 'topology.rack'", "has no group"]),
        ("[topology]\nrack = '(r[0-9]+)(?!x)'", ["key 'topology.rack'", "is not a regular expression"]),
        ("[topology]\nrow = '(a)'", ["unknown key 'topology.row'", "nvlink_domain, position, rack, switch"]),
        ("[tickets.components]\n'(' = 'GPU'", ["key 'tickets.components'", "is not a regular expression"]),
        ("[tickets.components]\n'(a)\\1' = 'GPU'", ["key 'tickets.components'", "syntax of RE2, without references"]),
        ("[tickets.components]\n'(?!a)b' = 'GPU'", ["key 'tickets.components'", "without lookaround"]),
        ('[tickets.components]\n"\\u0000" = "GPU"', ["key 'tickets.components'", "zero byte"]),
        ("[tickets.components]\n'x' = 'Gpu'", ["key 'tickets.components.x'", "'GPU'"]),
        ("[pull]\nharmless_errors = ['a{9999999999}']", ["key 'pull.harmless_errors.0'", "is too large"]),
        ("[failures.columns]\nduration = 'x'", ["key 'failures'", "'duration_unit' must be set together"]),
        ("[failures]\nduration_unit = 'weeks'", ["key 'failures.duration_unit'", "'minutes'"]),
        ("[failures.columns]\nstart = 'x'", ["unknown key 'failures.columns.start'", "cause, detail, duration, from"]),
        (
            "[[failures.in_service]]\nunits = 4\nfrom = 2024-02-01\nto = 2024-01-01",
            ["key 'failures.in_service.0'", "'to' must lie after 'from'"],
        ),
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


@pytest.mark.parametrize(
    ("pattern", "count", "words"),
    [(r"{n}|(\pL|\pN){{400}}", 90, "patterns are too large together"), ("{n}", 101, "at most 100 patterns")],
    ids=["large patterns", "many patterns"],
)
def test_the_patterns_of_tickets_have_bounds(pattern: str, count: int, words: str, tmp_path: Path) -> None:
    before = time.process_time()
    lines = "".join(f"'{pattern.format(n=n)}' = 'GPU'\n" for n in range(count))
    _, (error,) = read(tmp_path, f"[tickets.components]\n{lines}")
    assert words in str(error).lower()
    assert time.process_time() - before < 1


SPAN = "[[spans]]\nkind = 'kernel'\n"


@pytest.mark.parametrize(
    ("text", "key", "allowed"),
    [
        ("gpus_per_node = 3000000000", "gpus_per_node", "less than or equal to 10000"),
        ("gpus_per_node = 9223372036854775808", "gpus_per_node", "less than or equal to 10000"),
        ("[attribution]\nbefore_seconds = 2147483648", "attribution.before_seconds", "less than or equal to 31622400"),
        ("[attribution]\nafter_seconds = 2147483647", "attribution.after_seconds", "less than or equal to 31622400"),
        ("[runs]\nchain_gap_seconds = 2147483648", "runs.chain_gap_seconds", "less than or equal to 31622400"),
        ("[runs]\nchain_gap_seconds = -1", "runs.chain_gap_seconds", "greater than or equal to 0"),
        ("[lemons]\nwindow_days = 2147483648", "lemons.window_days", "less than or equal to 36600"),
        ("[lemons]\nrate_days = 0", "lemons.rate_days", "greater than or equal to 1"),
        ("[lemons.thresholds]\nxid_cnt = inf", "lemons.thresholds.xid_cnt", "finite"),
        ("price_per_gpu_hour = inf", "price_per_gpu_hour", "finite"),
        ("price_per_gpu_hour = -2", "price_per_gpu_hour", "greater than or equal to 0"),
        ("[ettr]\ncheckpoint_minutes = nan", "ettr.checkpoint_minutes", "finite"),
        ("[ettr]\ncheckpoint_minutes = 0", "ettr.checkpoint_minutes", "greater than 0"),
        ("[ettr]\nrestart_minutes = 1e300", "ettr.restart_minutes", "less than or equal to 527040"),
        ("[ettr]\nwrite_minutes = -1", "ettr.write_minutes", "greater than or equal to 0"),
        ("[quarantine]\nmax_share = nan", "quarantine.max_share", "finite"),
        ("[tickets]\ndelimiter = '\"'", "tickets.delimiter", "must not be a double quote, a line break"),
        ('[tickets]\ndelimiter = "\\n"', "tickets.delimiter", "must not be a double quote, a line break"),
        ('[tickets]\ndelimiter = "\\r"', "tickets.delimiter", "must not be a double quote, a line break"),
        ("[tickets]\ndelimiter = ''", "tickets.delimiter", "must be one character"),
        ("[tickets]\ndelimiter = '||'", "tickets.delimiter", "must be one character"),
        ("[tickets]\ndate_format = '%d%d'", "tickets.date_format", "must be a format of strptime"),
        ("[tickets]\ndate_format = '%Q'", "tickets.date_format", "must be a format of strptime"),
        ("[tickets]\ndate_format = '%'", "tickets.date_format", "must be a format of strptime"),
        ("[sacct]\ndelimiter = ''", "sacct.delimiter", "at least 1 character"),
        ('[sacct]\ndelimiter = "\\n"', "sacct.delimiter", "must not be a double quote, a line break"),
        (f"{SPAN}from = 0001-01-01", "spans.0.from", "between 1970 and 2100"),
        (f"timezone = 'Asia/Tokyo'\n{SPAN}from = 0001-01-01T00:00:00", "spans.0.from", "between 1970 and 2100"),
        (f"{SPAN}from = 2024-01-01\nto = 9999-12-31", "spans.0.to", "between 1970 and 2100"),
        ("annotations = [{ at = 0001-01-01, text = 'x' }]", "annotations.0.at", "between 1970 and 2100"),
        (f"annotations = [{{ at = 2026-01-31, text = '{'x' * 1001}' }}]", "annotations.0.text", "at most 1000"),
        (f"gpu_model = '{'x ' * 400_000}'", "gpu_model", "at most 255"),
        (f"[nodes.aliases]\n'{'x ' * 1000}' = 'n1'", "nodes.aliases.x x", "at most 255"),
        (f"[nodes]\nstrip_suffixes = ['{'x' * 256}']", "nodes.strip_suffixes.0", "at most 255"),
        (f"[tickets.columns]\nnode = '{'x' * 256}'", "tickets.columns.node", "at most 255"),
        (f"[annotations]\n'{'x ' * 1000}' = 'x'", "annotations", "Invalid isoformat"),
    ],
)
def test_what_no_column_or_sum_can_hold_is_refused_in_one_short_line(text, key, allowed, tmp_path):
    _, (error,) = read(tmp_path, text)
    assert str(error).startswith(f"c1/cluster.toml: key '{key}")
    assert allowed in str(error)
    assert len(str(error)) < 700
    assert "\n" not in str(error)


def test_of_many_errors_the_first_are_told(tmp_path):
    _, errors = read(tmp_path, "\n".join(f"key{number} = 1" for number in range(50_000)))
    assert len(errors) == MAX_ERRORS


def test_what_is_allowed_at_most_is_stored_and_summed(tmp_path):
    text = (
        "timezone = 'Pacific/Kiritimati'\ngpus_per_node = 10000\nprice_per_gpu_hour = 1e9\n[attribution]\n"
        "before_seconds = 31622400\nafter_seconds = 31622400\n[runs]\nchain_gap_seconds = 31622400\n[lemons]\n"
        f"window_days = 36600\nrate_days = 36600\n{SPAN}from = 1970-01-01\nto = 2100-12-31\n"
    )
    con = load(make(tmp_path, {"c1/sacct/a.txt": export([{}]), "c1/cluster.toml": text}))
    write_spans(con, survey(tmp_path, ONLY_SACCT))
    assert rows(con, "select attribution_before_seconds, lemon_rate_days from raw.clusters") == [
        {"attribution_before_seconds": 31622400, "lemon_rate_days": 36600}
    ]
    assert con.execute("select kind from ops.spans order by 1").fetchall() == [("kernel",), ("sacct",)]


def test_settings_that_cannot_be_used_concern_their_cluster_alone(tmp_path):
    settings = f"timezone = 'Asia/Tokyo'\n{SPAN}from = 0001-01-01\n"
    files = {"c1/sacct/a.txt": export([{}]), "c2/sacct/a.txt": export([{}]), "c1/cluster.toml": settings}
    found = survey(make(tmp_path, files), ONLY_SACCT)
    assert list(found.clusters) == ["c2"]
    assert list(found.left_out) == ["c1"]


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
