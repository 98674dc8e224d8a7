"""Every SQL statement is made of code: constants, numbers, and texts quoted by `identifier` and `literal`."""

from pathlib import Path

import duckdb
import pytest
from sqlfluff.core import FluffConfig
from sqlfluff.core.templaters import JinjaTemplater

from assets.sql import fill
from tests.lint.sql_sources import Tree, taken_as_is

PROJECT = Path(__file__).resolve().parents[2]
WITHOUT_DUCKDB = ("assets/simulation", "assets/model")
"""Rooms that may not import `assets.sql` (pyproject.toml)."""
ALLOWED = {
    ("assets/sources/intake/batch.py", "step"): "the steps of the readers, each judged where it is written",
    ("orchestration/dbt/results.py", "{test_sql}"): "dbt's text of a test of the project, to show the first bad row",
    ("orchestration/publication/publish.py", "definition"): "DuckDB's own text of a table of the working file",
    ("orchestration/read_commands/query.py", "sql"): "the user's question, on a file that can only be read",
}


def test_every_statement_is_made_of_the_code():
    files = {
        file.relative_to(PROJECT).as_posix(): file.read_text(encoding="utf-8")
        for room in ("assets", "orchestration")
        for file in sorted((PROJECT / room).rglob("*.py"))
        if not file.relative_to(PROJECT).as_posix().startswith(WITHOUT_DUCKDB)
    }
    templates = {
        file.relative_to(PROJECT / "assets").as_posix(): file.read_text(encoding="utf-8")
        for file in (PROJECT / "assets").rglob("*.sql")
    }
    found = Tree(files, templates).prove()
    unproved = [f"{path}:{line}: {text}" for path, line, text in found if (path, text) not in ALLOWED]
    assert unproved == []
    assert {(path, text) for path, _, text in found} == set(ALLOWED)


QUOTED = 'from assets.sql import identifier, literal\ncon.execute(f"from {identifier(name)} where a = {literal(text)}")'
BUILT = """
COLUMNS = ("a", "b")

def condition(column, least: int):
    return f"{column} > {least} and {least + 1:d} > 0"

def ask(con, rows):
    parts = []
    for place, column in enumerate(COLUMNS):
        parts.append(condition(column, 3) + f" or {place} > 0")
    con.execute(f"select {', '.join(COLUMNS)} from t where {' and '.join(parts)} limit {len(rows)}")
"""
RECURSIVE = """
def nested(depth: int, inner="from t"):
    return inner if depth == 0 else nested(depth - 1, f"from ({inner})")
con.execute(nested(3))
"""
OBJECTS = """
class Table:
    name: str
    row_count: int

TABLES = {"t": Table("t", 3)}

def show(con, table: Table):
    con.execute(f"select {table.row_count} from {table.name}")

show(con, TABLES["t"])
"""


@pytest.mark.parametrize("code", [QUOTED, BUILT, RECURSIVE, OBJECTS, 'con.execute("select ?", [name])'])
def test_what_is_made_of_the_code_is_proved(code):
    assert Tree({"module.py": f"con = open()\n{code}"}).prove() == []


