"""Repair tickets: parts of a file and patterns of a site; their forms are rows of `tickets.toml`."""

from __future__ import annotations

import time

import pytest

from assets.sources.mapped_columns import records
from assets.sources.tickets import reader as tickets
from tests.sources.batches import cluster_of, load, read

HEADER = "ticket_id,node,opened,closed,component,action,status,summary\n"


MANY = HEADER + "".join(
    f'T{n},"n[1-3]",{n % 5 + 20}/5/2024,,GPU,,open,"over\n{n}\n\nlines"\n' if n % 3 else f"T{n},n1\n" for n in range(50)
)


def test_a_file_read_in_parts_is_read_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"a.csv": f'{MANY}T99,n1,"never closed\n{MANY}', "b.csv": MANY}
    whole = read(tickets, files["a.csv"]), load(tickets, files)
    monkeypatch.setattr(records, "LINES_TOGETHER", 7)
    monkeypatch.setattr(records, "ROWS_TOGETHER", 5)
    assert (read(tickets, files["a.csv"]), load(tickets, files)) == whole
    assert len(whole[0].loaded) == 2 * 33 * 3
    assert whole[0].quarantines == {"field_count": 34, "bad_csv": 1}


def test_files_are_read_again_when_the_order_of_patterns_changes() -> None:
    one, other = (
        cluster_of(tickets={"components": dict(pairs)}).reading_hash
        for pairs in ([("^mobo", "PCIe"), ("gpu", "NIC")], [("gpu", "NIC"), ("^mobo", "PCIe")])
    )
    assert one != other


def test_the_time_of_a_pattern_grows_with_the_length_of_the_cell_only() -> None:
    """An engine that backtracks takes 2**28 steps for the shorter cell, and never ends with the longer one."""
    cluster = cluster_of(tickets={"components": {"(a+)+$": "NIC"}})
    for length in (28, 100_000):
        before = time.process_time()
        (row,) = read(tickets, f"{HEADER}T1,n1,2024-05-01,,{'a' * length}!,,,\n", cluster=cluster).loaded
        assert time.process_time() - before < 2
        assert row["component"] == "other"
