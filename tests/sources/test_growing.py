"""Files that are read from where they grew leave in the raw tables what reading them whole does, to the last row."""

from __future__ import annotations

import gzip
import random
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from assets.sources.formats import READERS
from assets.sources.health import unchanged_results
from assets.sources.intake.file_batches import FileBatch, Outcome
from assets.sources.intake.read import growing as reading
from tests.benchmarks import made
from tests.benchmarks.growing import CAMPUS
from tests.logs import export, result_line
from tests.sources.folders import connect, load_results, make, rows
from tests.sources.nights import simulated
from tests.sources.test_nights import everything, tables_left

GROWING = ("sacct", "health", "kernel", "slurmctld")
SACCT, HEALTH, KERNEL, SLURMCTLD = (
    "c1/sacct/sacct.psv", "c1/health/health.jsonl", "c1/kernel/kern.log", "c1/slurmctld/slurmctld.log"
)  # fmt: skip


@pytest.fixture(autouse=True, scope="module")
def every_file_is_large() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "RESUMABLE_BYTES", 0)
        yield


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
    for name, expected in whole.items():
        assert grown[name] == expected, name
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
    logs = CAMPUS.sources_of(Fraction(1, 2000), tmp_path_factory.mktemp("campus"))
    complete = tmp_path_factory.mktemp("complete")
    made.hold_back(logs, complete)()
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
        pytest.param(logs, seed, marks=[] if (logs, seed) == ("campus", 5) else pytest.mark.slow)
        for logs in ("campus", "demo")
        for seed in range(30)
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


def results(day: int, minutes: Sequence[int], code: int = 0) -> list[str]:
    began = datetime(2026, 3, day, tzinfo=UTC)
    return [result_line("n1", began + timedelta(minutes=minute), code=code) for minute in minutes]


ACCOUNTING = {SACCT: export([{"JobIDRaw": "1", "NodeList": "n[1-2]"}]).encode()}
RECORDS = [{"JobIDRaw": str(number), "NodeList": "n[1-2]"} for number in range(1, 6)]
QUARTERS = range(0, 720, 15)


@pytest.mark.parametrize("last", [0, 2])
def test_unchanged_results_of_the_day_that_goes_on_are_found_together(tmp_path, last) -> None:
    """The stretch of a day that looked unchanged may end, or go on; results of the day before come late."""
    morning = [*results(2, QUARTERS), *results(3, QUARTERS[:1]), *results(2, [725, 740]), *results(3, QUARTERS[1:9])]
    evening = [*morning, *results(3, QUARTERS[9:]), *results(3, [725], last)]
    assert read_on(tmp_path, [{HEALTH: lines(*morning)}, {HEALTH: lines(*evening)}])["health"] == 1


def test_a_late_result_of_an_earlier_day_has_the_file_read_whole(tmp_path) -> None:
    before = [*results(2, QUARTERS), *results(3, QUARTERS)]
    after = [*before, *results(2, [725])]
    assert read_on(tmp_path, [{HEALTH: lines(*before)}, {HEALTH: lines(*after)}])["health"] == 0


@pytest.mark.parametrize("blank", [[], [""]], ids=["clean", "with a blank line"])
def test_logs_of_nodes_one_behind_the_other_are_in_no_order(tmp_path, blank) -> None:
    """Each node tells of both days: the last day begins with the first node, and cannot be read alone."""
    of_nodes = [
        result_line(node, datetime(2026, 3, day, tzinfo=UTC) + timedelta(seconds=10 * number))
        for node in ("n1", "n2")
        for day in (2, 3)
        for number in range(unchanged_results.MAX_LINES_BEHIND // 2 + 1)
    ]
    later = results(3, [1439])
    steps = [{HEALTH: lines(*of_nodes, *blank)}, {HEALTH: lines(*of_nodes, *blank, *later)}]
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


FAR = [{**record, "Cluster": "far"} for record in RECORDS]
UNNAMED = [{**record, "Cluster": ""} for record in RECORDS]


def test_accounting_is_refused_when_a_second_strange_cluster_appears_and_what_was_read_stays(tmp_path) -> None:
    con = connect()
    for records in (FAR[:3], [*FAR[:3], {**FAR[3], "Cluster": "third"}]):
        load_results(make(tmp_path, {SACCT: export(records)}), con)
    statuses = "select status, split_part(reason, ':', 1), version_of from ops.files order by path"
    assert con.execute(statuses).fetchall() == [("refused", "several_clusters", None), ("read", None, SACCT)]
    assert con.execute("select distinct split_part(path, '@', 1), count(*) from raw.sacct group by all").fetchall() == [
        (SACCT, 3)
    ]


@dataclass
class GrownTogether:
    """Files that grew in one folder, each a case: their rows, those of one load of them, and which were read on."""

    grown: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    whole: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    read_on: set[str] = field(default_factory=set)
    warnings: list[str] = field(default_factory=list)

    def is_read_on(self, path: str) -> bool:
        """Tell whether a file was read from where it grew; what is left must be what reading it whole leaves."""
        for name, expected in self.whole.items():
            assert of_file(self.grown[name], path) == of_file(expected, path), name
        assert of_file(self.whole["ops.files"], path)
        assert not [warning for warning in self.warnings if path in warning and "where it grew" in warning]
        return path in self.read_on


def of_file(found: list[dict[str, Any]], path: str) -> list[dict[str, Any]]:
    """Return the rows of a file, and those that are of no file."""
    return [row for row in found if row.get("path", path) == path]


def grow_together(folder: Path, cases: Mapping[str, Sequence[bytes]]) -> GrownTogether:
    """Load a folder with each file as it was, and as it is: a load costs the same for one file and for many."""
    together, con = GrownTogether(), connect()

    def watched(batch: FileBatch, con: Any) -> Outcome:
        outcome = read_batch(batch, con)
        if outcome.files_read_on:
            together.read_on.add(batch.files[0].path)
        return outcome

    read_batch = FileBatch.read
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FileBatch, "read", watched)
        for step in (0, 1):
            for path, texts in cases.items():
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_bytes(texts[step])
            for result in load_results(folder, con, READERS).values():
                together.warnings += result.warnings
    at_once = connect()
    load_results(folder, at_once, READERS)
    for loaded, left in ((con, together.grown), (at_once, together.whole)):
        left |= {name: rows(loaded, query) for name, query in tables_left(loaded).items()}
    return together


