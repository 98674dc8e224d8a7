"""`cluster.toml`: every key has a default. Impossible values are refused with file, key and allowed values."""

import csv
import json
import time
from pathlib import Path
from typing import get_args

import pytest

from assets.sources.intake.account.spans import write_spans
from assets.sources.intake.find.clusters import cluster_row
from assets.sources.intake.find.folder import survey
from assets.sources.settings import ClusterSettings, FailureCategory, Settings, read_settings
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


SPAN = "[[spans]]\nkind = 'kernel'\n"
COMPONENTS = "[tickets.components]\n"
REFUSED: list[tuple[str, str, str]] = [
    ("timezon = 'UTC'", "unknown key 'timezon'", "Allowed there: accelerators, accounting, alerts,"),
    ("[attribution]\nbefore = 3", "unknown key 'attribution.before'", "after_seconds, before_seconds, priority"),
    ("annotations = [{ at = 2026-01-31, text = 'x', txt = 'x' }]", "unknown key 'annotations.0.txt'", "at, text"),
    (f"{SPAN}from = 2024-01-01\nuntil = 2024-02-01", "unknown key 'spans.0.until'", "Allowed there: from, kind, to"),
    ("attribution = 3", "key 'attribution' has the bad value 3", ""),
    ("timezone = UTC", "", "not valid TOML"),
    ("timezone = '\\xff'", "", "codec can't decode byte 0xff"),
    ("timezone = 'CEST'", "key 'timezone' has the bad value 'CEST'", "IANA time zone such as UTC, Europe/Berlin"),
    ("[tickets]\ntimezone = 'here'", "key 'tickets.timezone'", "IANA"),
    ("[report]\nnames = 'secret'", "key 'report.names' has the bad value 'secret'", "'shown' or 'hidden'"),
    ("[attribution]\npriority = ['pcie', 'gremlins']", "key 'attribution.priority.1'", "gpu_memory"),
    ("[lemons.thresholds]\nxids = 3", "key 'lemons.thresholds.xids", "'excl_jobid_count', 'xid_cnt', 'tickets'"),
    ("[failures.columns]\nduration = 'x'", "key 'failures'", "'duration_unit' must be set together"),
    ("[failures]\nduration_unit = 'weeks'", "key 'failures.duration_unit'", "'minutes'"),
    (
        "[[failures.in_service]]\nunits = 4\nfrom = 2024-02-01\nto = 2024-01-01",
        "key 'failures.in_service.0'", "'to' must lie after 'from'",
    ),
    ("[[spans]]\nkind = 'controller'\nfrom = 2024-01-01", "key 'spans.0.kind'", "'slurmctld'"),
    (f"{SPAN}from = 2024-02-01\nto = 2024-01-01", "key 'spans.0'", "must lie after"),
    (f"timezone = 'Asia/Tokyo'\n{SPAN}from = 0001-01-01T00:00:00", "key 'spans.0.from'", "between 1970 and 2100"),
    (f"{SPAN}from = 2024-01-01\nto = 9999-12-31", "key 'spans.0.to'", "between 1970 and 2100"),
    ("annotations = [{ at = 0001-01-01, text = 'x' }]", "key 'annotations.0.at'", "between 1970 and 2100"),
    # Patterns.
    ("[topology]\nrack = '^r1'", "key 'topology.rack'", "has no group"),
    ("[topology]\nrack = '(r[0-9]+)(?!x)'", "key 'topology.rack'", "is not a regular expression"),
    (f"{COMPONENTS}'(' = 'GPU'", "key 'tickets.components'", "is not a regular expression"),
    (f"{COMPONENTS}'(a)\\1' = 'GPU'", "key 'tickets.components'", "syntax of RE2, without references"),
    (f'{COMPONENTS}"\\u0000" = "GPU"', "key 'tickets.components'", "zero byte"),
    (f"{COMPONENTS}'x' = 'Gpu'", "key 'tickets.components.x'", "'GPU'"),
    ("[pull]\nharmless_errors = ['a{9999999999}']", "key 'pull.harmless_errors.0'", "is too large"),
    # Numbers that no column or sum can hold.
    ("gpus_per_node = 'eight'", "key 'gpus_per_node' has the bad value 'eight'", "valid integer"),
    ("gpus_per_node = -1", "key 'gpus_per_node' has the bad value -1", "greater than or equal to 0"),
    ("gpus_per_node = 9223372036854775808", "key 'gpus_per_node'", "less than or equal to 10000"),
    ("[attribution]\nbefore_seconds = 2147483648", "key 'attribution.before_seconds'", "equal to 31622400"),
    ("[runs]\nchain_gap_seconds = 2147483648", "key 'runs.chain_gap_seconds'", "less than or equal to 31622400"),
    ("[lemons]\nrate_days = 0", "key 'lemons.rate_days'", "greater than or equal to 1"),
    ("[lemons.thresholds]\nxid_cnt = inf", "key 'lemons.thresholds.xid_cnt'", "finite"),
    ("[ettr]\ncheckpoint_minutes = nan", "key 'ettr.checkpoint_minutes'", "finite"),
    ("[ettr]\nrestart_minutes = 1e300", "key 'ettr.restart_minutes'", "less than or equal to 527040"),
    ("[quarantine]\nmax_share = 2", "key 'quarantine.max_share'", "less than or equal to 1"),
    ("[availability]\nobjective = 1.0", "key 'availability.objective'", "less than 1"),
    # Texts.
    ("[tickets]\ndelimiter = '\"'", "key 'tickets.delimiter'", "must not be a double quote, a line break"),
    ("[tickets]\ndelimiter = '||'", "key 'tickets.delimiter'", "must be one character"),
    ("[tickets]\ndate_format = '%d%d'", "key 'tickets.date_format'", "must be a format of strptime"),
    ("[sacct]\ndelimiter = ''", "key 'sacct.delimiter'", "at least 1 character"),
    (f"annotations = [{{ at = 2026-01-31, text = '{'x' * 1001}' }}]", "key 'annotations.0.text'", "at most 1000"),
    (f"gpu_model = '{'x ' * 400_000}'", "key 'gpu_model'", "at most 255"),
    (f"[nodes.aliases]\n'{'x ' * 1000}' = 'n1'", "key 'nodes.aliases.x x", "at most 255"),
    (f"[tickets.columns]\nnode = '{'x' * 256}'", "key 'tickets.columns.node'", "at most 255"),
    (f"[annotations]\n'{'x ' * 1000}' = 'x'", "key 'annotations", "Invalid isoformat"),
]  # fmt: skip
"""A text, the key in the message, and a part of the message."""


