"""On which days which nodes were seen by which log, and which logs are blind."""

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
from tests.sources.folders import connect, load, make

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
    """Load files of cluster `c1` beside accounting of 30 days in May on two nodes."""
    made = make(folder, {f"c1/{path}": text for path, text in ({"sacct/a.psv": JOBS} | files).items()})
    con = load(made, con, READERS)
    write_spans(con, survey(made, READERS, known={}))
    write_sight(con)
    return con


def days_of(con: Any, node: str, kind: str = "kernel") -> list[int]:
    """Give the days of accounting."""
    rows = con.execute(
        "select day_date from ops.sight where node_id = ? and kind = ? order by 1", [node, kind]
    ).fetchall()
    return [day.day for (day,) in rows if day <= date(2024, 5, 30) and day.month == 5]


def status_of(con: Any, path: str) -> tuple[str, str | None]:
    return con.execute("select status, reason from ops.files where path = ?", [f"c1/{path}"]).fetchone()


def test_a_node_is_seen_where_its_own_lines_are_whatever_they_say(tmp_path):
    text = "".join(says("n1", day) for day in range(3, 11)) + says("n2", 10)
    con = loaded(tmp_path, {"kernel/kern.log": text})
    assert set(range(3, 11)) <= set(days_of(con, "n1"))
    assert days_of(con, "n1")[-1] <= 11
    assert 10 in days_of(con, "n2")
    assert con.execute("select count(*) from raw.kernel_messages").fetchone() == (0,)


def test_a_node_without_a_line_in_a_log_of_others_is_not_seen(tmp_path):
    con = loaded(tmp_path, {"kernel/kern.log": "".join(says("n1", day) for day in range(1, 31))})
    assert days_of(con, "n1") == list(range(1, 31))
    assert days_of(con, "n2") == []


def test_a_name_with_a_domain_is_the_node(tmp_path):
    con = loaded(tmp_path, {"kernel/kern.log": says("N1.example.org", 1) + says("n1.example.org", 30)})
    assert days_of(con, "n1") == list(range(1, 31))


def test_daily_files_follow_each_other_and_a_missing_week_is_not_seen(tmp_path):
    """By chance a busy node misses a day, and one that speaks seldom many; a busy one misses no week."""
    days = [day for day in range(1, 31) if day != 5 and not 12 <= day <= 18]
    files = {f"kernel/n1/2024-05-{day:02d}.log": says("n1", day) for day in days}
    files |= {f"kernel/others-{day:02d}.log": says("n2", day) + says("x", day) for day in (1, 11, 20, 30)}
    files |= {f"kernel/login-{day:02d}.log": says("login", day) for day in range(1, 31)}
    con = loaded(tmp_path, files)
    assert days_of(con, "n1") == [day for day in range(1, 31) if not 12 <= day <= 18]
    assert days_of(con, "n2") == list(range(1, 31))


def test_a_selection_of_symptoms_is_one_of_all_nodes(tmp_path):
    """It says nothing of nodes without faults; the log of one node says nothing of others either way."""
    con = loaded(tmp_path, {"kernel/xids.log": says("n1", 2, XID) + says("n1", 20, XID)})
    assert set(range(2, 21)) <= set(days_of(con, "n2"))
    con = loaded(tmp_path / "own", {"kernel/n1.log": says("n1", 2, XID) + says("n1", 20, XID)})
    assert set(range(2, 21)) <= set(days_of(con, "n1"))
    assert days_of(con, "n2") == []


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


def test_the_reason_tells_the_lines(tmp_path):
    con = loaded(tmp_path, {"kernel/n1.log": says("n1", 1) + "what is this\n" * 3})
    assert status_of(con, "kernel/n1.log") == ("blind", "blind: time and host were read of 1 of 4 lines")


def test_a_refused_log_is_no_log(tmp_path):
    con = loaded(tmp_path, {"kernel/n1.log": "nothing of a kernel\n", "health/n1.log": "nothing of a check\n"})
    assert status_of(con, "kernel/n1.log")[0] == status_of(con, "health/n1.log")[0] == "refused"
    assert days_of(con, "n1") == days_of(con, "n1", "health") == []


