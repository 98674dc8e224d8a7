"""The functions of assets/model behind a module, with their docstrings, and the thresholds of a module."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

from orchestration.settings.home import PROJECT

MODEL, ESTIMATES = "assets.model.", "assets.estimates."
Definition = ast.FunctionDef | ast.ClassDef


@dataclass(frozen=True)
class Formula:
    """A function: its module in assets/model, its name, and the parts of its docstring.

    `result` is the section Returns, and `notes` the other text, without parameters and examples.
    """

    module: str
    name: str
    summary: str
    result: str
    notes: str
    source: str


@dataclass(frozen=True)
class Threshold:
    """A numeric constant of a module, and its meaning."""

    name: str
    value: str
    meaning: str


@dataclass(frozen=True)
class _Module:
    tree: ast.Module
    definitions: dict[str, Definition]
    imports: dict[str, tuple[str, str]]


def _file(module: str) -> Path:
    return PROJECT / f"{module.replace('.', '/')}.py"


@lru_cache(maxsize=200)
def _module(name: str) -> _Module:
    tree = ast.parse(_file(name).read_text(encoding="utf-8"))
    definitions = {node.name: node for node in tree.body if isinstance(node, Definition)}
    imports = {
        alias.asname or alias.name: (node.module, alias.name)
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith((MODEL, ESTIMATES)) and node.module
        for alias in node.names
    }
    return _Module(tree, definitions, imports)


def _named(module: str, node: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield the names from these rooms in a piece of code: pairs of a module and a name."""
    known = _module(module)
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            if part.id in known.definitions:
                yield module, part.id
            elif part.id in known.imports:
                yield known.imports[part.id]
        elif isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id in known.imports:
            yield ".".join(known.imports[part.value.id]), part.attr


def formulas_behind(module: str, *, deep: bool = False) -> list[Formula]:
    """List the functions of assets/model that a module calls, directly or by helpers in assets/estimates.

    With `deep`, also the functions that these call.
    """
    seen: dict[tuple[str, str], Definition] = {}
    left = list(_named(module, _module(module).tree))
    while left:
        at, name = left.pop(0)
        # An imported module or constant looks like a function here, too.
        node = _module(at).definitions.get(name) if _file(at).exists() else None
        if node is not None and (at, name) not in seen:
            seen[at, name] = node
            if deep or not at.startswith(MODEL):
                left += _named(at, node)
    return [
        formula(at, node)
        for (at, name), node in seen.items()
        if at.startswith(MODEL) and isinstance(node, ast.FunctionDef) and not name.startswith("_")
    ]


def formula(module: str, node: ast.FunctionDef) -> Formula:
    """Parse the docstring of a function in numpydoc's format."""
    first, *sections = re.split(r"\n\n(?=\w+\n-+\n)", ast.get_docstring(node) or "")
    summary, _, more = first.partition("\n\n")
    parts = {title: text.partition("\n")[2] for title, _, text in (section.partition("\n") for section in sections)}
    notes = "\n\n".join(filter(None, (more.partition(">>> ")[0].strip(), parts.get("Notes", "").strip())))
    result = textwrap.dedent(parts.get("Returns", "").partition("\n")[2].partition("\n\n")[0])
    return Formula(module.removeprefix(MODEL), node.name, summary, result, notes, parts.get("References", "").strip())


def formulas_of_module(name: str) -> list[Formula]:
    """List the public functions of a module of assets/model."""
    found = _module(name).definitions.values()
    return [formula(name, node) for node in found if isinstance(node, ast.FunctionDef) and node.name[0] != "_"]


def docstring(module: str) -> str:
    """Return the docstring of a module."""
    return ast.get_docstring(_module(module).tree) or ""


def thresholds_of(module: str) -> list[Threshold]:
    """List the public numeric constants of a module, with the text below each."""
    body = _module(module).tree.body
    found = []
    for node, below in pairwise(body):
        meaning = below.value.value if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) else None
        if isinstance(node, ast.Assign) and isinstance(meaning, str):
            name, value = ast.unparse(node.targets[0]).strip("()"), ast.unparse(node.value).strip("()")
            if re.fullmatch(r"[A-Z0-9_, ]+", name) and name[0] != "_" and re.fullmatch(r"[-+\d., e*]+", value):
                found.append(Threshold(name, value.removesuffix(".0"), " ".join(meaning.split())))
    return found
