"""Repair tickets: files in parts, and the order of patterns. Their forms are rows of `tickets.toml`."""

from __future__ import annotations

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
