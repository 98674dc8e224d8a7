"""Lines that no rule knows: their weight, their shape, what is kept, and the effect of a site's rule."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import islice, product
from pathlib import Path
from typing import Any

import duckdb
import pytest

from assets.site_rules import pattern_of_line, toml_text
from assets.sources.formats import READERS
from assets.sources.intake.account.unknown_lines import MAX_SHAPES
from assets.sources.text import unknown_lines
from assets.sources.text.line_rules import scanning_pattern
from assets.sources.text.pseudonyms import give_key
from assets.sql import literal
from tests.logs import export
from tests.sources.folders import connect, load, load_results, make, rows

ACCOUNTING = export([{"NodeList": "n[1-3]", "NNodes": "3"}])


@pytest.mark.parametrize(
    ("line", "is_grave"),
    [
        ("May  1 10:00:00 n1 kernel: acme: engine LOST", True),
        ("May  1 10:00:00 n1 kernel: acme: engine found", False),
        ("<3>acme: engine found", True),
        ("<11>1 2024-05-01T10:00:00Z n1 kernel - - - acme: engine found", True),
        ("<6>acme: engine lost", False),
        ("kern  :err   : [  1.0] acme: engine found", True),
        ("kern  :warn  : [  1.0] acme: engine lost", False),
        ("May  1 10:00:00 n1 kern.err kernel: acme: engine found", True),
        ("May  1 10:00:00 n1 <kern.info> kernel: acme: engine lost", False),
        ("3,12,5000,-;acme: engine found", True),
        ("6,12,5000,-;acme: engine lost", False),
        ('{"_HOSTNAME":"n1","PRIORITY":"3","MESSAGE":"acme: engine found"}', True),
        ('{"_HOSTNAME":"n1","PRIORITY":"6","MESSAGE":"acme: engine lost"}', False),
    ],
)
def test_the_priority_tells_the_weight_and_else_the_words(line: str, is_grave: bool) -> None:
    found, is_scanned = duckdb.execute(
        f"select {unknown_lines.has_weight('line', 'line')}, regexp_matches(line, {literal(unknown_lines.SCAN)}) "
        "from (select $1 as line)",
        [line],
    ).fetchall()[0]
    assert found == is_grave
    assert is_scanned or not is_grave, "the scan misses no line of weight"


def shape_of(text: str) -> str:
    return str(duckdb.execute(f"select {unknown_lines.shape('$1::varchar')}", [text]).fetchall()[0][0])


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("acme 0000:3b:00.0: engine 3 lost fence 0x1f2e3D", "acme #: engine # lost fence #"),
        ("ACME  hl0: Lost  link at de:ad:be:ef:00:01, 10.1.2.3:80", "acme hl#: lost link at #, #"),
        ("python3[4711]: segfault error 4 in libacme.so.1[7f12+10]", "#: segfault error # in libacme.so.#[#]"),
        (
            "EXT4-fs error (device sda2): inode #12: comm alice_job: bad",
            "ext#-fs error (device sda#): inode #: comm #: bad",
        ),
        ("can't read /home/alice/a.pt: user=alice 'my run' \"a b\"", "can't read /#: user=# # #"),
        ("mlx5_core: cable error", "mlx#_core: cable error"),
        ("mlx5_core: link error", "mlx#_core: link error"),
    ],
)
def test_a_shape_has_no_numbers_addresses_and_names_but_all_other_words(text: str, shape: str) -> None:
    assert shape_of(text) == shape
    assert duckdb.execute(
        "select regexp_matches(lower($1), '(?i)' || $2)", [text, pattern_of_line(shape)]
    ).fetchall() == [(True,)]
    assert shape_of(shape) == shape


def controller(*messages: str, start: int = 0) -> str:
    begin = datetime(2024, 5, 1, 10)
    return "".join(
        f"[{(begin + timedelta(seconds=20 * (start + number))).isoformat(timespec='milliseconds')}] {message}\n"
        for number, message in enumerate(messages)
    )


LOST = [f"error: fabric: node n1 lost packet {number} of job {900 + number}" for number in range(20)]


def read(folder: Path, text: str, settings: str = "", con: Any = None) -> duckdb.DuckDBPyConnection:
    """Load the controller's log of a cluster with three nodes."""
    files = {"c1/sacct/a.txt": ACCOUNTING, "c1/slurmctld/slurmctld.log": text, "c1/cluster.toml": settings}
    return load(make(folder, files), con, READERS)


