"""Reading clusters from TOML: every file is complete, shorthand is expanded, and a mistake is named with its place."""

from __future__ import annotations

import tomllib
from collections import Counter
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from assets.simulation.causes import CAUSES, DRAIN_CATEGORIES, LEMON_CATEGORIES, Cooccurrence
from assets.simulation.clusters import profile_names, read_cluster, read_profile
from assets.simulation.clusters.reading import FOLDER
from assets.simulation.profiles import Profile
from assets.simulation.states import STATES
from orchestration.settings.home import PROJECT, code_version

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


def test_every_file_belongs_to_a_profile() -> None:
    files = {path.stem: tomllib.loads(path.read_text(encoding="utf-8")) for path in FOLDER.glob("*.toml")}
    clusters = {profile.cluster_id for name in profile_names() for profile in read_profile(name)} & files.keys()
    bases = {files[cluster]["based_on"] for cluster in clusters}
    assert files.keys() == {"profiles"} | clusters | bases


def test_the_two_large_clusters_have_the_lemons_of_the_paper() -> None:
    causes = Counter(lemon.root_cause for name in ("rsc1", "rsc2") for lemon in read_cluster(name).lemons)
    table = {"GPU": 11, "DIMM": 8, "PCIe": 6, "EUD": 4, "BIOS": 3, "NIC": 3, "PSU": 2, "Optics": 1, "CPU": 1}
    assert causes == table | {"unresolved": 1}
    rsc1 = read_cluster("rsc1")
    bad_links = [lemon.position for lemon in rsc1.lemons if lemon.root_cause in {"NIC", "Optics"}]
    assert rsc1.bursts[2].positions == (*bad_links, 0.195, 0.435)


def test_a_cluster_takes_from_its_base_what_it_does_not_say_itself(tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text(TINY, encoding="utf-8")
    profile = read(tmp_path, 'based_on = "base"\nnode_count = 5\noutcomes = { FAILED = 1.0 }\n')
    assert (profile.cluster_id, profile.node_count, profile.days) == ("tiny", 5, 10)
    assert profile.outcomes == {"FAILED": 1.0}


def test_keys_that_a_file_does_not_have_take_the_values_of_the_classes(tmp_path: Path) -> None:
    profile = read(tmp_path, TINY)
    defaults = {field.name: field.default for field in fields(Profile)}
    for name in ("bursts", "crash_loops", "repairs", "logs", "users", "false_alarms"):
        assert getattr(profile, name) == defaults[name]
    assert profile.cooccurrence == Cooccurrence()


def test_a_group_of_lemons_stands_at_equal_distances(tmp_path: Path) -> None:
    group = 'lemons = [{ root_causes = ["GPU", "NIC"], rate = 0.5, between = [0.2, 0.6] }]'
    profile = read(tmp_path, TINY.replace("lemons = []", group))
    assert [(lemon.root_cause, lemon.rate) for lemon in profile.lemons] == [("GPU", 0.5), ("NIC", 0.5)]
    assert [lemon.position for lemon in profile.lemons] == pytest.approx([0.3, 0.5])


def test_a_row_with_repeat_stands_for_several_events(tmp_path: Path) -> None:
    profile = read(
        tmp_path,
        TINY
        + """
[[shared_faults]]
day = 1.5
category = ["ib_link", "filesystem_mount", "ib_link"]
first_position = 0.4
node_count = 3
repeat = { count = 3, every_days = 2, position_step = 0.25, position_limit = 0.8 }
[[shared_faults]]
day = 9
category = "ib_link"
first_position = [0.7, 0.1]
node_count = 2
repeat = { count = 2, every_days = 0.25 }
[[maintenance]]
day = 4
first_position = 0.0
node_count = 4
hours = 2.0
reason = "maint: pod {pod}"
repeat = { count = 2, every_days = 3, position_step = 0.2, pods = 2 }
""",
    )
    faults = [(fault.day, fault.category, fault.node_count) for fault in profile.shared_faults]
    assert faults == [
        (1.5, "ib_link", 3),
        (3.5, "filesystem_mount", 3),
        (5.5, "ib_link", 3),
        (9, "ib_link", 2),
        (9.25, "ib_link", 2),
    ]
    assert [fault.first_position for fault in profile.shared_faults] == pytest.approx([0.4, 0.65, 0.1, 0.7, 0.1])
    planned = [(event.day, event.first_position, event.reason) for event in profile.maintenance]
    assert planned == [(4, 0.0, "maint: pod 1"), (7, 0.2, "maint: pod 3")]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("days = 10", "dayz = 10", r"tiny\.toml: unknown key 'dayz'; the keys are: cluster_id, timezone"),
        ("days = 10\n", "", r"tiny\.toml: the key 'days' is missing"),
        ("days = 10", "days = 10.5", r"tiny\.toml: days must be int, not 10\.5"),
        ("days = 10", "days = true", r"tiny\.toml: days must be int, not True"),
        ("fault_rate = 0.01", 'fault_rate = "high"', r"tiny\.toml: fault_rate must be float, not 'high'"),
        ("gpus = 8, ", "gpus = [8], ", r"tiny\.toml: streams\[0\]: sizes\[0\]: gpus must be int, not \[8\]"),
        ("COMPLETED = 1.0 }\nlarge", "COMPLETED = [] }\nlarge", r"tiny\.toml: outcomes\.COMPLETED must be float"),
        (
            "lemons = []",
            'lemons = [{ root_causes = ["GPU"], rate = 1, between = [0.5] }]',
            r"tiny\.toml: lemons: between must be",
        ),
        (
            "lemons = []",
            "lemons = []\nmaintenance = [{ day = 1, repeat = { count = 2 } }]",
            r"tiny\.toml: maintenance: repeat: the key 'every_days' is missing",
        ),
    ],
)
def test_a_mistake_in_a_file_is_named_with_its_place(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in TINY
    with pytest.raises(ValueError, match=message):
        read(tmp_path, TINY.replace(old, new))


def test_an_unknown_cluster_is_answered_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"unknown cluster 'rsc9'; there are: demo-llm, .*, rsc2"):
        read_cluster("rsc9")


def test_the_files_are_part_of_the_package_and_not_of_the_codes_version(monkeypatch: pytest.MonkeyPatch) -> None:
    settings: dict[str, Any] = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "*.toml" in settings["tool"]["setuptools"]["package-data"]["*"]
    code_version.cache_clear()
    read_bytes, hashed = Path.read_bytes, []
    monkeypatch.setattr(Path, "read_bytes", lambda path: hashed.append(path) or read_bytes(path))
    code_version()
    code_version.cache_clear()
    assert FOLDER / "reading.py" in hashed and not [path for path in hashed if path.suffix == ".toml"]
