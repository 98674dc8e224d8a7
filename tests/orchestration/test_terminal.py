"""Output to a terminal, a pipe or a spreadsheet has no control characters but our own."""

import contextlib
import csv
import io
import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest
from typer import Exit
from typer.testing import CliRunner

from orchestration.cli import app
from orchestration.cli.options import fail
from orchestration.doctor.findings import Finding, print_findings
from orchestration.read_commands.query import run_query
from orchestration.runs.refresh_errors import explain_error
from orchestration.terminal.output import json_text, print_table, visible
from tests.patience import PATIENCE_SECONDS

FAULTLINE = Path(sys.executable).with_name("faultline")
HOSTILE = "a\x1b]0;owned\x07\x1b[2Jb\x9b31mc\u202ed\u2066e\u200bf\u00adg\ud800h\rI\x7f\u2028j"
OBEYED = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\xad\u200b-\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff\ufeff]")
"""Any control or invisible character except the line break."""
CROSS_JOIN = "select count(*) from range(10000000) a, range(10000000) b where hash(a.range, b.range) = 3"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text, 100% é ü 漢字 🚀", "plain text, 100% é ü 漢字 🚀"),
        ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
        ("\x9b31m", r"\x9b31m"),
        ("a\nb\tc\rd", r"a\nb\tc\rd"),
        ("\u202eevil\u2069", r"\u202eevil\u2069"),
        ("zero\u200bwidth\ufeff\u2060\u00ad", r"zero\u200bwidth\ufeff\u2060\xad"),
        ("\ud800", r"\ud800"),
        ("\x00\x7f", r"\x00\x7f"),
        ("tag\U000e0041", r"tag\U000e0041"),
        ("filler\u3164\u115f\u2800", r"filler\u3164\u115f\u2800"),
        ("thin\u2009space", "thin\u2009space"),
    ],
)
def test_what_is_obeyed_or_unseen_is_shown(text, shown):
    assert visible(text) == shown
    assert visible(shown) == shown


def test_json_escapes_what_cannot_be_seen_and_keeps_its_value():
    text = json_text({HOSTILE: [HOSTILE, float("nan"), float("inf")]}, indent=2)
    assert not OBEYED.search(text)
    assert json.loads(text) == {HOSTILE: [HOSTILE, None, None]}


@pytest.fixture
def hostile_home(small_home):
    """A home with hostile text in every name that a user or a machine chooses."""
    clean = HOSTILE.replace("\ud800", "")
    with duckdb.connect(str(small_home.published_file)) as con:
        con.execute("update marts.fct_attempts set job_name = $1", [clean])
        con.execute("update ops.runs set status = 'failed', message = $1", [f"{clean}\n{clean}"])
        con.execute("update ops.files set path = $1, warnings = [$1]", [clean])
        con.execute(f'create table marts."{clean}" as select 1 as "{clean}"')
        con.execute(f"comment on table marts.\"{clean}\" is 'One row per {clean}.'")
    (small_home.sources / "bad\x1b[31m").mkdir()
    return small_home


@pytest.fixture
def say(hostile_home):
    """Run a command and return all its output, on both streams."""

    def say(*arguments):
        result = CliRunner().invoke(app, [*arguments, "--home", str(hostile_home.root)])
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result.stdout + result.stderr

    return say


@pytest.mark.parametrize(
    "arguments",
    [
        ("query", "from marts.fct_attempts"),
        ("query", "from marts.fct_attempts", "--format", "csv"),
        ("query", "from marts.fct_attempts", "--format", "json"),
        ("query", f'select 1 as "{HOSTILE[:-30]}"', "--format", "csv"),
        ("query", "select chr(27) || '[31m' as chr(27)"),
        ("query", "select * from marts.nothing where x = '\x1b[31m'"),
        ("tables",),
        ("tables", "--json"),
        ("tables", "\x1b[31mnothing"),
        ("status",),
        ("status", "--json"),
        ("doctor",),
        ("doctor", "--json"),
        ("plan", "--gpus", "8", "--cluster", "\x1b[31m"),
        ("lemons", "--cluster", "\x1b[31m"),
    ],
    ids=" ".join,
)
def test_no_command_prints_what_a_terminal_obeys(say, arguments):
    text = say(*arguments)
    assert text
    assert not OBEYED.search(text), repr(text)


