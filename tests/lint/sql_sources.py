"""Where the text of SQL statements comes from: a proof, over the whole tree, that it comes from the code alone.

A text is *made of code* when it is a literal, a constant of a module, a number, the result of `identifier` or `literal`
(assets/sql.py), a template filled with such texts, or put together from them. Variables, parameters, fields and results
of functions are followed to every place where they get a value: a parameter is made of code when every call in the tree
passes such an argument.
Functions are told apart by name only, so a method stands for all methods of that name. What cannot be followed is not
made of code. All unknowns are assumed to be good and refuted until nothing changes (the greatest fixed point), so that
functions that call each other can be proved.
"""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from jinja2 import Environment, meta, nodes

QUOTES = {"identifier", "literal"}
"""Functions that make any text safe."""
SINKS = {"execute", "executemany", "sql", "query"}
"""Methods of a DuckDB connection whose first argument is a statement."""
STATEMENT = re.compile(
    r"\b(select\s.+\sfrom|insert\s+into|update\s.+\sset|delete\s+from|attach\s+'|copy\s.+\sto|set\s+\w+\s*="
    r"|(create|drop|alter)\s.*\b(table|view|schema|macro))\b",
    re.IGNORECASE | re.DOTALL,
)
NUMBERS = {"int", "float", "len", "round", "abs", "sum", "bool", "ord"}
PASSES_ON = {
    "str", "sorted", "list", "tuple", "set", "frozenset", "dict", "zip", "enumerate", "reversed", "range", "map",
    "filter", "next", "iter", "chain", "min", "max", "cast", "repr", "dedent", "fromkeys",
    "join", "format", "replace", "strip", "lstrip", "rstrip", "lower", "upper", "removesuffix", "removeprefix", "split",
    "partition", "rpartition", "splitlines", "items", "values", "keys", "get", "copy", "pop", "union", "intersection",
    "difference", "escape", "substitute",
}  # fmt: skip
"""Functions and methods whose result is made of their arguments and of the object they belong to."""
PURE = {"re", "itertools", "textwrap", "math", "dataclasses", "operator"}
"""Modules whose functions know nothing but their arguments."""
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)
FILLS = {"append", "extend", "add", "update", "insert", "setdefault"}
NUMERIC = {"int", "float", "bool", "int | None", "float | None"}
Function = ast.FunctionDef | ast.AsyncFunctionDef
Unknown = tuple[object, ...]
Place = tuple[str, int, str]
"""File, line, text."""