def test_lines_are_counted_by_node_and_five_minutes_with_one_example(tmp_path: Path) -> None:
    con = read(tmp_path, controller(*LOST, "debug: nothing", "error: no node is named", "Node n2 now responding"))
    found = rows(con, "select * from raw.unknown_lines order by shape, first_at")
    assert [(row["node_id"], row["line_number"], row["line_count"], row["example"]) for row in found] == [
        ("n1", 1, 15, "fabric: node n1 lost packet 0 of job 900"),
        ("n1", 16, 5, None),
        (None, 22, 1, "no node is named"),
    ]
    assert found[0]["shape"] == "fabric: node n# lost packet # of job #"
    assert (str(found[0]["first_at"]), found[0]["duration_seconds"]) == ("2024-05-01 10:00:00", 280)


def test_a_list_of_nodes_is_every_node_and_a_host_elsewhere_none(tmp_path: Path) -> None:
    con = read(tmp_path, controller("error: nodes n[1-2] lost", "error: Node=n9 lost", "error: nodes n[1- lost"))
    found = rows(con, "select node_name, node_id from raw.unknown_lines order by line_number, node_name")
    assert [(row["node_name"], row["node_id"]) for row in found] == [
        ("n1", "n1"), ("n2", "n2"), ("n9", None), (None, None),
    ]  # fmt: skip


@pytest.mark.parametrize("pattern", [r"^acme .*lost$", r"(^acme|^other) x", r"^[]^]*acme\b", r"\Q^\E"])
def test_the_scan_finds_every_line_that_a_rule_fits(pattern: str) -> None:
    for message in ("acme x lost", "other x", "^]acme", "^"):
        fits, is_found = duckdb.execute(
            "select regexp_matches($1, $2), regexp_matches($3, $4)",
            [message, pattern, f"May  1 10:00:00 n1 kernel: {message} ", scanning_pattern([pattern])],
        ).fetchall()[0]
        assert is_found or not fits


def test_of_a_file_with_more_shapes_the_commonest_are_kept(tmp_path: Path) -> None:
    shapes = ["".join(letters) for letters in islice(product("ghijk", repeat=5), MAX_SHAPES + 1)]
    con = read(tmp_path, controller(*(f"error: {shape}" for shape in [*shapes, *shapes[1:]])))
    assert {row["shape"] for row in rows(con, "select shape from raw.unknown_lines")} == set(shapes[1:])


def test_secrets_are_masked_and_long_texts_are_cut(tmp_path: Path) -> None:
    con = read(tmp_path, controller("error: lost with password=hunter2hunter2", "error: " + "long " * 5000))
    found = rows(con, "select shape, example from raw.unknown_lines order by line_number")
    assert found[0]["example"] == "lost with password=***"
    assert "hunter2" not in str(found)
    assert max(len(row["shape"]) for row in found) == 300
    assert max(len(row["example"]) for row in found) == 303


def test_with_pseudonyms_known_words_stay_and_shapes_stay_apart(tmp_path: Path) -> None:
    con = connect()
    give_key(con, "0" * 64)
    text = controller(
        "error: alicesjob 12 lost node n1", "error: bobsjob 13 lost node n1", "error: bobsjob 1 lost node n1"
    )
    con = read(tmp_path, text, 'privacy = "pseudonymous"', con)
    found = rows(con, "select shape, example, line_count from raw.unknown_lines order by line_number")
    assert [row["line_count"] for row in found] == [1, 2]
    assert "alice" not in str(found)
    assert "bobs" not in str(found)
    for row in found:
        assert row["shape"].startswith("x # lost node n# #")
        assert pattern_of_line(row["shape"]) == r"^.*\s+.*\s+lost\s+node\s+n.*$"


def kernel_log(*lines: str) -> str:
    return "".join(f"2024-05-01T10:{minute:02}:00+00:00 {line}\n" for minute, line in enumerate(lines))


def read_kernel(folder: Path, text: str, settings: str = "", con: Any = None) -> duckdb.DuckDBPyConnection:
    """Load the kernel's log of a cluster with three nodes."""
    files = {"c1/sacct/a.txt": ACCOUNTING, "c1/kernel/kern.log": text, "c1/cluster.toml": settings}
    return load(make(folder, files), con, READERS)


XID = "NVRM: Xid (PCI:0000:17:00): 79, pid=1, GPU has fallen off the bus."