def test_csv_is_quoted_and_no_formula_and_its_text_comes_back(small_home):
    sql = """
        select unnest(['=1+1', '+1', '-1', '@sum', chr(9) || 'x', chr(13) || '=1', 'x' || chr(27) || '[0m',
                'two' || chr(10) || 'lines', '＝1', 'safe, quoted', null, 'a=b']) as x,
            -5 as n, -0.5::double as d, timestamp '2026-01-01 12:00:00.5' as at, false as b, [1, 2] as l
    """
    out = io.StringIO()
    run_query(small_home.published_file, sql, "csv", out)
    texts = [
        "'=1+1", "'+1", "'-1", "'@sum", "'\tx", r"'\r=1", r"x\x1b[0m", "two\nlines", "'＝1", "safe, quoted", "", "a=b",
    ]  # fmt: skip
    others = ["-5", "-0.5", "2026-01-01 12:00:00.500000", "false", "[1, 2]"]
    found = [*csv.reader(io.StringIO(out.getvalue()))]
    assert found == [["x", "n", "d", "at", "b", "l"], *([text, *others] for text in texts)]


def test_a_table_shows_line_breaks_escapes_and_markup_and_has_styles_of_ours_only(small_home, monkeypatch):
    """On a terminal, rich writes its own escapes; escapes in the text are made visible."""
    master, slave = pty.openpty()
    with os.fdopen(slave, "w") as terminal:
        monkeypatch.setattr(sys, "stdout", terminal)
        monkeypatch.setenv("TERM", "xterm")
        print_findings([Finding("error", "\x1b[5mblink", "bad\x9bname", "rm \u202ex")])
        print_table(["\x1b[6m"], [["\x1b[7m\ncell :bomb: [bold]x[/bold]"]])
    shown = b""
    with contextlib.suppress(OSError):  # the end
        while True:
            shown += os.read(master, 4096)
    os.close(master)
    shown = shown.decode()
    assert "\x1b[1;31m" in shown
    assert [escape for escape in ("\x1b[5m", "\x1b[6m", "\x1b[7m", "\x9b", "\u202e") if escape in shown] == []
    assert r"\x1b[7m\ncell :bomb: [bold]x[/bold]" in shown


def test_an_error_shows_neither_an_escape_nor_a_secret_and_what_is_kept_of_it_neither(small_home, capsys):
    with pytest.raises(Exit):
        fail("c/sacct/\x1b[2Jx.psv, line 3: 'TOKEN=hunter2'.\nNext: export it again")
    assert capsys.readouterr().err == (
        "faultline: c/sacct/\\x1b[2Jx.psv, line 3: 'TOKEN=***'.\nNext: export it again\n"
    )
    said = explain_error(ValueError("cannot read 'TOKEN=hunter2'"), small_home)
    kept = (small_home.work / "unexpected-error.txt").read_text()
    assert all("TOKEN=***" in text and "hunter2" not in text for text in (said, kept))


def ask(home, *arguments, **options):
    command = [str(FAULTLINE), "query", "--home", str(home.root), *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


@pytest.mark.parametrize("fmt", ["csv", "json", "table"])
def test_a_reader_who_has_seen_enough_ends_it_quietly(small_home, fmt):
    process = ask(small_home, "--format", fmt, "select range, repeat('x', 200) as x from range(300000)")
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait(timeout=PATIENCE_SECONDS) == 0


@pytest.mark.parametrize(
    ("arguments", "to", "status"),
    [
        *(([*words], "/dev/full", 1) for words in (["status"], ["tables", "--json"])),
        *((["query", "select 1", "--format", fmt], "/dev/full", 1) for fmt in ("table", "csv", "json")),
        (["tables"], "&-", 0),
    ],
)
def test_an_answer_that_cannot_be_written_is_an_error_of_one_line_and_one_that_nobody_wants_is_none(
    small_home, arguments, to, status
):
    command = f'exec "$0" "$@" >{to}'
    words = [str(FAULTLINE), *arguments, "--home", str(small_home.root)]
    done = subprocess.run(["sh", "-c", command, *words], stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n"), "No space left" in done.stderr) == (status, status, bool(status))


@pytest.mark.parametrize("signals", [1, 2])
def test_ctrl_c_ends_any_query(small_home, signals):
    process = ask(small_home, CROSS_JOIN)
    deadline, threads, ticks = time.monotonic() + PATIENCE_SECONDS, 0, 0
    while (threads < 2 or ticks < 150) and time.monotonic() < deadline:  # until DuckDB's threads are working
        times = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        threads, ticks = int(times[17]), int(times[11])
        time.sleep(0.05)
    for _ in range(signals):
        process.send_signal(signal.SIGINT)
    try:
        out, err = process.communicate(timeout=PATIENCE_SECONDS)
    finally:
        process.kill()
    assert (process.returncode, out, err) == (130, "", "")