@pytest.fixture(scope="module")
def together(tmp_path_factory) -> GrownTogether:
    """The cases below."""
    folder = tmp_path_factory.mktemp("together")
    make(folder, {"berlin/cluster.toml": 'timezone = "Europe/Berlin"\n', "berlin/sacct/a.psv": ACCOUNTING[SACCT]})
    return grow_together(folder, {**growing_accounting(), **growing_kernel_logs(), **growing_logs_in_local_time()})


CLUSTERS = {
    "its own appears": (FAR[:3], RECORDS[3:]),
    "another appears": (RECORDS[:3], FAR[3:]),
    "another was there": ([RECORDS[0], FAR[1], RECORDS[2]], RECORDS[3:]),
    "another appears after a record without a name": ([RECORDS[0], UNNAMED[1]], FAR[2:]),
    "its own appears after a record without a name": ([FAR[0], UNNAMED[1]], RECORDS[2:]),
    "a name appears": (UNNAMED[:2], FAR[2:]),
}
"""Records before, and those that are added, by case."""


@pytest.mark.parametrize("case", CLUSTERS)
def test_accounting_of_several_clusters_is_read_whole(together, case) -> None:
    assert not together.is_read_on(f"c1/sacct/{case}.psv")


TWO, OTHERS = export(RECORDS[:2]), export(RECORDS[2:]).partition("\n")[2]
NEED_OTHER_LINES = {
    "a header where it grew": (TWO, export(RECORDS[2:])),
    "a header among the records": (TWO + export(RECORDS[2:4]), OTHERS.splitlines(keepends=True)[-1]),
    "carriage returns": (TWO, OTHERS.replace("\n", "\r\n")),
    "a line that is very long": (TWO, "x" * (2 * reading.MAX_LINE_BYTES) + "\n"),
}
"""Text before, and what is added, by case."""


@pytest.mark.parametrize("case", NEED_OTHER_LINES)
def test_accounting_whose_lines_need_those_before_is_read_whole(together, case) -> None:
    assert not together.is_read_on(f"c1/sacct/{case}.psv")


RUNNING = {**RECORDS[0], "State": "RUNNING", "End": "Unknown", "Elapsed": None, "ElapsedRaw": None}


def test_a_running_job_of_unknown_age_has_accounting_read_whole(together) -> None:
    """Whether its record was forgotten is told by when the file was modified."""
    assert not together.is_read_on("c1/sacct/running.psv")


