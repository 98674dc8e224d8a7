"""Bytes that are not text lose no lines: archives after a log, NULs of a power loss, marks, escape sequences."""

from __future__ import annotations

import gzip
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.sources.events import reader as events
from assets.sources.intake.read import clean_text
from assets.sources.intake.read.clean_text import REPLACEMENT, Cleaner, Cleanness
from assets.sources.kernel import reader as kernel
from assets.sources.sacct import reader as sacct
from assets.sources.slurmctld import reader as slurmctld
from tests.logs import export, numbered
from tests.sources.folders import load, make, rows

READERS = {"sacct": sacct, "kernel": kernel, "slurmctld": slurmctld, "events": events}
GOOD = export(numbered(range(1, 9)))
WITH_NODES = export([{"NodeList": "gpu[000-039],n[0-39]", "NNodes": "80"}])
XID = (
    "2024-05-01T10:00:{:02d}+00:00 gpu{:03d} kernel: NVRM: Xid (PCI:0000:07:00): 79, pid=1, GPU has fallen off the bus."
)
KERNEL_LINES = [XID.format(number, number) for number in range(40)]
KERNEL = "".join(f"{line}\n" for line in KERNEL_LINES)


def cleaned(*pieces: bytes) -> str:
    return b"".join(Cleaner().pieces(pieces)).decode()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"\0\0\0\0line\n", "line\n"),
        (b"li\0\0\0\0ne\n", "line\n"),
        (b"line\0\0\n\0\0\r\nline\n", f"line\n{REPLACEMENT}\r\nline\n"),
        (b"Mar  2 10:00:00 n1 kernel: cut o\0\0\0Mar  2 10:05:00 n1 kernel: whole\n",
         "Mar  2 10:00:00 n1 kernel: cut o\nMar  2 10:05:00 n1 kernel: whole\n"),
        (b"[2024-05-01T10:00:00.000] err\0\0[2024-05-01T10:00:00.000] error: x\n",
         "[2024-05-01T10:00:00.000] err\n[2024-05-01T10:00:00.000] error: x\n"),
        ("\ufeffa|\ufeffb\n\ufeffc\n".encode(), "a|b\nc\n"),
        (b"\x1b[0m\x1b[1;31ma|\x1b]0;title\x07b\x1b(B\x1b[m|\x1bc|\x1b\n", "a|b|c|\n"),
        (b"caf\xe9\n", f"caf{REPLACEMENT}\n"),
    ],
    ids=["before", "within", "alone", "between syslog", "between slurmctld", "marks", "escapes", "latin"],
)  # fmt: skip
def test_what_is_taken_out_and_what_is_marked(content, expected):
    assert cleaned(content) == expected
    assert cleaned(*(content[place : place + 1] for place in range(len(content)))) == expected
    assert cleaned(content[: len(content) // 2], content[len(content) // 2 :]) == expected


_ODD_PIECES = st.lists(
    st.one_of(
        st.sampled_from([b"\0", b"\0\0\0", b"\xef\xbb\xbf", b"\x1b[31m", b"\x1b", b"\x01\x02\x03\x04", b"\n", b"\xff"]),
        st.binary(max_size=20),
        st.text(max_size=10).map(str.encode),
    ),
    max_size=12,
).map(b"".join)


@given(damage=_ODD_PIECES, place=st.integers(0, len(KERNEL_LINES)), size=st.integers(1, 40), little=st.integers(1, 100))
def test_damage_between_lines_loses_none_of_them_however_it_is_read(damage, place, size, little):
    lines = [f"{line}\n".encode() for line in KERNEL_LINES]
    content = b"".join([*lines[:place], damage, b"\n", *lines[place:]])
    clean = cleaned(content)
    assert set(KERNEL_LINES) <= set(clean.splitlines())
    assert cleaned(*(content[start : start + size] for start in range(0, len(content), size))) == clean
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(clean_text, "_LITTLE", little)
        assert cleaned(content) == clean


@given(damage=_ODD_PIECES, size=st.integers(1, 40))
def test_what_counts_as_clean_is_left_as_it_is(damage, size):
    content = b"first\n" + damage
    cleanness = Cleanness()
    for start in range(0, len(content), size):
        cleanness.add(content[start : start + size])
    assert cleanness.end() == (REPLACEMENT.encode() not in content and cleaned(content).encode() == content)


def archive(size: int = 60_000) -> bytes:
    """Return an archive that is larger than the log before it."""
    generator = random.Random(3)
    return gzip.compress(generator.randbytes(size), mtime=0)


def test_an_archive_behind_a_log_costs_no_line_of_the_log(tmp_path):
    log = "".join(
        f"[2024-05-01T10:{minute:02d}:00.000] error: Nodes n{minute} not responding, setting DOWN\n"
        for minute in range(40)
    )
    con = load(
        make(tmp_path, {"c1/sacct/a.txt": WITH_NODES, "c1/slurmctld/slurmctld.log": log.encode() + archive()}),
        readers=READERS,
    )
    assert rows(con, "select count(*) as events from raw.slurmctld_events") == [{"events": 40}]
    ((status, loaded, skipped, lines_in),) = con.execute(
        "select status, loaded, skipped, lines_in from ops.files where kind = 'slurmctld'"
    ).fetchall()
    assert (status, loaded) == ("read", 40)
    assert skipped < 0.1 * lines_in
    assert con.execute(
        "select reason from ops.quarantine where path like '%slurmctld%' group by all having count(*) > 100"
    ).fetchall() == [("not_text",)]


def test_archives_one_behind_the_other_are_one_log(tmp_path):
    packed = b"".join(gzip.compress(f"{line}\n".encode(), mtime=0) for line in KERNEL_LINES)
    con = load(make(tmp_path, {"c1/kernel/kern.log.gz": packed}), readers={"kernel": kernel})
    assert con.execute("select loaded, lines_in from ops.files where kind = 'kernel'").fetchall() == [(40, 40)]


@pytest.mark.parametrize(
    ("content", "quarantined", "suffix"),
    [
        (KERNEL.replace(KERNEL_LINES[20], "\0" * 5000 + KERNEL_LINES[20]), 0, ""),
        (KERNEL.replace("NVRM: Xid", "NVRM:\0\0 Xid", 1), 0, ".gz"),
        (KERNEL.replace(KERNEL_LINES[20], f"2024-05-01T10:00:59+00:00 n1 kern{chr(0) * 9}{KERNEL_LINES[20]}"), 0, ""),
        ("\0" * 600_000 + KERNEL, 0, ".gz"),
        ("\0" * 600_000 + "\n" + KERNEL, 1, ""),
        (KERNEL + "\0" * 600_000, 0, ".gz"),
    ],
    ids=["glued", "within", "between", "many before", "a line of them", "many behind"],
)  # fmt: skip
def test_nuls_of_a_power_loss_lose_no_xid(content, quarantined, suffix, tmp_path):
    packed = gzip.compress(content.encode()) if suffix else content.encode()
    con = load(make(tmp_path, {f"c1/kernel/kern.log{suffix}": packed}), readers={"kernel": kernel})
    assert con.execute("select count(distinct node_name) from raw.kernel_messages").fetchall() == [(40,)]
    assert con.execute(
        "select status from ops.files where kind = 'kernel' and list_contains(warnings, 'bad_encoding')"
    ).fetchall() == [("read",)]
    assert con.execute("select reason from ops.quarantine").fetchall() in (
        [("not_text",)] * quarantined,
        [("truncated_record",)],
    )
