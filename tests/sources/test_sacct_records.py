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
    """Spreadsheets quote what holds commas; sacct does not, and its TRES can be told from the other columns."""
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


def test_a_name_full_of_delimiters(tmp_path):
    record = {"JobName": "a|b||c", "SubmitLine": "sbatch --wrap env | grep GPU"}
    con = load(make(tmp_path, {"c1/sacct/a.txt": export([record, {"JobID": "52"}])}))
    assert rows(con, "select job_name, submit_line, state from raw.sacct where job_id_raw = 51") == [
        {"job_name": "a|b||c", "submit_line": "sbatch --wrap env | grep GPU", "state": "COMPLETED"}
    ]
    assert counts(con) == (3, 2, 1, 0)


def test_a_constraint_of_two_features_beside_the_submit_line_that_asked_for_it():
    """Columns that are not read tell where a free text ends, too: energy and ids of keys are numbers."""
    header = "JobIDRaw|Comment|Constraints|ConsumedEnergy|Container|CPUTime|State|Submit|Start|End|SubmitLine|Suspended"
    header += "|WCKey|WCKeyID|WorkDir"
    layout = header_layout(header)
    times = "2026-10-25T02:56:22|2026-10-25T02:56:23|2026-10-25T02:56:44"
    line = f"16||a100|h100|0||00:00:44|COMPLETED|{times}|sbatch -C a100|h100 run.sh|00:00:00||0|/home/a|b"
    fields = dict(zip(layout.columns, repair(line, layout), strict=True))
    assert (fields["Constraints"], fields["WorkDir"]) == ("a100|h100", "/home/a|b")
    assert fields["SubmitLine"] == "sbatch -C a100|h100 run.sh"


def test_a_name_and_a_comment_of_nothing_but_delimiters():
    """What a step used is a number: it holds the columns before the comment in their places."""
    header = "AdminComment|AllocCPUS|AllocNodes|AllocTRES|AssocID|AveCPU|AveCPUFreq|AveDiskRead|AveDiskWrite|AvePages"
    header += "|AveRSS|AveVMSize|BlockID|Cluster|Comment|Constraints|ConsumedEnergy|ConsumedEnergyRaw|CPUTime|DBIndex"
    layout = header_layout(f"{header}|JobIDRaw|JobName|NCPUS|State|Submit|Start|End")
    numbers = "00:00:02|148|86|||||1|COMPLETED|1795736863|1795736864|1795736866"
    line = f"|1|1|cpu=1,node=1|11|||||||||bx|c18||||||||{numbers}"
    fields = dict(zip(layout.columns, repair(line, layout), strict=True))
    assert (fields["Cluster"], fields["JobName"], fields["NCPUS"]) == ("bx", "|||", "1")


def test_a_script_of_many_lines_with_blank_ones(tmp_path):
    record = {"SubmitLine": "sbatch --wrap #!/bin/bash\n\nsrun a | tee log\n\n\nsrun b"}
    con = load(make(tmp_path, {"c1/sacct/a.txt": export([record, {"JobID": "52"}])}))
    assert counts(con) == (8, 2, 6, 0)
    assert con.execute("select reason, line_count from ops.skips order by 1").fetchall() == [
        ("continuation", 5), ("header", 1),
    ]  # fmt: skip
    found = rows(con, "select submit_line, line_number from raw.sacct order by line_number")
    assert found[0]["submit_line"] == record["SubmitLine"].replace("\n", "\\n")
    assert found[1]["line_number"] == 8


def test_a_line_break_in_the_last_column(tmp_path):
    columns = [*[column for column in COLUMNS if column != "JobName"], "JobName"]
    text = export([{"JobName": "one\ntwo"}, {"JobID": "52"}], columns=columns)
    con = load(make(tmp_path, {"c1/sacct/a.txt": text}))
    assert counts(con) == (4, 2, 2, 0)


def test_line_breaks_in_a_name_and_in_the_submit_line_behind_it(tmp_path):
    """As a pull asks for them: free text last, where a script has many lines and the name may have some."""
    columns = [*[column for column in COLUMNS if column not in {"JobName", "SubmitLine"}], "JobName", "SubmitLine"]
    script = "sbatch --wrap #!/bin/bash\nmodule load cuda\n\nsrun train\nsrun test"
    records = [
        {"SubmitLine": script},
        {"JobID": "52", "JobName": "two\nlines", "SubmitLine": "sbatch -J two\nlines\na\nb"},
        {"JobID": "53", "SubmitLine": "sbatch run.sh"},
    ]
    text = export(records, columns=columns, delimiter="\x1f")
    con = load(make(tmp_path, {"c1/sacct/a.txt": text}))
    assert counts(con) == (12, 3, 9, 0)
    names = [row["job_name"] for row in rows(con, "select job_name from raw.sacct order by job_id_raw")]
    assert names[1] == "two\\nlines"