FIVE = export(RECORDS).encode()
DID_NOT_JUST_GROW = {
    "changed before": FIVE.replace(b"n[1-2]", b"n[1-3]", 1) + FIVE[-200:],
    "shortened": FIVE[: len(FIVE) * 2 // 3],
}
"""What becomes of a text by case."""


@pytest.mark.parametrize("case", DID_NOT_JUST_GROW)
def test_a_file_that_did_not_just_grow_is_read_whole(together, case) -> None:
    assert not together.is_read_on(f"c1/sacct/{case}.psv")


TWO_LINES = export([*RECORDS[:3], {**RECORDS[3], "JobName": "two\nlines"}, RECORDS[4]]).encode()


def test_a_record_that_goes_on_in_the_next_line_is_read_again(together) -> None:
    assert together.is_read_on("c1/sacct/two lines.psv")


def test_accounting_of_one_other_cluster_is_read_on(together) -> None:
    assert together.is_read_on("c1/sacct/far.psv")


def growing_accounting() -> dict[str, Sequence[bytes]]:
    """Give the accounting of each case, before and after."""
    cases = {
        **{case: (export(before), export([*before, *added])) for case, (before, added) in CLUSTERS.items()},
        **{case: (before, before + added) for case, (before, added) in NEED_OTHER_LINES.items()},
        "running": (export([RUNNING, *RECORDS[1:3]]), export([RUNNING, *RECORDS[1:5]])),
        "far": (export(FAR[:3]), export(FAR)),
    }
    cases_of_bytes = {
        **{case: (before.encode(), after.encode()) for case, (before, after) in cases.items()},
        **{case: (FIVE, changed) for case, changed in DID_NOT_JUST_GROW.items()},
        "two lines": (TWO_LINES[: TWO_LINES.index(b"lines")], TWO_LINES),
    }
    return {f"c1/sacct/{case}.psv": texts for case, texts in cases_of_bytes.items()}


STAMP = "2026-03-0{}T10:00:00.000000+00:00 {{node}} kernel: NVRM:"
XID = f"{STAMP} Xid (PCI:0000:3b:00): {{}}, pid=1, name=x, fault"
GONE = [
    f"{STAMP} GPU 0000:3b:00.0: GPU has fallen off the bus.",
    f"{STAMP} installed in this system has",
    f"{STAMP} fallen off the bus and is not responding to commands.",
]
NO_YEAR = "Mar  4 10:00:00 {node} kernel: NVRM: Xid (PCI:0000:3b:00): 48, pid=1, name=x, fault"
NO_DATE = "[   12.5] NVRM: Xid (PCI:0000:3b:00): 48, pid=1, name=x, fault"
DATED, LATER = [XID.format(1, 79), XID.format(2, 31)], XID.format(5, 48)
KERNEL_LOGS = {
    "of one line": (DATED, [], True),
    "of three": ([*DATED, GONE[0].format(4)], [GONE[1].format(4), GONE[2].format(4)], True),
    "no year before": ([NO_YEAR, *DATED], [], False),
    "no year behind": (DATED, [NO_YEAR], False),
    "no date before": ([NO_DATE, *DATED], [], False),
    "no date behind": (DATED, [NO_DATE], False),
}
"""Lines before, those that are added before a later one, and whether the log is read on, by case."""


def growing_kernel_logs() -> dict[str, Sequence[bytes]]:
    """Give the kernel log of each case, each of a node of its own, before and after."""
    cases = {}
    for number, (case, (before, added, _)) in enumerate(KERNEL_LOGS.items()):
        steps = (before, [*before, *added, LATER])
        cases[f"c1/kernel/{case}.log"] = [lines(*(line.format(node=f"k{number}") for line in step)) for step in steps]
    return cases


@pytest.mark.parametrize("case", KERNEL_LOGS)
def test_a_kernel_log_is_read_on_but_where_a_line_needs_others(together, case) -> None:
    assert together.is_read_on(f"c1/kernel/{case}.log") == KERNEL_LOGS[case][-1]


IN_LOCAL_TIME = {
    "grows within the hour that comes twice": (["01:50", "02:50"], ["02:10", "02:20", "03:10"], False),
    "and within its second pass": (["02:50", "02:10"], ["02:20", "03:10"], False),
    "a line of that hour comes late": (["02:50", "02:10", "03:10"], ["02:20"], False),
    "grows after it": (["02:50", "02:10", "03:10"], ["03:20"], True),
    "a pass that is not told": (["02:50", "03:10"], ["03:20"], False),
    "grows before it": (["01:40", "01:50"], ["02:50", "02:10"], True),
}
"""Clocks of lines before, those of lines that are added, and whether the log is read on, by case."""
LINES_IN_LOCAL_TIME = {
    "kernel": "2024-10-27T{}:00.000000 {} kernel: NVRM: Xid (PCI:0000:3b:00): 79, pid=1, name=x, fault",
    "slurmctld": "[2024-10-27T{}:00.000] Requeuing JobId={}",
}


def growing_logs_in_local_time() -> dict[str, Sequence[bytes]]:
    """Give the logs of each case, each of a node and a job of its own, before and after."""
    cases = {}
    for number, (case, (before, added, _)) in enumerate(IN_LOCAL_TIME.items(), 1):
        for kind, line in LINES_IN_LOCAL_TIME.items():
            whose = f"n{number}" if kind == "kernel" else number
            steps = (before, before + added)
            cases[f"berlin/{kind}/{case}.log"] = tuple(
                lines(*(line.format(clock, whose) for clock in x)) for x in steps
            )
    return cases


@pytest.mark.parametrize("kind", LINES_IN_LOCAL_TIME)
@pytest.mark.parametrize("case", IN_LOCAL_TIME)
def test_a_log_in_local_time_is_read_on_but_where_the_hour_that_came_twice_needs_all(together, case, kind) -> None:
    assert together.is_read_on(f"berlin/{kind}/{case}.log") == IN_LOCAL_TIME[case][-1]
