"""Text leaves `orchestration` for a terminal through one module, which shows what a terminal would obey."""

import ast
from pathlib import Path

import pytest

ORCHESTRATION = Path(__file__).resolve().parents[2] / "orchestration"
ONLY = ORCHESTRATION / "terminal.py"
NAMES = {"print", "Console"}
ATTRIBUTES = {("typer", "echo"), ("typer", "secho"), ("click", "echo"), ("rich", "print"), ("json", "dump")}
STREAMS = {"stdout", "stderr", "__stdout__", "__stderr__"}


def prints(tree: ast.AST) -> list[int]:
    """Give the lines that print past `terminal`: calls of `print`, consoles of their own, writes to a stream."""
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called = node.func
        if isinstance(called, ast.Name) and called.id in NAMES:
            found.append(node.lineno)
        elif isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name):
            if (called.value.id, called.attr) in ATTRIBUTES or called.attr == "Console":
                found.append(node.lineno)
        elif isinstance(called, ast.Attribute) and isinstance(called.value, ast.Attribute):
            is_stream = isinstance(called.value.value, ast.Name) and called.value.value.id == "sys"
            if is_stream and called.value.attr in STREAMS and called.attr in ("write", "writelines"):
                found.append(node.lineno)
    return found


@pytest.mark.parametrize(
    "line",
    [
        "print('x')",
        "import sys; sys.stdout.write('x')",
        "import sys; sys.stderr.writelines(['x'])",
        "import typer; typer.echo('x')",
        "Console().print('x')",
        "import rich.console as r; r.Console(stderr=True)",
    ],
)
def test_a_way_past_the_module_is_seen(line):
    assert prints(ast.parse(line)) == [1]


@pytest.mark.parametrize("path", sorted(set(ORCHESTRATION.rglob("*.py")) - {ONLY}), ids=lambda path: path.name)
def test_nothing_is_printed_past_the_module(path):
    assert prints(ast.parse(path.read_text(encoding="utf-8"))) == [], (
        f"{path}: print through orchestration.terminal.output"
    )
