"""The page on configuration, the models that read `cluster.toml` and the code that reads the environment agree."""

import tomllib
from pathlib import Path

from assets.sources.settings import Settings
from assets.sources.settings.described import Described, examples, sections
from tests.docs.writers.configuration_page import page

PROJECT = Path(__file__).parents[2]
PAGE = PROJECT / "docs" / "configuration.md"
EXAMPLES = PROJECT / "assets" / "sources" / "settings" / "examples.toml"


def test_the_page_is_what_the_code_says():
    assert PAGE.read_text(encoding="utf-8") == page(), "run `make configuration`"


def test_every_key_has_a_meaning_and_its_default_is_what_the_models_have():
    for section in sections():
        assert section.meaning.endswith("."), section.path
        for key in section.keys:
            assert len(key.meaning) > 5, (section.path, key.name)
            assert key.meaning.endswith("."), (section.path, key.name)
    defaults = {key.name: key.default_text for key in sections()[0].keys}
    assert defaults["timezone"] == '"UTC"'
    assert {section.path for section in sections()} >= {"", "attribution", "tickets.columns", "health.checks", "spans"}


def test_the_examples_are_read_and_set_every_key():
    document = tomllib.loads(EXAMPLES.read_text(encoding="utf-8"))
    Settings.model_validate(document)
    for section in sections():
        assert section.path in examples(), section.path
        tomllib.loads(section.example)
        given = {line.partition(" = ")[0] for line in section.example.splitlines()}
        assert {key.name for key in section.keys} <= given, section.path


def test_every_model_of_the_file_is_on_the_page():
    """Told by the schema, which pydantic makes of the same models by another way."""

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


def test_a_section_of_a_list_shows_two_brackets():
    assert Described("spans", True, "", ()).header == "[[spans]]"
    assert Described("", False, "", ()).header == ""
