"""commands.md and configuration.md agree with the code; they, statistics.md and tables.md are complete."""

import re
import shlex
import tomllib

import pytest

from assets.sources.settings import Settings
from assets.sources.settings.described import examples, sections
from orchestration.read_commands.catalogue import definitions
from orchestration.read_commands.formulas import formulas_behind
from orchestration.settings.home import PAGES, PROJECT
from tests.docs.writers import commands_page, statistics_page, tables_page
from tests.docs.writers.written import BUILT, KEPT

EXAMPLES = PROJECT / "assets" / "sources" / "settings" / "examples.toml"
ESTIMATES = [path.stem for path in sorted((PROJECT / "assets" / "estimates").glob("est_*.py"))]


@pytest.mark.parametrize("name", KEPT)
def test_the_page_is_what_the_code_says(name):
    assert (PAGES / name).read_text(encoding="utf-8") == KEPT[name](), "run `make docs`"


@pytest.mark.parametrize("name", commands_page.commands())
def test_every_example_of_a_command_can_be_typed(name):
    examples = re.findall(r"`faultline ([^`]*)`", commands_page.commands()[name].epilog or "")
    assert any(example.split()[0] == name for example in examples)
    for example in examples:
        for line in example.split(" && faultline "):
            called, *words = shlex.split(line)
            commands_page.commands()[called].make_context(called, words)


def test_the_examples_of_settings_are_read_and_set_every_key():
    Settings.model_validate(tomllib.loads(EXAMPLES.read_text(encoding="utf-8")))
    for section in sections():
        assert section.path in examples(), section.path
        tomllib.loads(section.example)
        given = {line.partition(" = ")[0] for line in section.example.splitlines()}
        assert {key.name for key in section.keys} <= given, section.path


def test_every_key_of_the_models_is_on_the_page():
    """The expected values come from the schema, which pydantic makes from the same models independently."""

    def paths(schema, prefix, definitions):
        for name, below in schema.get("properties", {}).items():
            target = below.get("items", below).get("$ref") or next(
                (form["$ref"] for form in below.get("anyOf", []) if "$ref" in form), None
            )
            path = f"{prefix}{name}"
            found = definitions[target.rpartition("/")[2]] if target else {}
            if "properties" in found:
                yield from paths(found, f"{path}.", definitions)
            else:
                yield path

    schema = Settings.model_json_schema(by_alias=True)
    expected = set(paths(schema, "", schema["$defs"]))
    shown = {f"{section.path}.{key.name}".lstrip(".") for section in sections() for key in section.keys}
    assert shown == expected


def test_every_estimate_has_its_limits_formulas_and_proofs():
    for name in ESTIMATES:
        formulas = formulas_behind(f"assets.estimates.{name}")
        section = BUILT["statistics.md"]().split(f"\n### {name}\n")[1]
        said = re.split(r"^#{2,3} ", section, maxsplit=1, flags=re.MULTILINE)[0]
        assert formulas and all(f"[{found.name}](#{found.name})" in said for found in formulas), name
        assert "**Limits**: " in said, name
        proofs = " ".join(said.split("**Proofs**: ")[1].split())
        known = ("coverage in `tests/", "not proven by coverage", *statistics_page.COVERAGE)
        assert any(words in proofs for words in known), name


def test_helpers_of_estimates_are_followed_and_functions_of_the_model_if_asked():
    for deep, expected in ((False, ["mean_or_bounds"]), (True, ["mean_or_bounds", "mean_ratio_interval"])):
        found = formulas_behind("assets.estimates.est_ettr_by_qos", deep=deep)
        assert [formula.name for formula in found] == expected


def test_every_table_for_readers_is_described():
    described = set(re.findall(r"^### (\w+)$", BUILT["tables.md"](), re.MULTILINE))
    assert described == {
        name.split(".")[1] for name in definitions() if name.split(".")[0] in {"marts", "estimates", "ops"}
    }


@pytest.mark.parametrize(("column", "table"), tables_page.OWNERS.items())
def test_a_key_tells_rows_apart(con, column, table):
    key = "cluster_id, node_id" if column == "node_id" else column
    ((rows, keys),) = con.execute(f"select count(*), count(distinct ({key})) from marts.{table}").fetchall()
    assert rows == keys > 0
