"""Planted values on the pages: cells of tables, and sentences with a number, an unknown or a verdict."""

from __future__ import annotations

import pytest

from tests.report.reading import Element, section, table

TABLE_OF = {
    "rates": ("headline", "Failure rates"),
    "sizes": ("sizes", "Attempts by size"),
    "split": ("causes", "How many failures"),
    "unseen": ("causes", "Causes that were never seen"),
    "runs": ("ettr", "Progress and ETTR by run size"),
    "parts": ("ettr", "Hours of long runs by part"),
    "months": ("delivered", "Node-hours by month"),
    "noted": ("over-time", "What was introduced or noted"),
    "changes": ("over-time", "Changes of the rate"),
    "effects": ("over-time", "What each change did to the rate of incidents"),
    "together": ("trust", "What comes together"),
    "chance": ("trust", "How much of the attribution"),
    "forecasts": ("trust", "Forecasts by month"),
    "checks": ("checks", "What the alarms of each check"),
    "holding": ("repairs", "Actions that hold longer"),
    "relapses": ("repairs", "Relapses by cause"),
    "hidden": ("hidden", "Nodes with more bad ends"),
    "ratios": ("constant", "Failure rates compared"),
    "places": ("places", "Places by how they fail"),
    "lemons": ("lemons", "Nodes by how surely"),
    "signals": ("lemons", "Signals of the nodes"),
    "lists": ("lemons", "Lists of the past"),
    "large": ("lemons", "Failed attempts of 128 GPUs"),
    "covered": ("gaps", "What each log covers"),
}
"""Section and caption of tables, by a short name."""
ROWS = [
    (
        "hall-b",
        "rates",
        "jobs above 128 GPUs",
        {1: "attempts", 2: "unknown", 3: "", 5: "no finished attempt"},
    ),
    ("hall-b", "sizes", "GPUs unknown", {1: "1", 2: "14.3%", 3: "unknown", 4: "unknown"}),
    ("hall-b", "split", "Attributed", {2: "0.750"}),
    ("hall-b", "split", "Unexplained", {2: "0"}),
    ("hall-b", "split", "No coverage", {2: "0.750"}),
    ("demo", "unseen", "GPU link error (NVLink, xGMI)", {1: "2.50", 2: "1,200,000 100% of all"}),
    # 32 GPUs: 14 runs with 8 h of waiting and 40 h scheduled each, half an hour to restart and an hour lost.
    ("demo", "runs", "32 GPUs", {4: "99.0% 98.0% to 99.5%", 6: "0.970 0.950 to 0.980"}),
    ("demo", "runs", "256 GPUs", {-1: "a single run: no limits"}),
    ("demo", "parts", "32 GPUs", {1: "539 80.2%", 3: "7.00 1.04%", 4: "14.0 2.08%", 5: "112 16.7%", 6: "672"}),
    ("demo", "parts", "256 GPUs", {4: "1.00", 5: "unknown", 6: "unknown"}),
    ("demo", "months", "2026-09", {1: "700", 2: "240", 3: "60.0", 4: "0", 6: "1,000", 7: "94.00%", 8: "-500.00%"}),
    ("demo", "months", "2026-08", {1: "800", 5: "10.0", 7: "99.49% 98.49% to 99.50%"}),
    ("hall-b", "months", "2026-09", {1: "90.0", 5: "10.0", 7: "unknown 90.00% to 100.00%"}),
    ("demo", "noted", "2026-09-10", {1: "Check first reported"}),
    ("demo", "noted", "2026-09-11", {1: "Noted by the site"}),
    ("demo", "noted", "2026-09-13", {1: "Version rolled out", 2: "driver 550.54.15"}),
    ("demo", "changes", "all", {1: "2026-09-11", 2: "50.0 33.1 to 72.7", 3: "250 210 to 295", 4: "5.00 3.29 to 7.83"}),
    ("demo", "changes", "all", {5: "120 incidents in 800 node-days", 6: "2026-09-10: check dcgmi nvlink first"}),
    ("demo", "changes", "InfiniBand link", {4: "5.00 3.29 to 7.83", 6: "nothing known within 7 days"}),
    ("demo", "effects", "driver 550.54.15 | PCIe error", {1: "2026-09-13 40 of 80 nodes", 3: "0.490 0.330 to 0.710"}),
    ("demo", "effects", "driver 550.54.15 | PCIe error", {4: "60.0 400", 5: "30.0 410", 6: "1.25", 8: "helped"}),
    ("demo", "together", "PCIe error | Xid 79 (fell off the bus)", {2: "17", 3: "40", 4: "42.5%"}),
    ("demo", "together", "PCIe error | Xid 79 and IPMI critical interrupt", {2: "unknown", 3: "40", 4: "unknown"}),
    ("demo", "together", "InfiniBand link | any GPU cause", {2: "1", 3: "50", 4: "2.00%"}),
    ("demo", "chance", "InfiniBand link", {1: "10.0% 40 of 400 failed", 2: "0.30% 6 of 2,000 completed", 3: "9.73% "}),
    ("demo", "chance", "PCIe error", {2: "unknown no attempt of these sizes", 3: "unknown", 4: "unknown"}),
    # The first of five months has none before it, the last is not over; July's 30 failures, after 12, are outside.
    ("demo", "forecasts", "2026-06", {7: "yes"}),
    ("demo", "forecasts", "2026-07", {7: "no"}),
    ("demo", "forecasts", "2026-09", {7: ""}),
    ("demo", "checks", "link flaps", {1: "drop", 2: "40 40 could be judged", 3: "0.25% 0% to 9.74%", 6: "6.50"}),
    ("demo", "checks", "check pci", {1: "keep", 5: "4.00 min before at the end to 4.17 min before"}),
    ("demo", "checks", "service status", {1: "tune", 8: "2.00"}),
    ("demo", "holding", "PCIe error | reboot", {2: "relapses sooner", 3: "20 20 relapses", 4: "100% 88.1% to 100%"}),
    ("demo", "holding", "PCIe error | reboot", {6: "3.00 days", 7: "0.900 0.900 to 0.900"}),
    ("demo", "holding", "PCIe error | exchange", {2: "try first", 3: "20 0 relapses"}),
    ("demo", "relapses", "InfiniBand link | nothing (a false return)", {2: "cannot tell"}),
    ("demo", "hidden", "<img src=x", {1: "FAILED within 5 minutes", 3: "40 7 users", 4: "30 1.50 expected"}),
    ("demo", "hidden", "<img src=x", {5: "no upper limit above 20.0", 6: "under 0.1%"}),
    ("demo", "hidden", "n2", {1: "TIMEOUT"}),
    ("demo", "ratios", "this cluster over hall-b (simulated)", {5: "lower"}),
    ("demo", "ratios", "later half of the days over the earlier", {5: "higher"}),
    ("demo", "lemons", "1", {1: "sim007", 2: "lemon", 5: "72.0", 6: "5,000 pays back within a month if"}),
    ("demo", "lemons", "3", {1: "sim040", 2: "watch"}),
    ("hall-b", "lemons", "not ranked", {2: "not enough data", 3: "unknown", 4: "not estimated"}),
    ("demo", "signals", "jobs that exclude the node", {1: "0", 2: "unknown", 6: "no source shows", 7: "unknown"}),
    ("demo", "signals", "repair tickets", {-2: "3.00 (configured)", -1: "2"}),
    ("demo", "lists", "2026-09-08", {4: "50.0%"}),
    ("demo", "lists", "2026-09-15", {4: "nobody was named"}),
    ("demo", "large", "All large attempts", {3: "13.3%"}),
    ("demo", "large", "The same, had lemons failed none", {3: "7.78%"}),
    # The first 7 and the last 6 of 20 days; no node-day is known, so no share of them was seen.
    ("demo", "covered", "health", {3: "65.0%", 4: "", 5: "1 2026-09-08 00:00 to 2026-09-15 00:00"}),
]
"""Cluster, table, the beginning of the first cells of a row, and the beginning of other cells by column."""
SAID = [
    ("demo", "nodes", "5 outages not planned on 5 nodes"),
    ("demo", "nodes", "5 outages planned on 5 nodes"),
    ("demo", "drawn", "On 2 days the node-days are unknown"),
    ("demo", "over-time", "When 1 other check began is unknown"),
    ("demo", "checks", "Drop link flaps. Tune service status. Keep check pci. Cannot tell for 1 check: disk <usage>."),
    ("demo", "repairs", "PCIe error: try exchange first (0% back within 7 days)."),
    ("demo", "repairs", "6 of 46 repairs were false returns, with nothing done; after 100% of them the fault was back"),
    ("demo", "hidden", "250 GPU-hours were held without use, 25.0% of the 1,000 with known use"),
    ("hall-b", "hidden", "only a difference of 3.50 times or more would have been visible on a typical node"),
    ("hall-b", "constant", "1 comparison of rates cannot tell: no node-days on one side."),
    ("demo", "delivered", "the error budget of these hours is overspent by 500.00%."),
    ("demo", "delivered", "Over the last 7 days the budget burned 3.50 times as fast as allowed: too fast."),
    ("demo", "places", "fails 5.25 times as often as the rest (3.50 to 7.75)"),
    ("demo", "places", "Switch leaf3 lost several nodes at once 4 times, where chance gives 0.200"),
    ("demo", "places", "16.0% (8.00% to 32.0%) of node failures occur together with others of the switch"),
    ("demo", "places", "mean time to failure of 9.50 h (7.00 h to 13.0 h)"),
    ("demo", "trust", "Of 3 months forecast and over, 2 had their failure rate inside the 90% limits"),
    ("hall-b", "trust", "No month could be forecast"),
    ("demo", "lemons", "4.00% of these names are expected to be wrong"),
    ("hall-b", "lemons", "The data cannot tell: only 1 failure of nodes"),
    ("hall-b", "losses", "No price per GPU-hour is configured"),
    ("hall-b", "gaps", "unknown for 1 attempt (14.3%)"),
    ("demo", "gaps", "Nothing is missing"),
]
"""Cluster, section, and a text in it."""


