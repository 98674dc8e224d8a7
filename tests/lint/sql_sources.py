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
        parts = (
            [v for v in sink.values if isinstance(v, ast.FormattedValue)] if isinstance(sink, ast.JoinedStr) else [sink]
        )
        bad = [part for part in parts if not self.is_good(part)]
        path = self.scope_of[sink].path
        return [(path, part.lineno, ast.unparse(part).removeprefix("f").strip("'")) for part in bad]

    def is_good(self, node: ast.expr | None) -> bool:  # noqa: C901
        """Tell whether a text is made of code, as far as is known by now."""
        match node:
            case None | ast.Constant() | ast.Compare() | ast.Lambda():
                return not isinstance(node, ast.Lambda) or self.is_good(node.body)
            case ast.JoinedStr():
                return all(self.is_good(value) for value in node.values)
            case ast.FormattedValue(format_spec=ast.JoinedStr() as spec) if _is_never_text(spec):
                return True
            case ast.FormattedValue() | ast.Starred() | ast.Subscript() | ast.NamedExpr():
                return self.is_good(node.value)
            case ast.BinOp():
                return self.is_good(node.left) and self.is_good(node.right)
            case ast.UnaryOp():
                return self.is_good(node.operand)
            case ast.BoolOp():
                return all(self.is_good(value) for value in node.values)
            case ast.IfExp():
                return self.is_good(node.body) and self.is_good(node.orelse)
            case ast.Tuple() | ast.List() | ast.Set():
                return all(self.is_good(element) for element in node.elts)
            case ast.Dict():
                return all(self.is_good(part) for part in [*node.keys, *node.values])
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp():
                return self.is_good(node.elt)
            case ast.DictComp():
                return self.is_good(node.key) and self.is_good(node.value)
            case ast.Name():
                return self._is_good_name(node.id, self.scopes[node])
            case ast.Attribute():
                return self._is_good_attribute(node)
            case ast.Call():
                return self._is_good_call(node)
        return False

    def _is_good_name(self, name: str, scope: Scope | None) -> bool:
        functions = self._named(name, scope)
        if functions:
            return all(self._known(("result", function)) for function in functions)
        imported = self._imported(name, scope)
        if imported is not None:
            if imported[0] in PURE:
                return True
            module = self.modules.get(imported[0])
            return module is not None and self._is_good_name(imported[1], module)
        if imported is None and name in PURE:
            return True
        while scope is not None:
            if name in scope.parameters or name in scope.given:
                fills = self.fills.get((scope.outermost, name))
                if fills and not self._known(("fills", scope.outermost, name)):
                    return False
            if name in scope.parameters:
                is_number = scope.parameters[name] in NUMERIC
                is_passed = is_number or self._known(("parameter", scope, name))
                return is_passed and (name not in scope.given or self._known(("name", scope, name)))
            if name in scope.given:
                return self._known(("name", scope, name))
            scope = scope.outer
        return False

    def _is_good_attribute(self, node: ast.Attribute) -> bool:
        functions = self._resolve(node)
        if isinstance(node.value, ast.Name) and self._imported(node.value.id, self.scopes[node]) is not None:
            module, name = self._imported(node.value.id, self.scopes[node]) or ("", "")
            scope = self.modules.get(f"{module}.{name}" if name else module)
            if scope is not None:
                return self._is_good_name(node.attr, scope)
        if node.attr.lstrip("_").isupper() or self.is_good(node.value):
            return True
        kind = self._class_of_value(node.value)
        owners = [owner for owner, _, _ in self.fields.get(node.attr, []) if kind in {None, owner}]
        if owners:
            return all(self._known(("field", node.attr, owner)) for owner in owners)
        return bool(functions) and all(self._known(("result", function)) for function in functions)

    def _is_good_call(self, node: ast.Call) -> bool:
        name = _called(node)
        if name in QUOTES or name in NUMBERS:
            return True
        if name == "extract_statements":
            return all(self.is_good(argument) for argument in node.args)
        if name == "fill":
            return self._fills_well(node)
        functions = self._resolve(node.func)
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
        are_good = all(self.is_good(argument) for argument in arguments)
        is_text = owner is not None and name in PASSES_ON and self._imported_name(owner) is None
        if functions and not is_text:
            return all(self._known(("result", function)) for function in functions)
        if name in self.classes or (name in PASSES_ON and (owner is None or self._imported_name(owner) is not None)):
            return are_good
        if owner is not None:
            return self.is_good(owner) and are_good
        return self._is_good_name(name, self.scopes[node]) and are_good

    def _fills_well(self, node: ast.Call) -> bool:
        """Tell whether what a template gets is made of code, but for what it quotes itself."""
        match node.args:
            case [ast.Constant(value=str(name))] if name in self.templates:
                taken = taken_as_is(self.templates[name])
                return all(
                    self.is_good(given.value) for given in node.keywords if given.arg is None or given.arg in taken
                )
        return False

    def _imported_name(self, owner: ast.expr) -> tuple[str, str] | None:
        found = self._imported(owner.id, self.scopes[owner]) if isinstance(owner, ast.Name) else None
        return found if found is not None and found[0].partition(".")[0] not in {"assets", "orchestration"} else None

    def _known(self, unknown: Unknown) -> bool:
        if unknown not in self.refuted:
            self.refuted[unknown] = False
            self.waiting.add(unknown)
        if self.judging is not None:
            self.users[unknown].add(self.judging)
        return not self.refuted[unknown]

    def _is_good_unknown(self, unknown: Unknown) -> bool:
        match unknown:
            case ("parameter", Scope() as scope, str(name)):
                return self._is_passed_well(scope, name)
            case ("name", Scope(node=ast.Module()) as scope, str(name)):
                # A module is loaded before there is any data.
                return not any("environ" in ast.unparse(value) for value in scope.given[name])
            case ("fills", Scope() as scope, str(name)):
                return all(self.is_good(value) for value in self.fills[scope, name])
            case ("name", Scope() as scope, str(name)):
                return all(self.is_good(value) for value in scope.given[name])
            case ("field", str(name), str(owner)):
                return all(self._is_field_good(owner, *rest) for kind, *rest in self.fields[name] if kind == owner)
            case ("result", ast.FunctionDef() | ast.AsyncFunctionDef() as function):
                return self._returns_well(function)
        return False

    def _is_field_good(self, owner: str, own: ast.AnnAssign, place: int) -> bool:
        if ast.unparse(own.annotation) in NUMERIC:
            return True
        name = own.target.id  # type: ignore[union-attr]
        values = [_argument(call, name, place) for call in self.calls[owner]]
        return self.is_good(own.value) and all(self.is_good(value) for value in values)

    def _returns_well(self, function: Function) -> bool:
        if ast.unparse(function.returns or ast.Constant("")) in NUMERIC:
            return True
        results = self.results[self.scopes[function]]
        return bool(results) and all(self.is_good(result) for result in results)

    def _is_passed_well(self, scope: Scope, name: str) -> bool:
        if not isinstance(scope.node, ast.FunctionDef | ast.AsyncFunctionDef):
            return False
        arguments = scope.node.args
        if arguments.vararg is not None and arguments.vararg.arg == name:
            places = range(len(arguments.args), 99)
        else:
            order = [
                parameter.arg
                for parameter in [*arguments.posonlyargs, *arguments.args]
                if parameter.arg not in {"self", "cls"}
            ]
            places = range(order.index(name), order.index(name) + 1) if name in order else range(0)
        calls = self.callers[scope.node]
        passed = [_argument(call, name, place) for call in calls for place in places or [None]]
        # The arguments of a function that is handed to another one are judged where that one calls it.
        return bool(calls or scope.node in self.handed_on) and all(self.is_good(value) for value in passed)