@dataclass(eq=False)
class Scope:
    """A module or a function: what its names are given, and the scope around it."""

    path: str
    node: ast.AST
    outer: Scope | None
    given: dict[str, list[ast.expr]] = field(default_factory=lambda: defaultdict(list))
    parameters: dict[str, str] = field(default_factory=dict)
    imports: dict[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def outermost(self) -> Scope:
        """The function that is no part of another one; a module is itself."""
        outer = self.outer
        return self if outer is None or outer.outer is None else outer.outermost

    @property
    def name(self) -> str:
        """The function's name; empty for a module."""
        return getattr(self.node, "name", "")


class Tree:
    """All modules, indexed by what can be called."""

    def __init__(self, files: dict[str, str], templates: dict[str, str] | None = None) -> None:
        self.templates = templates or {}
        self.scopes: dict[ast.AST, Scope] = {}
        self.functions: dict[str, list[Function]] = defaultdict(list)
        self.classes: dict[str, list[ast.ClassDef]] = defaultdict(list)
        self.fields: dict[str, list[tuple[str, ast.AnnAssign, int]]] = defaultdict(list)
        self.calls: dict[str, list[ast.Call]] = defaultdict(list)
        self.results: dict[Scope, list[ast.expr | None]] = defaultdict(list)
        self.modules: dict[str, Scope] = {}
        self.class_of: dict[ast.AST, str] = {}
        self.protocols: set[str] = set()
        self.protocol: set[str] = set()
        self.handed_on: set[Function] = set()
        self.scope_of: dict[ast.AST, Scope] = {}
        self.refuted: dict[Unknown, bool] = {}
        self.fills: dict[tuple[Scope, str], list[ast.expr]] = defaultdict(list)
        self.resolved: dict[ast.expr, list[Function]] = {}
        self.users: dict[Unknown, set[Unknown]] = defaultdict(set)
        self.waiting: set[Unknown] = set()
        self.judging: Unknown | None = None
        for path, text in files.items():
            module = ast.parse(text)
            scope = Scope(path, module, None)
            self.modules[path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")] = scope
            self._index(module, scope)
        self.callers: dict[Function, list[ast.Call]] = defaultdict(list)
        for calls in self.calls.values():
            for call in calls:
                for function in (found := self._resolve(call.func)):
                    self.callers[function].append(call)
                for argument in call.args if found else []:
                    if isinstance(argument, ast.Name):
                        self.handed_on.update(self._named(argument.id, self.scopes[argument]))
        self.sinks = self._sinks()

    def _index(self, node: ast.AST, scope: Scope) -> None:
        self.scope_of[node] = scope
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            if not isinstance(node, ast.Lambda):
                self.functions[node.name].append(node)
            scope = Scope(scope.path, node, scope)
            arguments = node.args
            for parameter in [
                *arguments.posonlyargs,
                *arguments.args,
                *arguments.kwonlyargs,
                arguments.vararg,
                arguments.kwarg,
            ]:
                if parameter is not None:
                    scope.parameters[parameter.arg] = ast.unparse(parameter.annotation) if parameter.annotation else ""
        elif isinstance(node, COMPREHENSIONS):
            scope = Scope(scope.path, node, scope)
        elif isinstance(node, ast.ClassDef):
            self._index_class(node)
        self.scopes[node] = scope
        self._note_values(node, scope)
        for child in ast.iter_child_nodes(node):
            self._index(child, scope)

    def _index_class(self, node: ast.ClassDef) -> None:
        self.classes[node.name].append(node)
        methods = [statement for statement in node.body if isinstance(statement, ast.FunctionDef)]
        self.class_of.update(dict.fromkeys(methods, node.name))
        if any(ast.unparse(base) == "Protocol" for base in node.bases):
            self.protocols.add(node.name)
            self.protocol |= {method.name for method in methods}
        own = [
            statement
            for statement in node.body
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
        ]
        for place, declaration in enumerate(own):
            self.fields[declaration.target.id].append((node.name, declaration, place))  # type: ignore[union-attr]

    def _note_values(self, node: ast.AST, scope: Scope) -> None:  # noqa: C901
        match node:
            case ast.Assign():
                for target in node.targets:
                    self._give(scope, target, node.value)
            case ast.AnnAssign(value=ast.expr() as value) | ast.AugAssign(value=value) | ast.NamedExpr(value=value):
                self._give(scope, node.target, value)
            case ast.For() | ast.AsyncFor() | ast.comprehension():
                self._give_each(scope, node.target, node.iter)
            case ast.withitem(optional_vars=ast.expr() as target):
                self._give(scope, target, node.context_expr)
            case ast.Call(func=ast.Attribute(attr=method, value=ast.Name(id=name))) if method in FILLS:
                self.fills[scope.outermost, name] += [*node.args, *(keyword.value for keyword in node.keywords)]
            case ast.Return() | ast.Yield() | ast.YieldFrom():
                self.results[scope].append(node.value)
            case ast.ImportFrom(module=str(module)):
                for alias in node.names:
                    scope.imports[alias.asname or alias.name] = (module, alias.name)
            case ast.Import():
                for alias in node.names:
                    scope.imports[alias.asname or alias.name] = (alias.name, "")
        if isinstance(node, ast.Call):
            self.calls[_called(node)].append(node)

    def _resolve(self, called: ast.expr) -> list[Function]:
        """Return the functions that a name or an attribute may stand for."""
        if called not in self.resolved:
            self.resolved[called] = self._find(called)
        return self.resolved[called]

    def _find(self, called: ast.expr) -> list[Function]:
        if isinstance(called, ast.Name):
            return self._named(called.id, self.scopes[called])
        if not isinstance(called, ast.Attribute):
            return []
        if isinstance(called.value, ast.Name):
            found = self._imported(called.value.id, self.scopes[called])
            if found is not None:
                module = self.modules.get(".".join(part for part in found if part))
                if module is not None:
                    return self._own(called.attr, module)
                if found[0] not in self.modules:
                    return []
                # An object that another module of the tree has made: its methods are meant.
        return [function for function in self.functions[called.attr] if self._may_be_meant(function, called.value)]

    def _may_be_meant(self, function: Function, owner: ast.expr) -> bool:
        """Tell whether an attribute of an object may be a function: a method, or what a protocol asks of modules."""
        kind = self.class_of.get(function)
        known = self._class_of_value(owner)
        if kind is None:
            return function.name in self.protocol and isinstance(self.scope_of[function].node, ast.Module)
        return known is None or known == kind

    def _class_of_value(self, node: ast.expr) -> str | None:
        """Return the class of an object where an annotation tells it."""
        if not isinstance(node, ast.Name):
            return None
        scope: Scope | None = self.scopes[node]
        while scope is not None:
            if node.id in scope.parameters:
                kind = self.class_of.get(scope.node) if node.id == "self" else scope.parameters[node.id]
                return kind if kind in self.classes and kind not in self.protocols else None
            if node.id in scope.given:
                return None
            scope = scope.outer
        return None

    def _named(self, name: str, scope: Scope | None) -> list[Function]:
        found = self._imported(name, scope)
        if found is not None:
            module = self.modules.get(found[0])
            return [] if module is None else self._own(found[1], module)
        while scope is not None:
            if name in scope.parameters or name in scope.given:
                return []
            own = self._own(name, scope)
            if own:
                return own
            scope = scope.outer
        return []

    def _own(self, name: str, scope: Scope) -> list[Function]:
        return [function for function in self.functions[name] if self.scope_of[function] is scope]

    def _imported(self, name: str, scope: Scope | None) -> tuple[str, str] | None:
        while scope is not None:
            if name in scope.imports:
                return scope.imports[name]
            if name in scope.parameters or name in scope.given:
                return None
            scope = scope.outer
        return None

    def _give(self, scope: Scope, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            scope.given[target.id].append(value)
        elif isinstance(target, ast.Tuple | ast.List):
            parts = value.elts if isinstance(value, ast.Tuple | ast.List) else []
            for place, element in enumerate(target.elts):
                self._give(scope, element, parts[place] if len(parts) == len(target.elts) else value)
        elif isinstance(target, ast.Subscript | ast.Starred):
            self._give(scope, target.value, value)

    def _give_each(self, scope: Scope, target: ast.expr, values: ast.expr) -> None:
        """Note what a loop gives its target: the elements of what it runs over."""
        targets = target.elts if isinstance(target, ast.Tuple | ast.List) else []
        called = _called(values) if isinstance(values, ast.Call) else ""
        if isinstance(values, ast.Tuple | ast.List):
            for element in values.elts:
                self._give(scope, target, element)
        elif isinstance(values, ast.Call) and called == "enumerate" and len(targets) == 2:
            self._give(scope, targets[0], ast.Constant(0))
            self._give_each(scope, targets[1], values.args[0])
        elif isinstance(values, ast.Call) and called == "zip" and len(targets) == len(values.args):
            for item, several in zip(targets, values.args, strict=True):
                self._give_each(scope, item, several)
        else:
            for item in targets or [target]:
                self._give(scope, item, values)

    def prove(self) -> list[Place]:
        """Return the parts of statements that are not made of code, after following everything."""
        found = self._judge_all()
        while self.waiting:
            while self.waiting:
                self.judging = self.waiting.pop()
                if not self.refuted[self.judging] and not self._is_good_unknown(self.judging):
                    self.refuted[self.judging] = True
                    self.waiting |= self.users[self.judging]
            self.judging = None
            found = self._judge_all()
        return found

    def _judge_all(self) -> list[Place]:
        return sorted({place for sink in self.sinks for place in self._judge(sink)})

    def _sinks(self) -> list[ast.expr]:
        calls = [call.args[0] for name in SINKS for call in self.calls[name] if call.args and _is_method(call)]
        texts = [
            node
            for node in self.scope_of
            if isinstance(node, ast.JoinedStr)
            and STATEMENT.search("".join(str(v.value) if isinstance(v, ast.Constant) else "x" for v in node.values))
        ]
        return [*calls, *texts]

    def _judge(self, sink: ast.expr) -> list[Place]:
        names = [loop.target, *loop.target.find_all(nodes.Name)]
        parts = {name.name for name in names if isinstance(name, nodes.Name)}
        if isinstance(loop.iter, nodes.Name) and not any(uses[part] for part in parts):
            uses[loop.iter.name] -= 1

    return {name for name in meta.find_undeclared_variables(tree) if uses[name]}


def statements_of_strangers(project: Path, rooms: Sequence[str], without: Sequence[str]) -> list[Place]:
    """Return the places in some rooms where a statement is not made of code; rooms without DuckDB can be left out."""
    files = {
        str(file.relative_to(project)): file.read_text(encoding="utf-8")
        for room in rooms
        for file in sorted((project / room).rglob("*.py"))
        if not any(file.is_relative_to(project / other) for other in without)
    }
    assets = project / "assets"
    templates = {str(file.relative_to(assets)): file.read_text(encoding="utf-8") for file in assets.rglob("*.sql")}
    return Tree(files, templates).prove()