def part_of(root: Element, chapters: dict[str, Element], cluster: str, key: str) -> Element:
    """Return a section of a cluster; the section on attribution is on the page Methods."""
    return root.all("section", id=f"trust-{cluster}")[0] if key == "trust" else section(chapters[cluster], key)


@pytest.fixture(scope="module")
def chapters(demo: Element, hall: Element) -> dict[str, Element]:
    """The pages of each cluster."""
    return {"demo": demo, "hall-b": hall}


@pytest.mark.parametrize(("cluster", "name", "leads", "cells"), ROWS)
def test_a_row_shows_what_was_planted(root, chapters, cluster, name, leads, cells):
    key, caption = TABLE_OF[name]
    asked = leads.split(" | ")
    found = [
        row
        for row in table(part_of(root, chapters, cluster, key), caption).rows()
        if (row[0].startswith(asked[0]) and (len(asked) == 1 or asked[-1] in row[1:3]))
        and (name != "rates" or row[1] == cells[1])
    ]
    assert found, table(part_of(root, chapters, cluster, key), caption).rows()
    for column, text in cells.items():
        assert found[0][column].startswith(text) if text else found[0][column] == "", (column, found[0])


@pytest.mark.parametrize(("cluster", "key", "said"), SAID)
def test_a_section_says_what_was_planted(root, chapters, cluster, key, said):
    assert said in part_of(root, chapters, cluster, key).text


@pytest.mark.parametrize(
    ("name", "leads"),
    [
        ("checks", ["link flaps", "service status", "check pci"]),
        ("effects", ["driver 550.54.15", "driver 550.54.15"]),
        ("changes", ["all", "InfiniBand link"]),
        ("forecasts", ["2026-06", "2026-07", "2026-08", "2026-09"]),
        ("covered", ["health"]),
    ],
)
def test_a_table_has_no_row_of_which_nothing_can_be_told(root, chapters, name, leads):
    key, caption = TABLE_OF[name]
    assert [row[0] for row in table(part_of(root, chapters, "demo", key), caption).rows()] == leads
