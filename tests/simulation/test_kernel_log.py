"""The kernel log of ledgers made by hand: stamps, uptimes, chatter, and lines of users' programs."""

from __future__ import annotations

import re
from datetime import date, datetime
from pathlib import Path
from typing import NamedTuple
from zoneinfo import ZoneInfo

import pytest

from assets.simulation.ledger import Symptoms
from assets.simulation.logs.kernel import BOOT_LINE, REPEATS, write_kernel
from assets.simulation.profiles import DAY, HOUR
from assets.simulation.states import FAILED, LOST, OUT_OF_MEMORY
from tests.simulation.small_ledger import Handmade
from tests.simulation.small_ledger import small_site as site

LINE = re.compile(r"(\S+) (\S+) kernel: \[ *(\d+\.\d{6})\] (.*)")
QUIET = {"chatter_per_node_day": 0.0}


class Line(NamedTuple):
    """A line read back: simulated seconds, node, uptime, text, and the written time."""

    at: float
    node: str
    uptime: float
    text: str
    stamp: datetime


def read(made: Handmade, folder: Path) -> list[Line]:
    """Write the kernel log and read it back."""
    record = made.record()
    write_kernel(record, folder)
    lines = []
    for path in sorted(folder.iterdir()):
        for line in path.read_text().splitlines():
            found = LINE.fullmatch(line)
            assert found, line
            stamp = datetime.fromisoformat(found[1])
            assert path.name == f"kern-{stamp:%Y-%m-%d}.log"
            lines.append(Line(stamp.timestamp() - record.epoch, found[2], float(found[3]), found[4], stamp))
    return lines


def test_kernel_lines_have_the_time_of_their_symptom_or_the_first_midnight(tmp_path: Path) -> None:
    made = Handmade(site(habits=QUIET))
    made.breaks(1, at=50_000, cleared=60_000, symptoms=Symptoms([(0.0, "first"), (2.0, "second")]))
    made.breaks(0, at=5, cleared=60_000, mechanism=LOST, symptoms=Symptoms([(-15.0, "last words")]))
    early, first, second = (line for line in read(made, tmp_path) if line.text != BOOT_LINE)
    assert (early.at, early.node, first.text, second.text) == (0.0, "node001", "first", "second")
    assert 50_000 <= first.at < 50_001
    assert second.at - first.at == pytest.approx(2.0, abs=2e-6)


def test_uptimes_begin_with_each_start(tmp_path: Path) -> None:
    made = Handmade(site(habits={"chatter_per_node_day": 200.0}))
    made.outage(1, start=40_000, end=50_240)
    made.outage(1, start=140_000, end=150_240)
    lines = read(made, tmp_path)
    boots = [line for line in lines if line.text == BOOT_LINE]
    assert [int(line.at) for line in boots] == [50_000, 150_000]
    assert all(line.uptime == 0 for line in boots)
    for line in lines:
        started = [boot.at for boot in boots if boot.node == line.node and boot.at <= line.at]
        if started:
            assert line.uptime == pytest.approx(line.at - max(started), abs=3e-6)
        else:
            assert DAY <= line.uptime < 33 * DAY
    never_restarted = {round(line.uptime - line.at) for line in lines if line.node == "node001"}
    assert len(never_restarted) == 1


def test_programs_leave_their_errors_on_the_first_node(tmp_path: Path) -> None:
    made = Handmade(site(habits=QUIET))
    made.job([1, 2], start=1_000, end=2_000, state=FAILED, app_xid=13)
    made.job([0], start=3_000, end=4_000, state=OUT_OF_MEMORY)
    made.job([0], start=5_000, end=6_000)
    made.job([0], start=7_000, end=-1, app_xid=31)
    lines = read(made, tmp_path)
    xids = [line for line in lines if "NVRM: Xid" in line.text]
    assert len(xids) == REPEATS[13] == len(lines) - 1
    assert {line.node for line in xids} == {"node002"}
    assert all(re.match(r"NVRM: Xid \(PCI:0000:bd:00\): 13, pid=\d+, ", line.text) for line in xids)
    assert all(1_999 <= line.at < 2_000 for line in xids)
    assert lines[-1].text.startswith("Memory cgroup out of memory: Killed process ")
    assert (lines[-1].node, lines[-1].at) == ("node001", 3_999.5)


def test_stamps_follow_daylight_saving(tmp_path: Path) -> None:
    made = Handmade(site(days=3, first_day=date(2026, 3, 7), habits={"chatter_per_node_day": 200.0}))
    zone, lines = ZoneInfo(made.profile.timezone), read(made, tmp_path)
    change = DAY + 2 * HOUR
    for line in lines:
        assert line.stamp.isoformat()[-6:] == ("-08:00" if line.at < change else "-07:00")
        assert line.stamp.replace(tzinfo=None) == line.stamp.astimezone(zone).replace(tzinfo=None)
    assert {line.at < change for line in lines} == {True, False}
    assert [line.at for line in lines] == sorted(line.at for line in lines)
