"""Files that are read from where they grew leave in the raw tables what reading them whole does, to the last row."""

from __future__ import annotations

import gzip
import random
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path

import pytest

from assets.sources.formats import READERS
from assets.sources.health import stretches
from assets.sources.intake import growing as reading
from tests.benchmarks import growing
from tests.sources.folders import connect, export, load_results, make
from tests.sources.nights import simulated
from tests.sources.test_nights import everything

GROWING = ("sacct", "health", "kernel", "slurmctld")
SACCT, HEALTH, KERNEL, SLURMCTLD = (
    "c1/sacct/sacct.psv", "c1/health/health.jsonl", "c1/kernel/kern.log", "c1/slurmctld/slurmctld.log"
)  # fmt: skip


@pytest.fixture(autouse=True)
def every_file_is_large(monkeypatch) -> None:
    monkeypatch.setattr(reading, "RESUMABLE_BYTES", 0)


def read_on(folder: Path, steps: Sequence[Mapping[str, bytes]]) -> Counter[str]:
    """Load files as they are on each step, and count by kind how often one was read from where it grew.

    What is left must be what one load of the last step leaves.
    """
    con, counts = connect(), Counter()
    kinds = {path.split("/")[1] for path in steps[0]} | {path.name for path in folder.glob("*/*")}
    readers = {kind: reader for kind, reader in READERS.items() if kind in kinds}
    for step in steps:
        for path, text in step.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(text)
        found = load_results(folder, con, readers)
        assert not [warning for result in found.values() for warning in result.warnings if "where it grew" in warning]
        counts.update({kind: result.files_read_on for kind, result in found.items()})
    at_once = connect()
    load_results(folder, at_once, readers)
    grown, whole = everything(con), everything(at_once)
    for name, rows in whole.items():
        assert grown[name] == rows, name
    return counts


def texts_of(complete: Path) -> dict[str, bytes]:
    """Give the texts of the kinds that grow by path."""
    return {
        str(path.relative_to(complete)): gzip.decompress(text)
        if (text := path.read_bytes())[:2] == b"\x1f\x8b"
        else text
        for kind in GROWING
        for path in sorted(complete.rglob(f"{kind}/*"))
    }


def copy_others(complete: Path, folder: Path) -> None:
    shutil.copytree(complete, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns(*GROWING))


@pytest.fixture(scope="module")
def campus(tmp_path_factory) -> Path:
    """Logs that are not clean: repeated, blank, cut and damaged lines, and bytes that are no text."""
    logs = growing.sources_of(Fraction(1, 2000), tmp_path_factory.mktemp("campus"))
    complete = tmp_path_factory.mktemp("complete")
    growing.hold_back(logs, complete)()
    return complete


@pytest.fixture(scope="module")
def demo(tmp_path_factory) -> Path:
    """Clean logs, the days of each kind in one file; checks say also that all is well."""
    days = simulated(tmp_path_factory.mktemp("logs"), days=6, scale=0.1) / "demo-llm"
    complete = tmp_path_factory.mktemp("complete")
    copy_others(days, complete / "c1")
    for path in (SACCT, HEALTH, KERNEL, SLURMCTLD):
        texts = [text for name, text in texts_of(days).items() if name.startswith(path.split("/")[1])]
        if path == SACCT:
            texts[1:] = [text.partition(b"\n")[2] for text in texts[1:]]
        (complete / path).parent.mkdir(parents=True)
        (complete / path).write_bytes(b"".join(texts))
    return complete


