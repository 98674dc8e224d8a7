"""Names and phrases that this project does not use, because strangers cannot guess what they mean (docs/naming.md)."""

import io
import re
import subprocess
import tokenize
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
NAMES = re.compile(
    r"_*told|_*gone|beside|let_cut|look_in|left_lines|sparing|hashing_again|own_form"
    r"|_*(?:LEAST|MOST|SHORTEST|LONGEST)_[A-Z_]+"
)
"""Whole names in Python: a name says what a value is, not its part in a sentence; limits are `MIN_` and `MAX_`."""
PHRASES = re.compile(
    r"when it lies:|says the same as before|read otherwise than|in no order has|words and places|what is new chains",
    re.IGNORECASE,
)
"""Phrases in any text of the product; assumptions are called assumptions."""
ROOMS = ("assets", "orchestration", "dbt_project")
KINDS = (".py", ".sql", ".yml", ".j2", ".md")


def _files(*patterns: str) -> list[Path]:
    listed = subprocess.run(["git", "ls-files", *patterns], cwd=PROJECT, capture_output=True, text=True, check=True)
    return [PROJECT / name for name in listed.stdout.split("\n") if name]


def _bad_names(source: str) -> set[str]:
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return {token.string for token in tokens if token.type == tokenize.NAME and NAMES.fullmatch(token.string)}


def test_names_say_what_a_value_is():
    assert _bad_names("told = 1\nMOST_DAYS = 2\nprint(f(gone=told), 'gone')") == {"told", "MOST_DAYS", "gone"}
    found = {str(file.relative_to(PROJECT)): _bad_names(file.read_text(encoding="utf-8")) for file in _files("*.py")}
    assert {name: names for name, names in found.items() if names} == {}


def test_no_riddles_are_left():
    files = _files("docs/*.md", *(f"{room}/*{kind}" for room in ROOMS for kind in KINDS))
    found = {str(file.relative_to(PROJECT)): PHRASES.findall(file.read_text(encoding="utf-8")) for file in files}
    assert {name: phrases for name, phrases in found.items() if phrases} == {}


def test_no_line_of_a_template_is_longer_than_one_of_the_code():
    files = _files("assets/answers/*.j2")
    long = [
        f"{file.relative_to(PROJECT)}:{number}"
        for file in files
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1)
        if len(line) > 120
    ]
    assert len(files) > 10
    assert long == []
