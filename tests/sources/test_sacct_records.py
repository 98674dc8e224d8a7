"""Any form of an export gives the same records: column order, delimiter, line breaks and delimiters in free text."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.sources.sacct import lines as sacct_lines
from assets.sources.sacct import odd_lines
from assets.sources.sacct.columns import COLUMNS as COLUMNS_READ
from assets.sources.sacct.layout import Layout, header_layout
from assets.sources.sacct.odd_lines import OddLine, assemble, repair
from tests.logs import BASE, export
from tests.sources.folders import connect, counts, facts, load, make, rows

COLUMNS = list(BASE)
FREE_TEXT = st.text(st.sampled_from("abc XYZ|=\"'<>;,[]()%0123456789-_./"), min_size=1, max_size=25)


def jobs(count):
    return [
        {
            "JobID": f"{n // 4 * 4}_{n % 4}" if n % 3 == 0 else str(n), "JobIDRaw": str(n), "JobName": f"train {n}",
            "State": ["COMPLETED", "FAILED", "CANCELLED by 7", "NODE_FAIL"][n % 4],
            "NodeList": f"node[{n:03d}-{n + 1:03d}]",
        }
        for n in range(1, count + 1)
    ]  # fmt: skip


NOT_PRINTED = {"cluster_id", "path", "line_number", "disposition"}


def test_every_column_of_the_raw_table_is_filled_by_a_declared_column():
    table = {row["name"] for row in rows(connect(), "select name from pragma_table_info('raw.sacct')")}
    assert {name for column in COLUMNS_READ for name in column.fills} == table - NOT_PRINTED


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return facts(load(make(tmp_path_factory.mktemp("plain"), {"c1/sacct/a.txt": export(jobs(20))})))


@pytest.mark.parametrize(("seed", "delimiter"), enumerate(["|", "|#", "\x1f", ";", "\t"]))
def test_column_order_and_delimiter_do_not_matter(seed, delimiter, plain, tmp_path):
    shuffled = random.Random(seed).sample(COLUMNS, len(COLUMNS))
    text = export(jobs(20), delimiter, shuffled)
    if seed % 2:
        text = "".join(f"{line}{delimiter}\n" for line in text.splitlines())
    assert facts(load(make(tmp_path, {"c1/sacct/a.txt": text}))) == plain


def test_a_comma_separated_export(tmp_path):
    """Spreadsheets quote values with commas. sacct does not, but its TRES are distinct from the other columns."""
    plain = export(jobs(3), ",")
    quoted = "\n".join(
        line if line.startswith("JobID") else line.replace(BASE["AllocTRES"], f'"{BASE["AllocTRES"]}"')
        .replace(BASE["ReqTRES"], f'"{BASE["ReqTRES"]}"') for line in plain.splitlines()
    )  # fmt: skip
    expected = facts(load(make(tmp_path / "pipe", {"c1/sacct/a.txt": export(jobs(3))})))
    for name, text in (("plain", plain), ("quoted", quoted + "\n")):
        con = load(make(tmp_path / name, {"c1/sacct/a.csv": text}))
        assert facts(con) == expected, name


@settings(max_examples=150)
@given(name=FREE_TEXT, line=FREE_TEXT)
def test_delimiters_in_free_text_are_repaired_or_refused_but_never_misread(name, line):
    record = {**BASE, "JobName": name, "SubmitLine": line}
    layout = Layout("|", tuple(COLUMNS))
    text = "|".join(record[column] for column in COLUMNS)
    if text.count("|") < len(COLUMNS):
        return
    fields = repair(text, layout)
    if fields is not None:
        fixed = [column for column in COLUMNS if column not in {"JobName", "SubmitLine"}]
        assert {column: fields[COLUMNS.index(column)] for column in fixed} == {
            column: record[column] for column in fixed
        }


def test_a_constraint_of_two_features_beside_the_submit_line_that_asked_for_it():
    """Unread columns show the end of a free text, too: energy and ids of keys are numbers."""
    header = "JobIDRaw|Comment|Constraints|ConsumedEnergy|Container|CPUTime|State|Submit|Start|End|SubmitLine|Suspended"
    header += "|WCKey|WCKeyID|WorkDir"
    layout = header_layout(header)
    times = "2026-10-25T02:56:22|2026-10-25T02:56:23|2026-10-25T02:56:44"
    line = f"16||a100|h100|0||00:00:44|COMPLETED|{times}|sbatch -C a100|h100 run.sh|00:00:00||0|/home/a|b"
    fields = dict(zip(layout.columns, repair(line, layout), strict=True))
    assert (fields["Constraints"], fields["WorkDir"]) == ("a100|h100", "/home/a|b")
    assert fields["SubmitLine"] == "sbatch -C a100|h100 run.sh"


@settings(max_examples=100, deadline=None)
@given(parts=st.lists(st.sampled_from([0, 1, 3, 5, 7, 11, 21]), min_size=1, max_size=30))
def test_every_odd_line_has_one_outcome(parts):
    layout = Layout("|", tuple(COLUMNS))
    lines = [OddLine(0, number, "x|" * bars, 0, False) for number, bars in enumerate(parts, 1)]
    outcomes = list(assemble(lines, [layout]))
    assert [outcome.line_number for outcome in outcomes] == list(range(1, len(parts) + 1))
    assert all(
        sum(result is not None for result in (outcome.fields, outcome.skipped, outcome.quarantined)) == 1
        for outcome in outcomes
    )


@pytest.mark.parametrize(
    ("line", "delimiter"),
    [
        ("JobID|State", "|"),
        ("JobID|#State|#End", "|#"),
        ("JobIDRaw;State;", ";"),
        ("51|JobID|COMPLETED", None),
        ("JobID State", None),
        ("sbatch JobID|State of things", None),
    ],
)
def test_what_is_a_header(line, delimiter):
    layout = header_layout(line)
    assert (layout.delimiter if layout else None) == delimiter


def test_an_export_of_very_many_headers_is_read_up_to_a_bound(tmp_path, monkeypatch):
    most = 4
    monkeypatch.setattr(sacct_lines, "MAX_LAYOUTS", most)
    parts = [export([{**job, f"Extra{'x' * n}": "1"}]) for n, job in enumerate(jobs(most + 4))]
    con = load(make(tmp_path, {"c1/sacct/a.txt": "".join(parts)}))
    assert counts(con) == (2 * most + 8, most, most, 8)
    assert rows(con, "select distinct reason from ops.quarantine") == [{"reason": "no_header"}]


def test_the_effort_of_repairing_is_bounded_for_all_lines_together(monkeypatch):
    """Each line has tens of thousands of possible readings. Without a bound, trying all took hours."""
    layout = header_layout("JobIDRaw|JobName|Comment|WorkDir|SubmitLine|State|Start")
    tried = []
    monkeypatch.setattr(odd_lines, "_merge", lambda tokens, _widths, _delimiter: tried.append(1) or tokens)
    monkeypatch.setattr(odd_lines, "fits", lambda _fields, _layout: False)
    line = f"7|{'a|' * 60}COMPLETED|2024-05-01T09:00:00"
    outcomes = list(assemble([OddLine(0, number, line, 0, True) for number in range(2, 202)], [layout]))
    assert {outcome.quarantined for outcome in outcomes} == {"field_count"}
    assert 20_000 < len(tried) <= 50_000