def test_lines_of_weight_without_a_rule_are_counted_with_the_name_of_a_program(tmp_path: Path) -> None:
    con = read_kernel(
        tmp_path,
        kernel_log(
            f"n1 kernel: {XID}",
            "n1 kernel: acmegpu 0000:17:00.0: fence 7 lost",
            "n2 kernel: [ 12.5] acmegpu 0000:18:00.0: fence 8 lost",
            "n2 kernel: acmegpu 0000:18:00.0: fence 8 signalled",
            "n2 slurmd[7]: error: acmegpu 0000:18:00.0: fence 8 lost",
            "n9 kernel: acmegpu 0000:18:00.0: fence 8 lost",
        )
        + "<6>2024-05-01T10:07:00+00:00 n3 kernel: acmegpu 0000:18:00.0: fence 8 lost\n"
        + "<3>2024-05-01T10:08:00+00:00 n3 kernel: acmegpu 0000:18:00.0: fence 8 signalled\n",
    )
    found = rows(con, "select node_name, node_id, shape, line_number from raw.unknown_lines order by line_number")
    assert [tuple(row.values()) for row in found] == [
        ("n1", "n1", "acmegpu #: fence # lost", 2),
        ("n2", "n2", "acmegpu #: fence # lost", 3),
        ("n2", "n2", "slurmd: error: acmegpu #: fence # lost", 5),
        ("n9", None, "acmegpu #: fence # lost", 6),
        ("n3", "n3", "acmegpu #: fence # signalled", 8),
    ]
    assert rows(con, "select skipped, loaded from ops.files where kind = 'kernel'") == [{"skipped": 7, "loaded": 1}]


RULE = "[[kernel.rules]]\npattern = '^acmegpu .*: engine .* (stuck|idle)$'\ncategory = '{}'\n"


def test_a_rule_of_the_site_is_asked_first_of_kernel_lines(tmp_path: Path) -> None:
    text = kernel_log(
        "n1 kernel: acmegpu 0000:17:00.0: engine 7 stuck",
        "n1 kernel: acmegpu 0000:17:00.0: engine 7 stuck again",
        "n1 logger: acmegpu 0000:17:00.0: engine 7 stuck, error 3",
        f"n1 kernel: {XID}",
    )
    first = read_kernel(tmp_path / "a", text, RULE.format("pcie"))
    found = rows(first, "select kind, node_id, pci_address, line_number from raw.kernel_messages order by line_number")
    assert [tuple(row.values()) for row in found] == [
        ("site_rule: ^acmegpu .*: engine .* (stuck|idle)$", "n1", "0000:17:00", 1),
        ("xid", "n1", "0000:17:00", 4),
    ]
    (found,) = rows(first, "select shape, line_number from raw.unknown_lines")
    pasted = f"[[kernel.rules]]\npattern = {toml_text(pattern_of_line(found['shape']))}\ncategory = 'pcie'\n"
    (row,) = rows(
        read_kernel(tmp_path / "c", text, pasted), "select line_number from raw.kernel_messages where code is null"
    )
    assert row["line_number"] == found["line_number"] == 3, (
        "the example of another program's line works as a rule for it"
    )
    mine = "[[kernel.rules]]\npattern = 'fallen'\ncategory = 'pcie'\n"
    (found,) = rows(read_kernel(tmp_path / "b", text, mine), "select kind, line_number from raw.kernel_messages")
    assert found == {"kind": "site_rule: fallen", "line_number": 4}


def test_a_new_pattern_has_the_logs_of_lines_read_again_and_a_new_category_none(tmp_path: Path) -> None:
    con = connect()
    files = {
        "c1/sacct/a.txt": ACCOUNTING,
        "c1/kernel/kern.log": kernel_log("n1 kernel: acmegpu 0000:17:00.0: engine 7 stuck"),
        "c1/slurmctld/slurmctld.log": controller("error: lost"),
    }
    read_of = []
    for settings in ("", RULE.format("pcie"), RULE.format("oom"), RULE.format("oom").replace("stuck", "hung")):
        results = load_results(make(tmp_path, {**files, "c1/cluster.toml": settings}), con, READERS)
        read_of.append({kind for kind, result in results.items() if result.files_read})
    assert read_of == [{"sacct", "kernel", "slurmctld"}, {"kernel", "slurmctld"}, set(), {"kernel", "slurmctld"}]
    assert rows(con, "from raw.kernel_messages") == []