HOSTILE = r"""
def ask(con, name): con.execute(f'from {name}')
def ask(con, name): con.execute(f"from {name}")\ndef outer(con, given): ask(con, "t"); ask(con, name=given)
def ask(con):\n for (name,) in con.execute("select name from t").fetchall(): con.execute(f"from {name}")
def ask(con, name): con.execute('from ' + name)
def ask(con, name): con.execute('from {}'.format(name))
def ask(con, name): con.execute('from %s' % name)
def ask(con, name): con.execute('from NAME'.replace('NAME', name))
def ask(con, names): con.execute(f'select {", ".join(names)} from t')
def ask(con, name):\n parts = ["a"]\n parts.append(name)\n con.execute(f"select {', '.join(parts)} from t")
def ask(con, name):\n parts = ["a"]\n def add(): parts.append(name)\n con.execute(f"select {', '.join(parts)} from t")
def ask(con, name):\n text = "from t"\n text += f" where a = '{name}'"\n con.execute(text)
def text_of(name): return f"from {name}"\ndef ask(con, name): con.execute(text_of(name))
class T:\n name: str\ndef make(x): return T(x)\ndef ask(con, t: T): con.execute(f"from {t.name}")\nask(con, make(x))
def ask(con, name, is_odd): con.execute(f"from {'t' if is_odd else name}")
import os\nNAME = os.environ['NAME']\ncon.execute(f'from {NAME}')
def ask(con, name): con.execute(f'from {name:>3}')
def ask(con):\n try: pass\n except OSError as error: con.execute(f"select '{error}' from t")
def ask(con, given):\n match given:\n  case str(name): con.execute(f"from {name}")
def odd(x): return f"from {x}"\ndef ask(con, make, x): con.execute(make(x))\ndef outer(con, x): ask(con, odd, x)
def make(name): return [f'delete from {name}']
class R:\n def text(self, name): return f"from {name}"\ndef ask(con, reader, name): con.execute(reader.text(name))
"""


@pytest.mark.parametrize("code", HOSTILE.strip().splitlines())
def test_what_comes_from_elsewhere_is_found(code):
    assert Tree({"module.py": "con = open()\n" + code.replace(r"\n", "\n")}).prove() != []


TEMPLATE = "select {{ column }} from {{ table | identifier }} where a = {{ text | literal }}"


@pytest.mark.parametrize(
    ("call", "is_proved"),
    [
        ("fill('t.sql', column='a', table=name, text=name)", True),
        ("fill('t.sql', column=name, table='t', text='x')", False),
        ("fill('t.sql', **name)", False),
        ("fill(name, column='a')", False),
        ("fill('of no file.sql', column='a')", False),
    ],
)
def test_a_template_gets_what_is_made_of_the_code_or_quotes_it(call, is_proved):
    tree = Tree({"module.py": f"def ask(con, name): con.execute({call})"}, {"t.sql": TEMPLATE})
    assert (tree.prove() == []) == is_proved


def test_a_value_that_is_quoted_in_one_place_only_is_not_quoted():
    assert taken_as_is(TEMPLATE + " and b = '{{ text }}'") == {"column", "text"}


@pytest.mark.parametrize(
    ("template", "taken"),
    [
        ("{% for name in names %}{{ ('(?i)' ~ name) | literal }}{% endfor %}", set()),
        ("{% for name, kind in rules %}{{ name | literal }} {{ kind | literal }}{% endfor %}", set()),
        ("{% for name, kind in rules %}{{ name | literal }} {{ kind }}{% endfor %}", {"rules"}),
        ("{% for name in names %}{{ name | literal }}{% endfor %}{{ names }}", {"names"}),
        ("{{ (one | literal) ~ other }}", {"other"}),
        ("{% if not name %}true{% else %}a = {{ name | literal }}{% endif %}", set()),
        ("{% for name, kind in rules if kind %}{{ name | literal if kind else 'x' }}{% endfor %}", set()),
        ("{{ name if name else 'x' }}", {"name"}),
    ],
)
def test_a_list_is_quoted_where_a_loop_quotes_all_its_parts(template, taken):
    assert taken_as_is(template) == taken


TEMPLATES = [
    path.relative_to(PROJECT / "assets").as_posix() for path in sorted((PROJECT / "assets" / "sources").rglob("*.sql"))
]


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_template_filled_with_its_sample_is_sql(template):
    config = FluffConfig.from_path(str(PROJECT / "assets" / template))
    sample = config.get_section(("templater", "jinja", "context")) or {}
    statement = fill(template, **{name: JinjaTemplater.infer_type(value) for name, value in sample.items()})
    assert duckdb.extract_statements(statement) or "macro" in (PROJECT / "assets" / template).read_text()
