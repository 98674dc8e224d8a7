"""All terminal output of `orchestration` goes through one room, which makes control characters visible."""

import ast
from pathlib import Path

ORCHESTRATION = Path(__file__).resolve().parents[2] / "orchestration"
PRINTS = {
    "print", "Console", "typer.echo", "typer.secho", "click.echo", "rich.print", "json.dump",
    *(f"sys.{stream}.{method}" for stream in ("stdout", "stderr", "__stdout__", "__stderr__")
      for method in ("write", "writelines")),
}  # fmt: skip


def prints(tree: ast.AST) -> list[int]:
    """Return the lines that print without the room: calls of `print`, other consoles, writes to a stream."""
    calls = [(ast.unparse(node.func), node.lineno) for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [line for called, line in calls if called in PRINTS or called.endswith(".Console")]


def test_nothing_is_printed_past_the_room():
    files = [path for path in ORCHESTRATION.rglob("*.py") if path.parent != ORCHESTRATION / "terminal"]
    found = {str(path): prints(ast.parse(path.read_text(encoding="utf-8"))) for path in files}
    assert {path: lines for path, lines in found.items() if lines} == {}