def test_pipes_in_a_script_that_stands_last_where_pipes_set_columns_apart(tmp_path):
    """A record that was cut off begins as a record does, and is none of the script."""
    columns = [*[column for column in COLUMNS if column != "SubmitLine"], "SubmitLine"]
    script = "sbatch --wrap #!/bin/bash\ncd run\npython train.py | tee log\n\nls | sort | wc -l\necho done"
    records = [{"SubmitLine": script}, {"JobID": "52", "SubmitLine": "sbatch run.sh"}]
    cut = export([{"JobID": "53"}], columns=columns).splitlines()[1][:30]
    con = load(make(tmp_path, {"c1/sacct/a.txt": export(records, columns=columns) + cut + "\n"}))
    assert counts(con) == (9, 2, 6, 1)
    assert con.execute("select reason, line_count from ops.skips order by 1").fetchall() == [
        ("blank", 1), ("continuation", 4), ("header", 1),
    ]  # fmt: skip
    assert con.execute("select line_number, raw from ops.quarantine").fetchall() == [(9, cut)]


def test_pipes_in_a_script_before_the_last_column(tmp_path):
    """With them its first lines have as many fields as a record; the folder behind the script ends it."""
    columns = [*[column for column in COLUMNS if column != "SubmitLine"], "SubmitLine", "WorkDir"]
    script = "sbatch --wrap #!/bin/bash\ncd run\npython train.py | tee log\n\nls | sort | wc -l\necho done"
    records = [
        {"SubmitLine": script, "WorkDir": "/home/alice"},
        {"JobID": "52", "SubmitLine": "sbatch run.sh", "WorkDir": "/home/bob"},
        {"JobID": "53", "SubmitLine": script, "WorkDir": "/home/alice"},
    ]
    con = load(make(tmp_path, {"c1/sacct/a.txt": export(records, columns=columns) + "\n"}))
    assert counts(con) == (15, 3, 12, 0)
    lines = [row["submit_line"] for row in rows(con, "select submit_line from raw.sacct order by job_id_raw")]
    assert lines == [script.replace("\n", "\\n"), "sbatch run.sh", script.replace("\n", "\\n")]


def test_lines_above_the_header_and_errors_between(tmp_path):
    text = "\nsacct: error: slurmdbd is slow today\nmotd: welcome\n" + export([{}]) + "sacct: error: connection lost\n"
    con = load(make(tmp_path, {"c1/sacct/a.txt": text}))
    assert con.execute("select line_number, reason from ops.quarantine order by 1").fetchall() == [
        (2, "command_error_output"), (3, "no_header"), (6, "command_error_output"),
    ]  # fmt: skip
    assert counts(con) == (6, 1, 2, 3)


def test_a_record_with_a_hole_is_not_glued_to_the_next(tmp_path):
    first, second = export([{}, {"JobID": "52"}]).splitlines()[1:]
    broken = "|".join(first.split("|")[:12])
    con = load(make(tmp_path, {"c1/sacct/a.txt": f"{'|'.join(COLUMNS)}\n{broken}\n{second}\n"}))
    assert con.execute("select job_id_raw from raw.sacct").fetchall() == [(52,)]
    assert con.execute("select line_number, reason, detail from ops.quarantine").fetchall() == [
        (2, "field_count", f"12 fields where the header names {len(COLUMNS)}")
    ]


def test_a_cut_record_is_not_glued_to_one_with_a_delimiter_in_its_name(tmp_path):
    """Together they have enough delimiters for one record, whose name would swallow most of the second."""
    first, second = export([{}, {"JobID": "52", "JobName": "a|b|c"}]).splitlines()[1:]
    con = load(make(tmp_path, {"c1/sacct/a.txt": f"{'|'.join(COLUMNS)}\n{first[:70]}\n{second}\n"}))
    assert con.execute("select job_id_raw, job_name from raw.sacct").fetchall() == [(52, "a|b|c")]
    assert con.execute("select line_number, reason from ops.quarantine").fetchall() == [(2, "field_count")]


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
    """Each line may be read in tens of thousands of ways; all of them were tried, line after line, for hours."""
    layout = header_layout("JobIDRaw|JobName|Comment|WorkDir|SubmitLine|State|Start")
    tried = []
    monkeypatch.setattr(odd_lines, "_merge", lambda tokens, _widths, _delimiter: tried.append(1) or tokens)
    monkeypatch.setattr(odd_lines, "fits", lambda _fields, _layout: False)
    line = f"7|{'a|' * 60}COMPLETED|2024-05-01T09:00:00"
    outcomes = list(assemble([OddLine(0, number, line, 0, True) for number in range(2, 202)], [layout]))
    assert {outcome.quarantined for outcome in outcomes} == {"field_count"}
    assert 20_000 < len(tried) <= 50_000
