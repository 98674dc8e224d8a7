"""Proves over the whole tree that the text of SQL statements comes from the code alone.

A text is *made of code* if it is a literal, a constant of a module, a number, the result of `identifier` or `literal`
(assets/sql.py), a template filled with such texts, or a combination of them. The proof follows names, parameters,
fields and results to every place where they get a value. A method stands for all methods of its name, and a function
and its nested functions have one set of names. A text that cannot be followed is not made of code. All unknowns are
assumed good and refuted until nothing changes (the greatest fixed point), to prove functions that call each other.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections import Counter, defaultdict
from collections.abc import Iterable

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
NUMBERS = {"int", "float", "len", "round", "abs", "sum", "bool", "ord", "int | None", "float | None"}
"""Functions and annotations of numbers."""
KEEPS = set(dir(builtins)) - {"input", "open", "getattr", "eval", "vars", "globals", "locals"}
KEEPS |= {"chain", "combinations", "cast", "dedent", "extract_statements"}
KEEPS |= {name for kind in (str, list, dict, set) for name in dir(kind)}
"""Functions and methods whose result is made of their arguments and of the object they belong to."""
PURE = {"re", "itertools", "textwrap", "math", "dataclasses", "operator"}
"""Modules with functions that depend on their arguments only."""
FILLS = {"append", "extend", "add", "update", "insert", "setdefault"}
ELSEWHERE = ast.Await(ast.Constant(0))
"""A value that cannot be followed."""
Function = ast.FunctionDef | ast.AsyncFunctionDef
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)
Scope = tuple[str | int, ...]
"""File, line of an outermost function or method (0 for the module), and numbers of the comprehensions around."""
Unknown = tuple[object, ...]
"""An assumption: a name of a scope, the result of a function, or a field of a class."""


class Tree:
    """All modules, with an index of everything with a name."""

    def __init__(self, files: dict[str, str], templates: dict[str, str] | None = None) -> None:
        self.templates = templates or {}
        self.scopes: dict[ast.AST, Scope] = {}
        self.functions: dict[str, list[Function]] = defaultdict(list)
        self.methods: dict[ast.AST, str] = {}
        self.imports: dict[tuple[str, str], tuple[str, str]] = {}
        self.fields: dict[str, dict[str, tuple[ast.AnnAssign, int]]] = defaultdict(dict)
        self.calls: dict[str, list[ast.Call]] = defaultdict(list)
        self.values: dict[tuple[Scope, str], list[ast.expr]] = defaultdict(list)
        self.constants: dict[str, list[ast.expr]] = defaultdict(list)
        self.kinds: dict[tuple[Scope, str], str] = {}
        self.handed_on: set[Function] = set()
        self.users: dict[Unknown, set[Unknown]] = {}
        self.waiting: set[Unknown] = set()
        self.refuted: set[Unknown] = set()
        self.judging: Unknown = ()
        for path, text in files.items():
            self._index(ast.parse(text), (path, 0))
        callers: dict[Function, list[ast.Call]] = defaultdict(list)
        for call in [call for calls in self.calls.values() for call in calls]:
            for function in self._meant(call.func):
                callers[function].append(call)
            for argument in call.args:
                self.handed_on |= {*self._meant(argument)} if isinstance(argument, ast.Name) else set()
        for function in [function for functions in self.functions.values() for function in functions]:
            self._give_parameters(function, callers[function])

    def _index(self, node: ast.AST, scope: Scope) -> None:  # noqa: C901
        path = str(scope[0])
        self.scopes[node] = scope
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self.functions[node.name].append(node)
                scope = (path, scope[1] or node.lineno)
            case _ if isinstance(node, COMPREHENSIONS):
                scope = (*scope, len(self.scopes))
            case ast.Lambda():
                self._give(scope, [ast.Name(each.arg) for each in node.args.args], ELSEWHERE)
            case ast.ClassDef():
                own = [one for one in node.body if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)]
                self.methods |= dict.fromkeys(node.body, node.name)
                self.fields[node.name] = {ast.unparse(one.target): (one, place) for place, one in enumerate(own)}
            case ast.Assign():
                self._give(scope, node.targets, node.value)
            case ast.AnnAssign(value=ast.expr() as value) | ast.AugAssign(value=value) | ast.NamedExpr(value=value):
                self._give(scope, [node.target], value)
            case ast.For() | ast.AsyncFor() | ast.comprehension():
                self._give_each(scope, node.target, node.iter)
            case ast.withitem(optional_vars=ast.expr() as target):
                self._give(scope, [target], node.context_expr)
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                self._give(scope, [ast.Name(name)], ELSEWHERE)
            case ast.ImportFrom(module=str(module)):
                for name in node.names:
                    self.imports[path, name.asname or name.name] = (module.replace(".", "/"), name.name)
            case ast.Call():
                self.calls[_called(node)].append(node)
                if _called(node) in FILLS and isinstance(node.func, ast.Attribute) and scope[1]:
                    for value in [*node.args, *(keyword.value for keyword in node.keywords)]:
                        self._give(scope[:2], [node.func.value], value)
        for child in ast.iter_child_nodes(node):
            self._index(child, scope)

    def _meant(self, called: ast.expr) -> list[Function]:
        """Return the functions that a name or an attribute may stand for."""
        path = self.scopes[called][0]
        match called:
            case ast.Name(id=name):
                place, name = self.imports.get((path, name), (path.removesuffix(".py"), name))
                return [one for one in self.functions[name] if one not in self.methods and self._is_in(one, place)]
            case ast.Attribute(value=ast.Name(id=owner), attr=name) if (path, owner) in self.imports:
                place = "/".join(self.imports[path, owner])
                return [one for one in self.functions[name] if one in self.methods or self._is_in(one, place)]
            case ast.Attribute(attr=name):
                return [one for one in self.functions[name] if one in self.methods]
        return []

    def _is_in(self, function: Function, place: str) -> bool:
        return self.scopes[function][0] in {f"{place}.py", f"{place}/__init__.py"}

    def _give(self, scope: Scope, targets: Iterable[ast.expr], value: ast.expr) -> None:
        for target in targets:
            match target:
                case ast.Name(id=name) if scope[1:] != (0,):
                    self.values[scope, name].append(value)
                case ast.Name(id=name):
                    self.constants[name].append(value)
                case ast.Tuple(elts=parts) | ast.List(elts=parts):
                    given = value.elts if isinstance(value, ast.Tuple | ast.List) else []
                    for part, own in zip(
                        parts, given if len(given) == len(parts) else [value] * len(parts), strict=True
                    ):
                        self._give(scope, [part], own)
                case ast.Subscript(value=inner) | ast.Starred(value=inner):
                    self._give(scope, [inner], value)

    def _give_each(self, scope: Scope, target: ast.expr, values: ast.expr) -> None:
        """Record the values that a loop assigns to its target: the elements of its iterable."""
        match target, values:
            case _, ast.Tuple(elts=parts) | ast.List(elts=parts):
                for part in parts:
                    self._give(scope, [target], part)
            case ast.Tuple(elts=[number, rest]), ast.Call(func=ast.Name(id="enumerate"), args=[several, *_]):
                self._give(scope, [number], ast.Constant(0))
                self._give_each(scope, rest, several)
            case ast.Tuple(elts=parts), ast.Call(func=ast.Name(id="zip"), args=lists) if len(parts) == len(lists):
                for part, several in zip(parts, lists, strict=True):
                    self._give_each(scope, part, several)
            case _:
                self._give(scope, [target], values)

    def _give_parameters(self, function: Function, calls: list[ast.Call]) -> None:
        """Assign to each parameter the arguments of the calls, or an unknown value if there is no visible call."""
        scope = (self.scopes[function][0], self.scopes[function][1] or function.lineno)
        self.kinds[scope, "self"] = self.methods.get(function, "")
        positional = [
            one for one in [*function.args.posonlyargs, *function.args.args] if one.arg not in {"self", "cls"}
        ]
        places = {one.arg: [place] for place, one in enumerate(positional)}
        for rest in filter(None, [function.args.vararg, function.args.kwarg]):
            places[rest.arg] = list(range(len(positional), 99))
        every = [*positional, *function.args.kwonlyargs, *filter(None, [function.args.vararg, function.args.kwarg])]
        for one in every:
            self.kinds[scope, one.arg] = kind = ast.unparse(one.annotation) if one.annotation else ""
            passed = [_argument(call, one.arg, place) for call in calls for place in places.get(one.arg, [None])]
            if kind in NUMBERS or function in self.handed_on:
                passed.append(ast.Constant(0))
            elif not calls:
                passed = [ELSEWHERE]
            self.values[scope, one.arg] += [] if kind in NUMBERS else [value for value in passed if value is not None]

    def prove(self) -> list[tuple[str, int, str]]:
        """Return file, line and text of the parts of statements that are not made of code."""
        sinks = [call.args[0] for name in SINKS for call in self.calls[name] if call.args and _owner(call) is not None]
        texts = [node for node in self.scopes if isinstance(node, ast.JoinedStr) and STATEMENT.search(_constant(node))]
        parts = [part for sink in [*sinks, *texts] for part in _parts(sink)]
        bad = [part for part in parts if not self.is_good(part)]
        while self.waiting:
            while self.waiting:
                self.judging = self.waiting.pop()
                if self.judging not in self.refuted and not all(map(self.is_good, self._values_of(self.judging))):
                    self.refuted.add(self.judging)
                    self.waiting |= self.users[self.judging] - {()}
            self.judging = ()
            bad = [part for part in parts if not self.is_good(part)]
        return sorted({(self.scopes[part][0], part.lineno, ast.unparse(part)) for part in bad})

    def is_good(self, node: ast.AST | None) -> bool:  # noqa: C901
        """Return whether a text is made of code, as far as known."""
        match node:
            case None | ast.Constant() | ast.Compare():
                return True
            case ast.FormattedValue(format_spec=ast.JoinedStr() as spec) if _is_never_text(spec):
                return True
            case ast.Await():
                return False
            case ast.Name():
                return self._is_good_name(node)
            case ast.Attribute():
                return self._is_good_attribute(node)
            case ast.Call():
                return self._is_good_call(node)
            case ast.Subscript(value=value) | ast.FormattedValue(value=value) | ast.Lambda(body=value):
                return self.is_good(value)
            case ast.ListComp(elt=value) | ast.SetComp(elt=value) | ast.GeneratorExp(elt=value):
                return self.is_good(value)
            case ast.DictComp(key=key, value=value):
                return self.is_good(key) and self.is_good(value)
            case ast.IfExp(body=body, orelse=other):
                return self.is_good(body) and self.is_good(other)
            case ast.JoinedStr() | ast.BinOp() | ast.UnaryOp() | ast.BoolOp() | ast.Starred() | ast.NamedExpr():
                return all(self.is_good(child) for child in ast.iter_child_nodes(node))
            case ast.Tuple() | ast.List() | ast.Set() | ast.Dict() | ast.operator() | ast.expr_context() | ast.boolop():
                return all(self.is_good(child) for child in ast.iter_child_nodes(node))
        return isinstance(node, ast.unaryop)

    def _is_good_name(self, node: ast.Name) -> bool:
        if scope := self._owner_of(node):
            return self._known("name", scope, node.id)
        if functions := self._meant(node):
            return all(self._known("result", function) for function in functions)
        # A module is loaded before any data exists.
        _, name = self.imports.get((self.scopes[node][0], node.id), ("", node.id))
        is_constant = name in self.constants or name.isupper()
        return is_constant and not any("environ" in ast.unparse(value) for value in self.constants[name])

    def _owner_of(self, node: ast.Name) -> Scope | None:
        """Return the scope that gives a name its values; None for a name of a module."""
        scope = self.scopes.get(node, ())
        return next((scope[:end] for end in range(len(scope), 1, -1) if (scope[:end], node.id) in self.values), None)

    def _is_good_attribute(self, node: ast.Attribute) -> bool:
        if node.attr.lstrip("_").isupper() or self.is_good(node.value):
            return True
        kind = self.kinds.get((self.scopes[node][:2], node.value.id)) if isinstance(node.value, ast.Name) else None
        owners = [
            name for name, own in self.fields.items() if node.attr in own and (kind not in self.fields or name == kind)
        ]
        if owners:
            return all(self._known("field", owner, node.attr) for owner in owners)
        functions = self._meant(node)
        return bool(functions) and all(self._known("result", function) for function in functions)

    def _is_good_call(self, node: ast.Call) -> bool:
        name, owner = _called(node), _owner(node)
        if name in QUOTES | NUMBERS:
            return True
        if name == "fill":
            return self._fills_well(node)
        is_value = isinstance(node.func, ast.Name) and self._owner_of(node.func) is not None
        functions = [] if is_value or (owner and name in KEEPS) else self._meant(node.func)
        if functions:
            return all(self._known("result", function) for function in functions)
        given = node.args[1:] if name in {"get", "pop"} else node.args  # A key is no part of the result.
        if not all(self.is_good(value) for value in [*given, *(keyword.value for keyword in node.keywords)]):
            return False
        if owner is not None:
            return (isinstance(owner, ast.Name) and owner.id in PURE) or self.is_good(owner)
        return name in KEEPS or name in self.fields or self.is_good(node.func)

    def _fills_well(self, node: ast.Call) -> bool:
        match node.args:
            case [ast.Constant(value=str(name))] if name in self.templates:
                taken = taken_as_is(self.templates[name])
                return all(self.is_good(one.value) for one in node.keywords if one.arg is None or one.arg in taken)
        return False

    def _known(self, *unknown: object) -> bool:
        if unknown not in self.users:
            self.users[unknown] = set()
            self.waiting.add(unknown)
        self.users[unknown].add(self.judging)
        return unknown not in self.refuted

    def _values_of(self, unknown: Unknown) -> list[ast.expr | None]:
        match unknown:
            case ("name", scope, str(name)):
                return [*self.values[scope, name]]
            case ("result", ast.FunctionDef() | ast.AsyncFunctionDef() as function):
                return _results(function)
            case ("field", str(owner), str(name)):
                own, place = self.fields[owner][name]
                if ast.unparse(own.annotation) in NUMBERS:
                    return []
                return [own.value, *(_argument(call, name, place) for call in self.calls[owner])]
        return [ELSEWHERE]


def _results(function: Function) -> list[ast.expr | None]:
    if function.returns is not None and ast.unparse(function.returns) in NUMBERS:
        return []
    kinds = (ast.Return, ast.Yield, ast.YieldFrom)
    return [node.value for node in ast.walk(function) if isinstance(node, kinds)] or [ELSEWHERE]


def _parts(sink: ast.expr) -> list[ast.expr]:
    if isinstance(sink, ast.JoinedStr):
        return [part for part in sink.values if isinstance(part, ast.FormattedValue)]
    return [sink]


def _constant(node: ast.JoinedStr) -> str:
    return "".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in node.values)


def _is_never_text(spec: ast.JoinedStr) -> bool:
    """Return whether a format, such as `:d` or `:%Y`, refuses a text."""
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


def _owner(call: ast.Call) -> ast.expr | None:
    return call.func.value if isinstance(call.func, ast.Attribute) else None


def _argument(call: ast.Call, name: str, place: int | None) -> ast.expr | None:
    """Return the argument of a call for a parameter; None for the default, which is code."""
    for keyword in call.keywords:
        if keyword.arg in {name, None}:
            return keyword.value
    starred = next((argument for argument in call.args if isinstance(argument, ast.Starred)), None)
    return starred or (call.args[place] if place is not None and place < len(call.args) else None)


def taken_as_is(template: str) -> set[str]:
    """Return the values that a template puts into its statement without quotes, or uses in another way.

    A list counts as quoted if a loop over it quotes every part that it uses. A value in a test of presence does not
    reach the statement.
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
