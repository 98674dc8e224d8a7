"""Envelopes of kernel messages beyond syslog and dmesg: what pdsh and grep print, dates with a year, levels."""

from __future__ import annotations

from datetime import datetime, timedelta

import duckdb
import pytest

from assets.sources.kernel import reader as kernel
from tests.sources.batches import cluster_of, read
from tests.sources.folders import load, make

XID = "NVRM: Xid (PCI:0000:17:00): 79, pid=4242, name=python, GPU has fallen off the bus."
AT = datetime(2026, 3, 2, 10, 0, 0)
FORMS = {
    "pdsh, syslog": "gpu01: Mar  2 10:00:00 gpu01 kernel: [ 12.5] {}",
    "pdsh, syslog without host": "gpu01: Mar  2 10:00:00 kernel: {}",
    "pdsh, one digit": "gpu01: Mar 2 10:00:00 localhost kernel: {}",
    "pdsh, journal": "gpu01: 2026-03-02T10:00:00+0000 gpu01 kernel: {}",
    "pdsh, dmesg -T": "gpu01: [Mon Mar  2 10:00:00 2026] {}",
    "pdsh, dmesg iso": "gpu01: 2026-03-02T10:00:00,000000+00:00 {}",
    "pdsh, priority": "gpu01: <4>Mar  2 10:00:00 gpu01 kernel: {}",
    "pdsh, another host's log": "loghost: Mar  2 10:00:00 gpu01 kernel: {}",
    "grep": "/var/log/messages-20260303:Mar  2 10:00:00 gpu01 kernel: {}",
    "grep -n, pdsh": "gpu01: kern.log.1:17:Mar  2 10:00:00 gpu01 kernel: {}",
    "short-precise": "Mar 02 10:00:00.123456 gpu01 kernel: {}",
    "year first": "2026 Mar  2 10:00:00 gpu01 kernel: {}",
    "year first, short day": "2026 Mar 2 10:00:00 gpu01 kernel: [   12.345678] {}",
    "year last": "Mar  2 10:00:00 2026 gpu01 kernel: {}",
    "year before the clock": "Mar  2 2026 10:00:00.123 gpu01 kernel: {}",
    "day first": "02 Mar 2026 10:00:00 gpu01 kernel: {}",
    "slashes": "2026/03/02 10:00:00 gpu01 kernel: {}",
    "short-full": "Mon 2026-03-02 10:00:00 UTC gpu01 kernel: {}",
    "short-full, offset": "Mon 2026-03-02 12:00:00 +02:00 gpu01 kernel: {}",
    "short-full, zone": "Mon 2026-03-02 10:00:00 CET gpu01 kernel: {}",
    "short-unix": "1772445600.000000 gpu01 kernel: {}",
    "level between": "Mar  2 10:00:00 gpu01 kern.err kernel: [ 12.5] {}",
    "level between, ISO": "2026-03-02T10:00:00+00:00 gpu01 kern.err kernel: {}",
    "level in brackets": "2026-03-02 10:00:00 gpu01 [kern.warning] kernel: {}",
    "level before": "kern.err: Mar  2 10:00:00 gpu01 kernel: {}",
    "year first, level": "2026 Mar  2 10:00:00 gpu01 kern.err kernel: {}",
}


def form_of(second: int, form: str) -> str:
    later = FORMS[form].replace("10:00:00", f"10:00:0{second}").replace("12:00:00", f"12:00:0{second}")
    return later.replace("5600.0", f"560{second}.0")


@pytest.fixture(scope="module")
def together(tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    """All forms as files of one folder, each of a node of its own, loaded at once."""
    files = {}
    for number, form in enumerate(FORMS):
        said = [FORMS[form].format(text) for text in ("nothing of note", XID, "usb 1-1: new device")]
        said.insert(2, form_of(7, form).format(XID))
        files[f"c1/kernel/{number}.log"] = "\n".join([*said, ""]).replace("gpu01", f"gpu{number:02}")
    return load(make(tmp_path_factory.mktemp("forms"), files), readers={"kernel": kernel})


@pytest.mark.parametrize("number", range(len(FORMS)), ids=FORMS)
def test_a_line_in_the_middle_of_a_log(number: int, together: duckdb.DuckDBPyConnection) -> None:
    path = [f"c1/kernel/{number}.log"]
    found = together.execute(
        "select line_number, node_name, message, date_trunc('second', occurred_at) from raw.kernel_messages "
        "where path = $1 order by all",
        path,
    ).fetchall()
    of_form = (f"gpu{number:02}", XID)
    assert found == [(2, *of_form, AT), (3, *of_form, AT + timedelta(seconds=7))]
    skips = together.execute("select reason, line_count from ops.skips where path = $1", path).fetchall()
    assert skips == [("not_relevant", 2)]


def test_local_time_of_a_date_with_a_year() -> None:
    text = "".join(f"2026 Jul  2 10:{minute:02}:00 gpu01 kernel: {XID}\n" for minute in range(3))
    outcome = read(kernel, text, cluster=cluster_of("Europe/Paris"))
    assert outcome.loaded[0]["occurred_at"] == datetime(2026, 7, 2, 8)
    assert outcome.loaded[0]["time_quality"] == "local_assumed"


def test_a_level_is_no_host_where_the_line_names_none() -> None:
    outcome = read(kernel, f"Mar  2 10:00:00 kern.err kernel: {XID}\n", "gpu07.log")
    assert [row["node_name"] for row in outcome.loaded] == ["gpu07"]


@pytest.mark.parametrize(
    "line", ["kernel: [   12.5] {}", "mce: [Hardware Error]: CPU 1: Machine Check: 0 Bank 7: 9c00", "EDAC MC0: 1 UE x"]
)
def test_a_program_before_the_message_is_no_host(line: str) -> None:
    printed = "gpu01: Mar  2 10:00:00 gpu01 kernel: x\n"
    outcome = read(kernel, printed + line.format(XID) + f"\n{printed}", "gpu07/kern.log")
    assert {row["node_name"] for row in outcome.loaded} <= {"gpu07"}