def in_pieces(texts: Mapping[str, bytes], count: int, chance: random.Random) -> list[dict[str, bytes]]:
    """Give the files as they grow in some steps, mostly by whole lines."""
    cuts = {}
    for path, text in texts.items():
        sizes = sorted(chance.randrange(len(text) // 20, len(text)) for _ in range(count - 1))
        # A check log of one day has no place from which it could be read on.
        sizes[-1] = max(sizes[-1], len(text) // 2)
        cuts[path] = [text.index(b"\n", size) + 1 if chance.random() < 0.8 else size for size in sizes] + [len(text)]
    return [{path: text[: cuts[path][step]] for path, text in texts.items()} for step in range(count)]


def disordered(text: bytes, distance: float, chance: random.Random) -> bytes:
    """Let lines change places with near ones, as those of many nodes that write into one file."""
    lines = text.splitlines(keepends=True)
    places = sorted(range(len(lines)), key=lambda place: place + chance.uniform(0, distance))
    return b"".join(lines[place] for place in places)


@pytest.mark.parametrize(
    ("logs", "seed"),
    [
        ("campus", 0),
        ("campus", 5),
        ("demo", 1),
        ("demo", 2),
        *(
            pytest.param(logs, seed, marks=pytest.mark.slow)
            for logs in ("campus", "demo")
            for seed in range(3, 30)
            if (logs, seed) != ("campus", 5)
        ),
    ],
)
def test_files_that_grow_leave_what_they_do_whole(logs, seed, tmp_path, request) -> None:
    complete, chance = request.getfixturevalue(logs), random.Random(seed)
    texts = texts_of(complete)
    if seed % 3 == 2:
        distance = {"campus": 2, "demo": 40}[logs]
        texts = {p: disordered(text, distance, chance) if "/health/" in p else text for p, text in texts.items()}
    copy_others(complete, tmp_path)
    counts = read_on(tmp_path, in_pieces(texts, 3, chance))
    assert all(counts[kind] for kind in GROWING), counts


def lines(*texts: str) -> bytes:
    return "".join(f"{text}\n" for text in texts).encode()


def result(node: str, code: int, when: datetime, message: str = "") -> str:
    at = when.timestamp()
    return (
        f'{{"int": {{"result": {code}, "job_id": 0}}, "double": {{"start_time": {at}, "end_time": {at}}}, '
        f'"normal": {{"node": "{node}", "health_check": "check", "type": "nagios", "_msg": "{message}"}}}}'
    )


def results(day: int, minutes: Sequence[int], code: int = 0) -> list[str]:
    began = datetime(2026, 3, day, tzinfo=UTC)
    return [result("n1", code, began + timedelta(minutes=minute)) for minute in minutes]


ACCOUNTING = {SACCT: export([{"JobIDRaw": "1", "NodeList": "n[1-2]"}]).encode()}
RECORDS = [{"JobIDRaw": str(number), "NodeList": "n[1-2]"} for number in range(1, 6)]
QUARTERS = range(0, 720, 15)


@pytest.mark.parametrize("last", [0, 2])
def test_unchanged_results_of_the_day_that_goes_on_are_found_together(tmp_path, last) -> None:
    """The stretch of a day that looked unchanged may end, or go on; results of the day before come late."""
    morning = [*results(2, QUARTERS), *results(3, QUARTERS[:1]), *results(2, [725, 740]), *results(3, QUARTERS[1:9])]
    evening = [*morning, *results(3, QUARTERS[9:]), *results(3, [725], last)]
    assert read_on(tmp_path, [{**ACCOUNTING, HEALTH: lines(*morning)}, {HEALTH: lines(*evening)}])["health"] == 1


def test_a_late_result_of_an_earlier_day_has_the_file_read_whole(tmp_path) -> None:
    before = [*results(2, QUARTERS), *results(3, QUARTERS)]
    after = [*before, *results(2, [725])]
    assert read_on(tmp_path, [{**ACCOUNTING, HEALTH: lines(*before)}, {HEALTH: lines(*after)}])["health"] == 0


@pytest.mark.parametrize("blank", [[], [""]], ids=["clean", "with a blank line"])
def test_logs_of_nodes_one_behind_the_other_are_in_no_order(tmp_path, blank) -> None:
    """Each node tells of both days: the last day begins with the first node, and cannot be read alone."""
    of_nodes = [
        result(node, 0, datetime(2026, 3, day, tzinfo=UTC) + timedelta(seconds=10 * number))
        for node in ("n1", "n2")
        for day in (2, 3)
        for number in range(stretches.MOST_LINES_BEHIND // 2 + 1)
    ]
    later = results(3, [1439])
    steps = [{**ACCOUNTING, HEALTH: lines(*of_nodes, *blank)}, {HEALTH: lines(*of_nodes, *blank, *later)}]
    assert read_on(tmp_path, steps)["health"] == 0


def test_a_job_that_ran_at_one_edge_and_ended_by_the_next_counts_once(tmp_path) -> None:
    """An export each night, appended: the record of the running job is a repeat of the finished one."""
    running = {**RECORDS[0], "State": "RUNNING", "End": "Unknown", "ElapsedRaw": "60"}
    before = export([running, RECORDS[1]])
    after = before + export([RECORDS[0], RECORDS[2]]).partition("\n")[2]
    con = connect()
    for text in (before, after):
        make(tmp_path, {SACCT: text})
        found = load_results(tmp_path, con)["sacct"]
    assert found.files_read_on == 1
    assert con.execute("select job_id_raw, line_number, state, disposition from raw.sacct order by all").fetchall() == [
        (1, 2, "RUNNING", "duplicate"),
        (1, 4, "COMPLETED", "loaded"),
        (2, 3, "COMPLETED", "loaded"),
        (3, 5, "COMPLETED", "loaded"),
    ]
    assert con.execute("select lines_in, loaded, skipped, quarantined from ops.files").fetchall() == [(5, 3, 2, 0)]


def test_a_record_that_goes_on_in_the_next_line_is_read_again(tmp_path) -> None:
    text = export([*RECORDS[:3], {**RECORDS[3], "JobName": "two\nlines"}, RECORDS[4]]).encode()
    cut = text.index(b"lines")
    assert read_on(tmp_path, [{SACCT: text[:cut]}, {SACCT: text}])["sacct"] == 1


FAR = [{**record, "Cluster": "far"} for record in RECORDS]
UNNAMED = [{**record, "Cluster": ""} for record in RECORDS]


@pytest.mark.parametrize(
    ("before", "added"),
    [
        pytest.param(FAR[:3], RECORDS[3:], id="its own appears"),
        pytest.param(RECORDS[:3], FAR[3:], id="another appears"),
        pytest.param([RECORDS[0], FAR[1], RECORDS[2]], RECORDS[3:], id="another was there"),
        pytest.param([RECORDS[0], UNNAMED[1]], FAR[2:], id="another appears after a record without a name"),
        pytest.param([FAR[0], UNNAMED[1]], RECORDS[2:], id="its own appears after a record without a name"),
        pytest.param(UNNAMED[:2], FAR[2:], id="a name appears"),
    ],
)
def test_accounting_of_several_clusters_is_read_whole(tmp_path, before, added) -> None:
    texts = [export(records).encode() for records in (before, [*before, *added])]
    assert read_on(tmp_path, [{SACCT: text} for text in texts])["sacct"] == 0


def test_accounting_is_refused_when_a_second_strange_cluster_appears(tmp_path) -> None:
    con = connect()
    for records in (FAR[:3], [*FAR[:3], {**FAR[3], "Cluster": "third"}]):
        load_results(make(tmp_path, {SACCT: export(records)}), con)
    assert con.execute("select status, split_part(reason, ':', 1) from ops.files").fetchall() == [
        ("refused", "several_clusters")
    ]
    assert con.execute("select count(*) from raw.sacct").fetchall() == [(0,)]


def test_accounting_of_one_other_cluster_is_read_on(tmp_path) -> None:
    assert read_on(tmp_path, [{SACCT: export(FAR[:count]).encode()} for count in (3, 5)])["sacct"] == 1


TWO, OTHERS = export(RECORDS[:2]), export(RECORDS[2:]).partition("\n")[2]


@pytest.mark.parametrize(
    ("before", "added"),
    [
        pytest.param(TWO, export(RECORDS[2:]), id="a header where it grew"),
        pytest.param(TWO + export(RECORDS[2:4]), OTHERS.splitlines(keepends=True)[-1], id="a header among the records"),
        pytest.param(TWO, OTHERS.replace("\n", "\r\n"), id="carriage returns"),
        pytest.param(TWO, "x" * (2 * reading.LONGEST_LINE) + "\n", id="a line that is very long"),
    ],
)
def test_accounting_whose_lines_need_those_before_is_read_whole(tmp_path, before, added) -> None:
    assert read_on(tmp_path, [{SACCT: before.encode()}, {SACCT: (before + added).encode()}])["sacct"] == 0


def test_a_running_job_of_unknown_age_has_accounting_read_whole(tmp_path) -> None:
    """Whether its record was forgotten is told by when the file was modified."""
    running = {**RECORDS[0], "State": "RUNNING", "End": "Unknown", "Elapsed": None, "ElapsedRaw": None}
    texts = [export([running, *RECORDS[1:count]]).encode() for count in (3, 5)]
    assert read_on(tmp_path, [{SACCT: text} for text in texts])["sacct"] == 0


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda text: text.replace(b"n[1-2]", b"n[1-3]", 1) + text[-200:], id="changed before"),
        pytest.param(lambda text: text[: len(text) * 2 // 3], id="shortened"),
    ],
)
def test_a_file_that_did_not_just_grow_is_read_whole(tmp_path, change) -> None:
    text = export(RECORDS).encode()
    assert read_on(tmp_path, [{SACCT: text}, {SACCT: change(text)}])["sacct"] == 0


def test_a_kernel_log_is_read_on_but_where_a_line_needs_others(tmp_path) -> None:
    stamp = "2026-03-0{}T10:00:00.000000+00:00 n1 kernel: NVRM:"
    xid = f"{stamp} Xid (PCI:0000:3b:00): {{}}, pid=1, name=x, fault"
    gone = [
        f"{stamp} GPU 0000:3b:00.0: GPU has fallen off the bus.",
        f"{stamp} installed in this system has",
        f"{stamp} fallen off the bus and is not responding to commands.",
    ]
    dated, later = lines(xid.format(1, 79), xid.format(2, 31)), lines(xid.format(5, 48))
    expected = {
        "of one line": (dated, b"", 1),
        "of three": (dated + lines(gone[0].format(4)), lines(gone[1].format(4), gone[2].format(4)), 1),
    }
    for name, odd in {
        "no year": "Mar  4 10:00:00 n1 kernel: NVRM: Xid (PCI:0000:3b:00): 48, pid=1, name=x, fault",
        "no date": "[   12.5] NVRM: Xid (PCI:0000:3b:00): 48, pid=1, name=x, fault",
    }.items():
        expected |= {f"{name} before": (lines(odd) + dated, b"", 0), f"{name} behind": (dated, lines(odd), 0)}
    for name, (before, added, times_read_on) in expected.items():
        steps = [{**ACCOUNTING, KERNEL: before}, {KERNEL: before + added + later}]
        assert read_on(tmp_path / name, steps)["kernel"] == times_read_on, name


@pytest.mark.parametrize(
    ("before", "added", "times_read_on"),
    [
        pytest.param(["01:50", "02:50"], ["02:10", "02:20", "03:10"], 0, id="grows within the hour that comes twice"),
        pytest.param(["02:50", "02:10"], ["02:20", "03:10"], 0, id="and within its second pass"),
        pytest.param(["02:50", "02:10", "03:10"], ["02:20"], 0, id="a line of that hour comes late"),
        pytest.param(["02:50", "02:10", "03:10"], ["03:20"], 1, id="grows after it"),
        pytest.param(["02:50", "03:10"], ["03:20"], 0, id="a pass that is not told"),
        pytest.param(["01:40", "01:50"], ["02:50", "02:10"], 1, id="grows before it"),
    ],
)
def test_a_log_in_local_time_is_read_on_but_where_the_hour_that_came_twice_needs_all(
    tmp_path, before, added, times_read_on
) -> None:
    logs = {
        KERNEL: "2024-10-27T{}:00.000000 n1 kernel: NVRM: Xid (PCI:0000:3b:00): 79, pid=1, name=x, fault",
        SLURMCTLD: "[2024-10-27T{}:00.000] Requeuing JobId=1",
    }
    make(tmp_path, {"c1/cluster.toml": 'timezone = "Europe/Berlin"\n'})
    steps = [
        {path: lines(*map(line.format, clocks)) for path, line in logs.items()} for clocks in (before, before + added)
    ]
    counts = read_on(tmp_path, [{**ACCOUNTING, **steps[0]}, steps[1]])
    assert counts["kernel"] == counts["slurmctld"] == times_read_on
