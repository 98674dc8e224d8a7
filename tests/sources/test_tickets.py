"""Repair tickets: the site's own columns and dates, one row per node, closed wins over open."""

from __future__ import annotations

import time

import duckdb
import pytest

from assets.sources.mapped_columns import records
from assets.sources.mapped_columns import values as ticket_values
from assets.sources.tickets import reader as tickets
from assets.sources.tickets.components import component_of
from tests.sources.batches import cluster_of, load, read

HEADER = "ticket_id,node,opened,closed,component,action,status,summary\n"


def test_a_ticket_seen_open_and_later_closed_is_the_closed_one() -> None:
    seen_open = {"2024-05-01.csv": HEADER + "T1,n1,2024-05-01,,GPU,,open,\n"}
    seen_closed = {"2024-05-09.csv": HEADER + "T1,n1,2024-05-01,2024-05-03,GPU,,closed,\n"}
    for order in ((seen_open, seen_closed), (seen_closed, seen_open)):
        assert [(row["status"], row["disposition"]) for row in load(tickets, *order)] == [
            ("open", "duplicate"),
            ("closed", "loaded"),
        ]


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


@pytest.mark.parametrize(
    ("shown", "meant"),
    [
        ("GPU", "GPU"),
        ("gpu 3 (H100 SXM5)", "GPU"),
        ("HBM memory of GPU", "GPU"),
        ("DIMM A7", "DIMM"),
        ("Main memory", "DIMM"),
        ("PCIe riser", "PCIe"),
        ("EUD", "EUD"),
        ("BIOS update", "BIOS"),
        ("mlx5 NIC", "NIC"),
        ("IB HCA", "NIC"),
        ("power supply 2", "PSU"),
        ("OSFP transceiver", "Optics"),
        ("IB cable", "Optics"),
        ("CPU 1", "CPU"),
        ("fan tray", "other"),
        ("", "unknown"),
        (None, "unknown"),
    ],
)
def test_component(shown: str | None, meant: str) -> None:
    assert component(shown, {}) == meant


def component(shown: str | None, configured: dict[str, str]) -> str:
    """Return the component that a cell means."""
    query = f"select {component_of('shown', configured)} from (select nullif(?, '') as shown)"
    return duckdb.execute(query, [shown]).fetchall()[0][0]


def test_patterns_of_the_site_are_tried_first_and_in_their_order() -> None:
    assert component("mobo of gpu", {}) == "GPU"
    assert component("MOBO of gpu", {"^mobo": "PCIe", "gpu": "NIC"}) == "PCIe"
    assert component("MOBO of gpu", {"gpu": "NIC", "^mobo": "PCIe"}) == "NIC"
    one, other = (
        cluster_of(tickets={"components": dict(pairs)}).reading_hash
        for pairs in ([("^mobo", "PCIe"), ("gpu", "NIC")], [("gpu", "NIC"), ("^mobo", "PCIe")])
    )
    assert one != other, "the files are read again when the order changes"


def test_the_time_of_a_pattern_grows_with_the_length_of_the_cell_only() -> None:
    """An engine that backtracks takes 2**28 steps for the shorter cell, and never ends with the longer one."""
    cluster = cluster_of(tickets={"components": {"(a+)+$": "NIC"}})
    for length in (28, 100_000):
        before = time.process_time()
        (row,) = read(tickets, f"{HEADER}T1,n1,2024-05-01,,{'a' * length}!,,,\n", cluster=cluster).loaded
        assert time.process_time() - before < 2
        assert row["component"] == "other"


@pytest.mark.parametrize(
    ("shown", "zone", "utc"),
    [
        ("2024-05-03", "UTC", "2024-05-03 00:00:00"),
        ("2024-05-03T09:00:00Z", "Europe/Berlin", "2024-05-03 09:00:00"),
        ("2024-05-03 09:00:00+02:00", "UTC", "2024-05-03 07:00:00"),
        ("03.05.2024 09:00", "Europe/Berlin", "2024-05-03 07:00:00"),
        ("03/May/24 9:15 PM", "UTC", "2024-05-03 21:15:00"),
        ("May 3, 2024", "UTC", "2024-05-03 00:00:00"),
        ("1714694400", "Europe/Berlin", "2024-05-03 00:00:00"),
    ],
)
def test_date(shown: str, zone: str, utc: str) -> None:
    assert str(ticket_values.moment(shown, zone)) == utc


def test_a_ticket_does_not_close_before_it_opens_in_the_doubled_hour() -> None:
    opened = ticket_values.moment("2023-11-05 01:36:23", "America/Los_Angeles")
    closed = ticket_values.moment("2023-11-05 01:23:18", "America/Los_Angeles", not_before=opened)
    assert (str(opened), str(closed)) == ("2023-11-05 08:36:23", "2023-11-05 09:23:18")