@pytest.mark.parametrize(("text", "key", "allowed"), REFUSED)
def test_what_cannot_be_meant_is_refused_in_one_short_line(text: str, key: str, allowed: str, tmp_path: Path) -> None:
    (tmp_path / "cluster.toml").write_bytes(text.replace("\\xff", "\xff").encode("latin-1"))
    _, (error,) = read_settings(tmp_path, "c1")
    shown = str(error)
    assert shown.startswith(f"c1/cluster.toml: {key}")
    assert allowed in shown.replace("action, ", "")
    assert len(shown) < 1000
    assert "\n" not in shown


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


def test_only_what_changes_reading_changes_the_reading_hash(tmp_path):
    plain = read(tmp_path, "")[0].reading_hash
    assert read(tmp_path, "price_per_gpu_hour = 3.0\n[ettr]\nwrite_minutes = 3")[0].reading_hash == plain
    for text in ("timezone = 'Asia/Tokyo'", "[nodes]\nstrip_suffixes = ['-ib']", "[tickets]\ndelimiter = ';'"):
        assert read(tmp_path, text)[0].reading_hash != plain


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ('[tickets]\nnode = "Host"\n', '[tickets.columns]\nnode = "Host"\n'),
        (
            '[annotations]\n"2026-01-31" = "driver 550"\n',
            'annotations = [{ at = 2026-01-31, text = "driver 550" }]\n',
        ),
    ],
)
def test_a_short_form_means_the_same(short: str, long: str, tmp_path: Path) -> None:
    (found, _), (expected, errors) = read(tmp_path, short), read(tmp_path, long)
    assert errors == []
    assert found.settings == expected.settings != Settings()


def test_the_causes_are_those_of_the_taxonomy():
    with (PROJECT / "dbt_project" / "seeds" / "failure_categories.csv").open() as file:
        causes = [
            (int(row["priority"]), row["failure_category"])
            for row in csv.DictReader(file)
            if row["is_cause"] == "true" and row["failure_category"] in get_args(FailureCategory)
        ]
    assert [name for _, name in sorted(causes)] == list(get_args(FailureCategory))
