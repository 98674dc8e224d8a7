"""Exactly the lines in the truth are spoiled, in the recorded way. All other lines are unchanged."""

from __future__ import annotations

import gzip
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from assets.simulation import simulate
from assets.simulation.logs.dirt import EVERYWHERE, KINDS, PIPE
from tests.simulation.simulated import Simulated, content

DAYS, SHARE = 6, 0.04
"""Enough for each kind of dirt, also in job names, which only the accounting has."""


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> list[Simulated]:
    """Return a clean cluster and the same with dirt."""
    out = tmp_path_factory.mktemp("dirt")
    made = [simulate("demo", out / str(share), days=DAYS, seed=6, dirt=share) for share in (0.0, SHARE)]
    return [Simulated(summary.clusters[0]) for summary in made]


def read(path: Path) -> list[bytes]:
    packed = path.read_bytes()
    return (gzip.decompress(packed) if path.suffix == ".gz" else packed).split(b"\n")[:-1]


def spoiled_lines(cluster: Simulated) -> dict[str, dict[int, str]]:
    found: dict[str, dict[int, str]] = defaultdict(dict)
    for row in cluster.truth("dirt"):
        assert row["line_number"] not in found[row["path"]]
        found[row["path"]][row["line_number"]] = row["kind"]
    return found


def check(kind: str, line: bytes, before: bytes, original: bytes | None) -> None:
    """Compare a spoiled line with the line above it and the clean line in its place."""
    match kind:
        case "duplicate":
            assert line == before
        case "empty":
            assert line == b""
        case "cut_off":
            assert original is not None and original.startswith(line) and 0 < len(line) < len(original)
        case "not_utf8":
            assert original is not None and line.replace(b"\xe9", b"") == original
            with pytest.raises(UnicodeDecodeError):
                line.decode()
        case "pipe_in_name":
            assert original is not None
            name, fields = original.split(b"|")[7], line.split(b"|")
            assert fields[7] + fields[8] == name
            assert line.count(b"|") == original.count(b"|") + original.count(name)
        case _:
            raise AssertionError(kind)


def test_exactly_the_lines_of_the_truth_are_spoiled(pair: list[Simulated]) -> None:
    clean, dirty = pair
    root, spoiled = dirty.summary.sources.parent, spoiled_lines(dirty)
    kinds = Counter()
    for path in sorted(dirty.summary.sources.rglob("*.*")):
        known = spoiled.pop(path.relative_to(root).as_posix(), {})
        originals = iter(read(clean.summary.sources / path.relative_to(dirty.summary.sources)))
        before = b""
        for number, line in enumerate(read(path), start=1):
            kind = known.pop(number, None)
            original = next(originals) if kind not in ("duplicate", "empty") else None
            if kind is None:
                assert line == original
            else:
                assert number > 1
                check(kind, line, before, original)
                kinds[path.parent.name, kind] += 1
            before = line
        assert not known and next(originals, None) is None
    assert not spoiled
    assert {kind for _, kind in kinds} == {*EVERYWHERE, PIPE}
    assert {folder for folder, _ in kinds} >= {"sacct", "health", "slurmctld"}
    assert {folder for folder, kind in kinds if kind == PIPE} == {"sacct"}
    assert sum(kinds.values()) == dirty.summary.spoiled_line_count == len(dirty.truth("dirt"))
    lines = sum(len(read(path)) - 1 for kind in KINDS for path in clean.summary.sources.glob(f"{kind}/*"))
    assert sum(kinds.values()) == pytest.approx(SHARE * lines, rel=0.1)
    truth = content(dirty.summary.truth)
    del truth["dirt.parquet"]
    assert truth == content(clean.summary.truth)
