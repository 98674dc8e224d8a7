"""Clusters in TOML: every file is complete, shorthand is expanded, and an error names the place of a mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from assets.simulation.causes import CAUSES, DRAIN_CATEGORIES, LEMON_CATEGORIES
from assets.simulation.clusters import profile_names, read_cluster, read_profile
from assets.simulation.profiles import Profile
from assets.simulation.states import STATES

INDEX = 'tiny = ["tiny"]'
TINY = """
timezone = "UTC"
first_day = 2026-01-05
days = 10
node_count = 20
gpus_per_node = 8
fault_rate = 0.01
drain_rate = 0
alarm_rate = 0.0
lemons = []
streams = [{ name = "prime", load = 0.5, sizes = [{ gpus = 8, share = 1, median_hours = 2.0, sigma = 1.0 }] }]
outcomes = { COMPLETED = 1.0 }
large_outcomes = { COMPLETED = 1.0 }
"""


def read(folder: Path, text: str) -> Profile:
    """Read a cluster from a file with this text."""
    (folder / "profiles.toml").write_text(INDEX, encoding="utf-8")
    (folder / "tiny.toml").write_text(text, encoding="utf-8")
    return read_cluster("tiny", folder)


@pytest.mark.parametrize("name", profile_names())
def test_every_profile_can_be_read_and_names_what_the_simulation_knows(name: str) -> None:
    categories = {cause.category for cause in CAUSES} | set(DRAIN_CATEGORIES)
    for profile in read_profile(name):
        assert set(profile.outcomes) | set(profile.large_outcomes) <= set(STATES)
        assert {burst.category for burst in profile.bursts} <= categories
        assert {fault.category for fault in profile.shared_faults} <= categories
        assert {lemon.root_cause for lemon in profile.lemons} <= {*LEMON_CATEGORIES, "unresolved"}
        for stream in profile.streams:
            assert sum(size.share for size in stream.sizes) == pytest.approx(1, abs=0.05)


def test_a_group_of_lemons_stands_at_equal_distances(tmp_path: Path) -> None:
    group = 'lemons = [{ root_causes = ["GPU", "NIC"], rate = 0.5, between = [0.2, 0.6] }]'
    profile = read(tmp_path, TINY.replace("lemons = []", group))
    assert [(lemon.root_cause, lemon.rate) for lemon in profile.lemons] == [("GPU", 0.5), ("NIC", 0.5)]
    assert [lemon.position for lemon in profile.lemons] == pytest.approx([0.3, 0.5])


REPEATED = """
[[shared_faults]]
day = 1.5
category = ["ib_link", "filesystem_mount", "ib_link"]
first_position = 0.4
node_count = 3
repeat = { count = 3, every_days = 2, position_step = 0.25, position_limit = 0.8 }
[[maintenance]]
day = 4
first_position = [0.7, 0.1]
node_count = 4
hours = 2.0
reason = "maint: pod {pod}"
repeat = { count = 2, every_days = 3, pods = 2 }
"""


def test_a_row_with_repeat_stands_for_several_events(tmp_path: Path) -> None:
    profile = read(tmp_path, TINY + REPEATED)
    faults = [(fault.day, fault.category, fault.node_count) for fault in profile.shared_faults]
    assert faults == [(1.5, "ib_link", 3), (3.5, "filesystem_mount", 3), (5.5, "ib_link", 3)]
    assert [fault.first_position for fault in profile.shared_faults] == pytest.approx([0.4, 0.65, 0.1])
    planned = [(event.day, event.first_position, event.reason) for event in profile.maintenance]
    assert planned == [(4, 0.7, "maint: pod 1"), (7, 0.1, "maint: pod 3")]


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("days = 10", "dayz = 10", "days: Field required; dayz: "),
        ("days = 10\n", "", "days"),
        ("days = 10", "days = 10.5", "days"),
        ("days = 10", "days = true", "days"),
        ("fault_rate = 0.01", 'fault_rate = "0.01"', "fault_rate"),
        ("gpus = 8, ", "gpus = [8], ", r"streams\.0\.sizes\.0\.gpus"),
        ("COMPLETED = 1.0 }\nlarge", "COMPLETED = [] }\nlarge", r"outcomes\.COMPLETED"),
        ("lemons = []", 'lemons = [{ root_causes = ["GPU"], rate = 1, between = [0.5] }]', ""),
        ("lemons = []", "lemons = []\nmaintenance = [{ day = 1, repeat = { often = 2 } }]", ".*often"),
    ],
)
def test_a_mistake_in_a_file_is_named_with_its_place(tmp_path: Path, old: str, new: str, place: str) -> None:
    assert old in TINY
    with pytest.raises(ValueError, match=rf"tiny\.toml: {place}"):
        read(tmp_path, TINY.replace(old, new))
