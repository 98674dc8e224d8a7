"""The days on which each log saw a node, and blind logs."""

from __future__ import annotations

import random
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from assets.sources.formats import READERS
from assets.sources.intake.account.sight import write_sight
from assets.sources.intake.account.spans import write_spans
from assets.sources.intake.find.folder import survey
from tests.logs import result_line
from tests.sources.folders import load, make

XID = "NVRM: Xid (PCI:0000:0f:00): 79, pid=1, GPU has fallen off the bus."
CHATTER = "usb 1-1: new high-speed USB device number 2 using xhci_hcd"
JOBS = "JobID|User|Account|Partition|QOS|Submit|Start|End|ElapsedRaw|State|NNodes|AllocTRES|NodeList\n" + "".join(
    f"{day}|alice|nlp|train|normal|{start}|{start}|{start[:11]}12:00:00|43200|COMPLETED|2|gres/gpu=16|n[1-2]\n"
    for day in range(1, 31)
    for start in [f"2024-05-{day:02d}T00:00:00"]
)


def says(node: str, day: int, text: str = CHATTER, hour: int = 6) -> str:
    return f"2024-05-{day:02d}T{hour:02d}:00:00+00:00 {node} kernel: [ 10.5] {text}\n"


def loaded(folder: Path, files: dict[str, str], con: Any = None) -> Any:
    """Load files of cluster `c1` with accounting of 30 days in May on two nodes."""
    made = make(folder, {f"c1/{path}": text for path, text in ({"sacct/a.psv": JOBS} | files).items()})
    con = load(made, con, READERS)
    write_spans(con, survey(made, READERS, known_files={}))
    write_sight(con)
    return con


def days_of(con: Any, node: str, kind: str = "kernel") -> list[int]:
    """Return the days of the month on which a kind of log saw a node."""
    rows = con.execute(
        "select day_date from ops.sight where node_id = ? and kind = ? order by 1", [node, kind]
    ).fetchall()
    return [day.day for (day,) in rows if day <= date(2024, 5, 30) and day.month == 5]


def status_of(con: Any, path: str) -> tuple[str, str | None]:
    return con.execute("select status, reason from ops.files where path = ?", [f"c1/{path}"]).fetchone()


def check(node: str, day: int, ran: bool = True) -> str:
    said = {} if ran else {"code": 3, "message": "FAILED to execute"}
    return result_line(node, datetime(2024, 5, day, 6), **said) + "\n"


EVENTS = "Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User\n" + "".join(
    f"c1|n1|2024-05-{day:02d}T00:00:00|2024-05-{day:02d}T01:00:00|DOWN|fan|root(0)\n" for day in (10, 11)
)
CONTROLLER = "".join(f"[2024-05-{day:02d}T06:00:00.000] sched: Allocate JobId={day}\n" for day in range(2, 9))
NHC = "May  3 06:00:00 n1 nhc[7]: Health check failed: x\n" + "".join(
    f"May {day:2d} 06:00:00 n1 nhc[7]: Running check: check_fs_mount_rw\n" for day in (4, 9)
)
WORDS = "OK - all is well\n" * 3
MONTH = range(1, 31)
SEEN: dict[str, tuple[dict[str, str], str, dict[str, range], dict[str, range]]] = {
    "own-lines-whatever-they-say": (
        {"kernel/kern.log": "".join(says("n1", day) for day in range(3, 11)) + says("n2", 10)},
        "kernel", {"n1": range(3, 11), "n2": range(10, 11)}, {"n1": range(12, 31)},
    ),
    "no-line-in-a-log-of-others": (
        {"kernel/kern.log": "".join(says("n1", day) for day in MONTH)}, "kernel", {"n1": MONTH}, {"n2": MONTH},
    ),
    "names-with-a-domain": (
        {"kernel/kern.log": says("N1.example.org", 1) + says("n1.example.org", 30)}, "kernel", {"n1": MONTH}, {},
    ),
    # A selection does not see nodes without faults. The log of one node never sees other nodes.
    "selection-of-symptoms": (
        {"kernel/xids.log": says("n1", 2, XID) + says("n1", 20, XID)},
        "kernel", {"n1": range(2, 21), "n2": range(2, 21)}, {},
    ),
    "selection-of-one-node": (
        {"kernel/n1.log": says("n1", 2, XID) + says("n1", 20, XID)}, "kernel", {"n1": range(2, 21)}, {"n2": MONTH},
    ),
    "checks-that-ran": (
        {"health/h.jsonl": "".join(check("n1", day) + check("n2", day, ran=False) for day in (4, 5, 6))},
        "health", {"n1": range(4, 7)}, {"n2": MONTH},
    ),
    "nhc-that-finds-nothing": ({"health/nhc.2024-05-10.log": NHC}, "health", {"n1": range(3, 10)}, {}),
    "controller-says-of-all": ({"slurmctld/slurmctld.log": CONTROLLER}, "slurmctld", {"n2": range(2, 9)}, {}),
    "events-say-of-all": ({"events/e.psv": EVENTS}, "events", {"n2": range(10, 12)}, {}),
}  # fmt: skip
"""Files, a kind, the days on which it sees nodes, and days on which it does not."""


