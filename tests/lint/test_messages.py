"""The troubleshooting page has every message: reasons of refused files and lines, and final errors of commands."""

import ast
import re
from collections.abc import Iterator

from orchestration.settings.home import PROJECT

PAGE = PROJECT / "docs" / "troubleshooting.md"
REASONS = (
    r"SourceError\([^)]*?f?\"([a-z]+_[a-z_]+): ",
    r"ValueProblem\(\s*\"([a-z_]+)\"",
    r"NodeListError\(\s*\"([a-z_]+)\"",
    r"quarantined=\"([a-z_]+)\"",
    r"\"reason\": \"(bad_[a-z_]+)\"",
    r"then '((?:bad|boot|end|field|implausible|missing|nodelist|nonexistent|relative|timestamp)_[a-z_]+)'",
    r"then '((?:truncated|unknown)_[a-z_]+)'",
)
"""The form of a reason in the readers."""
NO_REASONS = {"end_missing", "truncated_value", "truncated_window", "bad_encoding", "unreadable_summary"}
"""Warnings, which stop nothing."""
ENDINGS = {
    "CannotForget", "HostUnreachable", "NoSuchPublication", "NotDelivered", "NothingPublished",
    "PullFailed", "PullRunning", "ReadingError", "RefreshFailed", "RefreshRunning", "RollbackFailed",
    "DbtKilled", "UnreadableSettings",
    "WrongGroup", "WrongKey",
    "WrongQuestion", "WrongSetting",
}  # fmt: skip
"""Errors whose text a command prints before it ends."""


def reasons() -> set[str]:
    """Return the reasons for which readers refuse a file or quarantine a line."""
    files = [file for kind in ("*.py", "*.sql") for file in (PROJECT / "assets" / "sources").rglob(kind)]
    texts = [file.read_text(encoding="utf-8") for file in files]
    return {found for text in texts for pattern in REASONS for found in re.findall(pattern, text)} - NO_REASONS


def endings() -> Iterator[str]:
    """Yield the longest part of each error's text that is no value."""
    files = [*(PROJECT / "orchestration").rglob("*.py"), PROJECT / "assets" / "sources" / "text" / "privacy_key.py"]
    for file in files:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not (isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args):
                continue
            text = node.exc.args[0]
            if ast.unparse(node.exc.func).rpartition(".")[2] in ENDINGS and isinstance(
                text, ast.JoinedStr | ast.Constant
            ):
                yield max(_parts(text), key=len, default="")


def _parts(text: ast.expr) -> list[str]:
    values = text.values if isinstance(text, ast.JoinedStr) else [text]
    constants = [str(value.value) for value in values if isinstance(value, ast.Constant)]
    return [part.strip(" .,:()'") for constant in constants for part in constant.split(";")]


def test_every_message_is_on_the_page() -> None:
    page = " ".join(PAGE.read_text(encoding="utf-8").lower().split())
    found = reasons()
    assert len(found) > 25
    assert sorted(reason for reason in found if f"`{reason}`" not in page) == []
    wanted = {part for part in endings() if len(part) > 8}
    assert len(wanted) > 40
    assert sorted(part for part in wanted if part.lower() not in page) == []
