"""The content of `cluster.toml` as data: sections and keys with type, default, unit and meaning, from the models.

The page `docs/configuration.md` and the file that `faultline init` writes are both generated from it, so they agree
with what is read.
"""

from __future__ import annotations

import ast
import inspect
import json
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from functools import cache
from importlib.resources import files
from typing import Any

from pydantic import BaseModel

from assets.site_rules import toml_text
from assets.sources.settings.cluster import Settings
from assets.sources.settings.reading import section_of

UNITS = ("seconds", "minutes", "hours", "days", "share")
NO_DEFAULT = object()
"""Stands for the default of a required key."""


@dataclass(frozen=True)
class Key:
    """One key: its name, its type in words, its default (None: nothing is set), its unit and its meaning."""

    name: str
    takes: str
    default: Any
    unit: str
    meaning: str

    @property
    def default_text(self) -> str:
        """The default as TOML; `none` if nothing is set, `required` if the key has to be given."""
        if self.default is NO_DEFAULT:
            return "required"
        return "none" if self.default is None else toml_value(self.default)


@dataclass(frozen=True)
class Described:
    """A table of the file, or the keys above all tables.

    Attributes
    ----------
    path
        Its name, such as `tickets.columns`; empty for the keys above all tables.
    is_list
        Whether it may occur several times, each an entry of a list: `[[spans]]`.
    """

    path: str
    is_list: bool
    meaning: str
    keys: tuple[Key, ...]

    @property
    def header(self) -> str:
        """Its first line; empty for the keys above all tables."""
        return f"[[{self.path}]]" if self.is_list else f"[{self.path}]" if self.path else ""

    @property
    def example(self) -> str:
        """Valid lines of TOML that set its keys."""
        return examples()[self.path]


@cache
def sections() -> tuple[Described, ...]:
    """Return all tables of the file, in the order of the models."""
    return tuple(_sections(Settings, "", False))


def _sections(model: type[BaseModel], path: str, is_list: bool) -> Iterator[Described]:
    schema = model.model_json_schema(by_alias=True)
    meanings = attribute_docstrings(model)
    keys, below = [], []
    for name, field in model.model_fields.items():
        section = section_of(field.annotation)
        shown = field.alias or name
        if section is None:
            default = NO_DEFAULT if field.is_required() else field.get_default(call_default_factory=True)
            takes = _words(schema["properties"][shown], schema.get("$defs", {}))
            keys.append(Key(shown, takes, default, _unit(shown), meanings[name]))
        else:
            is_several = schema["properties"][shown].get("type") == "array"
            below += list(_sections(section, f"{path}.{shown}" if path else shown, is_several))
    if keys:
        yield Described(path, is_list, _first_paragraph(model), tuple(keys))
    yield from below


def attribute_docstrings(model: type[BaseModel]) -> dict[str, str]:
    """Return the text below each field of a model and its bases; a field without one raises `KeyError` later.

    Pydantic would read the texts at every start, which takes 35 ms of each refresh.
    """
    found: dict[str, str] = {}
    for base in reversed(model.__mro__):
        if not issubclass(base, BaseModel) or base is BaseModel:
            continue
        (definition,) = ast.parse(textwrap.dedent(inspect.getsource(base))).body
        assert isinstance(definition, ast.ClassDef)  # noqa: S101 -- the source of a class
        for field, text in zip(definition.body, definition.body[1:], strict=False):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and _is_text(text):
                found[field.target.id] = " ".join(ast.literal_eval(text.value).split())  # type: ignore[attr-defined]
    return found


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _first_paragraph(model: type[BaseModel]) -> str:
    return " ".join((inspect.getdoc(model) or "").split())


def _unit(name: str) -> str:
    return next((unit for unit in UNITS if name == unit or name.endswith(f"_{unit}")), "")


def _words(schema: dict[str, Any], definitions: dict[str, Any]) -> str:
    """Return the type that a JSON schema describes, in words."""
    if "$ref" in schema:
        schema = definitions[schema["$ref"].rpartition("/")[2]]
    if "anyOf" in schema:
        forms = [_words(form, definitions) for form in schema["anyOf"] if form.get("type") != "null"]
        return " or ".join(dict.fromkeys(forms))
    if "enum" in schema:
        return " or ".join(json.dumps(value) for value in schema["enum"])
    kind = schema.get("type")
    if kind == "array":
        return f"list of: {_words(schema['items'], definitions)}"
    if kind == "object":
        names = _words(schema["propertyNames"], definitions) if "propertyNames" in schema else "text"
        return f"table of: {names} = {_words(schema['additionalProperties'], definitions)}"
    plain = {"boolean": "true or false", "integer": "whole number", "number": "number"}
    texts = {"date": "date", "date-time": "date with time"}
    return plain[kind] + _bounds(schema) if kind in plain else texts.get(schema.get("format", ""), "text")


def _bounds(schema: dict[str, Any]) -> str:
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    high = schema.get("maximum", schema.get("exclusiveMaximum"))
    above = "above" if "exclusiveMinimum" in schema else "from"
    parts = ([f" {above} {low:,g}"] if low is not None else []) + ([f" to {high:,.0f}"] if high is not None else [])
    return "".join(parts)


def toml_value(value: Any) -> str:
    """Return a default or another plain value as TOML.

    >>> toml_value(["a", 1.5, True, {}])
    '["a", 1.5, true, {}]'
    """
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return str(value)
        case date():
            return value.isoformat()
        case list() | tuple():
            return f"[{', '.join(map(toml_value, value))}]"
        case dict():
            return "{" + ", ".join(f"{toml_text(name)} = {toml_value(given)}" for name, given in value.items()) + "}"
        case _:
            text = str(value)
            is_plain = text.isascii() and text.isprintable() and not set(text) & set('"\\')
            return f'"{text}"' if is_plain else toml_text(text)


@cache
def examples() -> dict[str, str]:
    """Return the example of each section in `examples.toml`, by its path."""
    text = (files(__package__) / "examples.toml").read_text(encoding="utf-8")
    found: dict[str, list[str]] = {"": []}
    path = ""
    for line in text.splitlines():
        if line.startswith("# "):
            continue
        if line.startswith("["):
            path = line.strip("[]")
        found.setdefault(path, []).append(line)
    return {path: "\n".join(lines).strip() for path, lines in found.items()}