@pytest.mark.parametrize("name", SEEN)
def test_a_log_sees_a_node_on_the_days_of_its_lines(name, tmp_path):
    files, kind, seen, unseen = SEEN[name]
    con = loaded(tmp_path, files)
    assert [node for node, days in seen.items() if not set(days) <= set(days_of(con, node, kind))] == []
    assert [node for node, days in unseen.items() if set(days) & set(days_of(con, node, kind))] == []
    assert con.execute("select count(*) from raw.kernel_messages").fetchone() == (2 * ("selection" in name),)


def test_daily_files_follow_each_other_and_a_missing_week_is_not_seen(tmp_path):
    """By chance a busy node misses a day, and a quiet node many. A busy node misses no week."""
    days = [day for day in range(1, 31) if day != 5 and not 12 <= day <= 18]
    files = {f"kernel/n1/2024-05-{day:02d}.log": says("n1", day) for day in days}
    files |= {f"kernel/others-{day:02d}.log": says("n2", day) + says("x", day) for day in (1, 11, 20, 30)}
    files |= {f"kernel/login-{day:02d}.log": says("login", day) for day in range(1, 31)}
    con = loaded(tmp_path, files)
    assert days_of(con, "n1") == [day for day in range(1, 31) if not 12 <= day <= 18]
    assert days_of(con, "n2") == list(range(1, 31))


@pytest.mark.parametrize(
    ("understood", "others", "status"), [(5, 5, "read"), (4, 6, "blind"), (1, 3, "blind"), (300, 600, "blind")]
)
def test_a_log_of_which_fewer_than_half_of_the_lines_are_understood_is_blind(tmp_path, understood, others, status):
    lines = [says("n1", 1 + number % 28) for number in range(understood)] + ["<<who knows>>\n"] * others
    random.Random(1).shuffle(lines)
    text = "".join(lines) + "\n" * 40
    con = loaded(tmp_path, {"kernel/n1.log": text})
    found, reason = status_of(con, "kernel/n1.log")
    assert found == status
    if status == "blind":
        assert reason.startswith("blind: time and host were read of ")
        assert days_of(con, "n1") == []
        assert con.execute("select count(*) from ops.spans where kind = 'kernel'").fetchone() == (0,)


BLIND = "blind: time and host were read of {} of {} lines"


@pytest.mark.parametrize(
    ("path", "text", "status", "reason"),
    [
        ("kernel/n1.log", says("n1", 1) + "what is this\n" * 3, "blind", BLIND.format(1, 4)),
        ("kernel/n1.log", "nothing of a kernel\n", "refused", None),
        ("health/n1.log", "nothing of a check\n", "refused", None),
        # Seconds since an unknown boot.
        ("kernel/n1.log", "".join(f"[  {at}.000001] {CHATTER}\n" for at in range(9)), "blind", BLIND.format(0, 9)),
        ("health/n1.log", check("n1", 4) + WORDS, "read", None),
        ("health/n1.log", WORDS, "blind", BLIND.format(0, 3)),
        ("slurmctld/s.log", CONTROLLER.splitlines(True)[0] + "error: what happened\n" * 5, "blind", BLIND.format(1, 6)),
    ],
)
def test_a_log_without_times_and_hosts_is_blind_and_sees_nothing(path, text, status, reason, tmp_path):
    con = loaded(tmp_path, {path: text})
    found = status_of(con, path)
    assert found[0] == status
    assert reason in (None, found[1])
    assert bool(days_of(con, "n1", path.split("/")[0])) == (status == "read")


def test_what_is_sampled_of_a_long_log_is_spread_over_it(tmp_path):
    """A node with every tenth of 20,000 lines is seen, and none of the sampled lines is loaded."""
    start = datetime(2024, 5, 1)
    lines = [
        f"{start + timedelta(minutes=2 * number):%FT%T}+00:00 n{1 + (number % 10 == 3)} kernel: [ 1.5] {CHATTER}\n"
        for number in range(20_000)
    ]
    con = loaded(tmp_path, {"kernel/kern.log": "".join(lines)})
    assert days_of(con, "n1") == days_of(con, "n2") == list(range(1, 29))
    assert con.execute("select loaded, skipped from ops.files where kind = 'kernel'").fetchone() == (0, 20_000)