def test_lines_of_seconds_since_an_unknown_boot_are_not_understood(tmp_path):
    con = loaded(tmp_path, {"kernel/n1.log": "".join(f"[  {second}.000001] {CHATTER}\n" for second in range(9))})
    assert status_of(con, "kernel/n1.log")[0] == "blind"


def check(node: str, day: int, ran: bool = True) -> str:
    said = {} if ran else {"code": 3, "message": "FAILED to execute"}
    return result_line(node, datetime(2024, 5, day, 6), **said) + "\n"


def test_a_check_sees_its_node_if_it_ran(tmp_path):
    files = {"health/h.jsonl": "".join(check("n1", day) + check("n2", day, ran=False) for day in (4, 5, 6))}
    con = loaded(tmp_path, files)
    assert {4, 5, 6} <= set(days_of(con, "n1", "health"))
    assert days_of(con, "n2", "health") == []


def test_words_beside_records_make_no_check_log_blind_and_words_alone_do(tmp_path):
    words = "OK - all is well\nOK - all is well\nOK - all is well\n"
    con = loaded(tmp_path, {"health/a.log": check("n1", 4) + words, "health/b.log": words})
    assert status_of(con, "health/a.log")[0] == "read"
    assert status_of(con, "health/b.log") == ("blind", "blind: time and host were read of 0 of 3 lines")


def test_nhc_is_seen_also_where_it_finds_nothing(tmp_path):
    text = "".join(f"May {day:2d} 06:00:00 n1 nhc[7]: Running check: check_fs_mount_rw\n" for day in (4, 9))
    con = loaded(tmp_path, {"health/nhc.2024-05-10.log": "May  3 06:00:00 n1 nhc[7]: Health check failed: x\n" + text})
    assert set(range(3, 10)) <= set(days_of(con, "n1", "health"))


def test_the_controller_and_node_events_tell_of_all_nodes(tmp_path):
    log = "".join(f"[2024-05-{day:02d}T06:00:00.000] sched: Allocate JobId={day}\n" for day in range(2, 9))
    events = "Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User\n" + "".join(
        f"c1|n1|2024-05-{day:02d}T00:00:00|2024-05-{day:02d}T01:00:00|DOWN|fan|root(0)\n" for day in (10, 11)
    )
    con = loaded(tmp_path, {"slurmctld/slurmctld.log": log, "events/e.psv": events})
    assert set(range(2, 9)) <= set(days_of(con, "n2", "slurmctld"))
    assert {10, 11} <= set(days_of(con, "n2", "events"))


def test_a_controllers_log_without_times_is_blind(tmp_path):
    log = "[2024-05-02T06:00:00.000] sched: Allocate JobId=1\n" + "error: what happened\n" * 5
    con = loaded(tmp_path, {"slurmctld/slurmctld.log": log})
    assert status_of(con, "slurmctld/slurmctld.log")[0] == "blind"


def test_a_file_that_is_forgotten_or_corrected_takes_its_sight_along(tmp_path):
    con = loaded(tmp_path, {"kernel/n1.log": says("n1", 1) + says("n1", 9)})
    loaded(tmp_path, {"kernel/n1.log": says("n2", 2)}, con)
    days = con.execute("select node_name, day_date from raw.sightings order by all").fetchall()
    assert ("n2", date(2024, 5, 2)) in days


def test_what_is_sampled_of_a_long_log_is_spread_over_it(tmp_path):
    """No node is missed that has every tenth of 20,000 lines, and none of the sampled lines is loaded."""
    start = datetime(2024, 5, 1)
    lines = [
        f"{start + timedelta(minutes=2 * number):%FT%T}+00:00 n{1 + (number % 10 == 3)} kernel: [ 1.5] {CHATTER}\n"
        for number in range(20_000)
    ]
    con = loaded(tmp_path, {"kernel/kern.log": "".join(lines)})
    assert days_of(con, "n1") == days_of(con, "n2") == list(range(1, 29))
    assert con.execute("select loaded, skipped from ops.files where kind = 'kernel'").fetchone() == (0, 20_000)


def test_an_empty_warehouse_has_no_sight():
    assert write_sight(connect()) == 0
