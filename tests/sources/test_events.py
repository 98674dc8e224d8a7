"""sacctmgr's events: any columns, any time format, an interval once."""

from __future__ import annotations

from pathlib import Path

import pytest

from assets.sources.events import reader as events
from assets.sources.formats import READERS
from tests.logs import export
from tests.sources.batches import TESTBED, load, read
from tests.sources.folders import load as load_folder
from tests.sources.folders import make, rows

HEADER = "NodeName|TimeStart|TimeEnd|State|Reason|User\n"


def test_the_genuine_capture_is_read_whole() -> None:
    outcome = read(events, (TESTBED / "events" / "events.psv").read_text(encoding="utf-8"))
    assert outcome.line_count == 17
    assert outcome.skips == {"header": 1}
    assert not outcome.quarantined
    nodes = [row for row in outcome.loaded if row["event_kind"] == "node"]
    assert len(nodes) == 15
    assert [(row["node_name"], row["state"]) for row in nodes if row["ended_at"] is None] == [("node001", "DRAIN")]
    assert {row["node_name"] for row in nodes if row["state_flags"] == "*"} == {"node004", "node009", "node010"}


@pytest.mark.parametrize("open_first", [True, False])
def test_an_interval_seen_open_and_later_closed_is_the_closed_one(open_first: bool) -> None:
    seen_open = {"monday.txt": HEADER + "n1|1795248178|Unknown|DOWN|x|root(0)\n"}
    seen_closed = {"tuesday.txt": HEADER + "n1|1795248178|1795248208|DOWN|x|root(0)\n"}
    table = load(events, *((seen_open, seen_closed) if open_first else (seen_closed, seen_open)))
    assert [(row["path"], row["disposition"]) for row in table] == [
        ("c1/events/monday.txt", "duplicate"),
        ("c1/events/tuesday.txt", "loaded"),
    ]


def test_an_interval_of_no_length_does_not_close_the_open_one_that_follows_it() -> None:
    table = load(
        events,
        {"a": HEADER + "n1|1795248178|1795248178|DRAIN|x|root(0)\nn1|1795248178|Unknown|DRAIN|y|root(0)\n"},
    )
    assert [row["disposition"] for row in table] == ["loaded", "loaded"]


def test_the_same_export_in_epochs_and_local_times_counts_once() -> None:
    table = load(
        events,
        {"epoch": HEADER + "n1|1795248178|1795248208|DOWN|x|root(0)\n"},
        {"local": HEADER + "n1|2026-11-21T08:02:58|2026-11-21T08:03:28|DOWN|x|root(0)\n"},
    )
    assert [row["disposition"] for row in table] == ["loaded", "duplicate"]


@pytest.mark.parametrize(
    ("named", "warnings"),
    [("c1", []), ("C1", []), ("", []), ("c2", ["other_cluster: rows say 'c2', the folder is 'c1'"])],
)
def test_rows_of_another_cluster_are_told_of(named: str, warnings: list[str], tmp_path: Path) -> None:
    files = {
        "c1/events/a.psv": f"Cluster|{HEADER}{named}|n1|1714550400|1714554000|DOWN|x|root(0)\n"
        f"{named}|n1|1714560000|1714564000|DOWN|x|root(0)\n",
        "c1/sacct/a.psv": export([{}]),
    }
    con = load_folder(make(tmp_path, files), readers={kind: READERS[kind] for kind in ("sacct", "events")})
    (file,) = rows(con, "select warnings from ops.files where kind = 'events'")
    assert file["warnings"] == warnings