def _is_never_text(spec: ast.JoinedStr) -> bool:
    """Tell whether a format, such as `:d` or `:%Y`, refuses a text."""
    try:
        format("text", "".join(str(part.value) for part in spec.values if isinstance(part, ast.Constant)))
    except ValueError:
        return True
    return False


def _called(call: ast.Call) -> str:
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _is_method(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute)


def _argument(call: ast.Call, name: str, place: int | None) -> ast.expr | None:
    """Return what a call passes for a parameter; None where the default stays, which is code."""
    for keyword in call.keywords:
        if keyword.arg == name or keyword.arg is None:
            return keyword.value
    starred = next((argument for argument in call.args if isinstance(argument, ast.Starred)), None)
    if starred is not None:
        return starred
    return call.args[place] if place is not None and place < len(call.args) else None


def taken_as_is(template: str) -> set[str]:
    """Return the values that a template puts into its statement without quotes, or does anything else with.

    A list counts as quoted where a loop goes over it and quotes every part that it uses. What is only asked whether it
    is there gets no further.
    """
    environment = Environment(autoescape=True)
    environment.filters |= dict.fromkeys(QUOTES, str)
    tree = environment.parse(template)
    filters = [found for found in tree.find_all(nodes.Filter) if found.name in QUOTES]
    tests = [found.test for found in tree.find_all((nodes.If, nodes.CondExpr, nodes.For)) if found.test is not None]
    asked = {id(found) for found in tests} | {id(name) for found in tests for name in found.find_all(nodes.Name)}
    quoted = asked | {id(name) for found in filters for name in found.find_all(nodes.Name)}
    used = [name for name in tree.find_all(nodes.Name) if name.ctx == "load" and id(name) not in quoted]
    uses = Counter(name.name for name in used)
    for loop in tree.find_all(nodes.For):
        targets = [loop.target, *loop.target.find_all(nodes.Name)]
        parts = {name.name for name in targets if isinstance(name, nodes.Name)}
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
