"""Runs of `dcgmi diag -j` in every layout of DCGM 2 to 4: one result per run, with the names of failed tests.

A run states neither its host nor its time: the host comes from the file's name or folder, the time from its name or
modification.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from assets.sources.intake.read.json_records import Record
from assets.sources.other_forms import SetAside, Translation, holds
from assets.sources.reader import SourceFile
from assets.sources.settings import ClusterSettings
from assets.sources.translations.json_documents import each_record, unsupported
from assets.sources.translations.result_lines import (
    CRITICAL,
    OK,
    UNKNOWN,
    WARN,
    Result,
    host_of,
    result_line,
    time_of,
    xids_in,
)

CHECK = "check dcgmi diag"
"""GCM's name for the same run."""
_TITLES = ("DCGM GPU Diagnostic", "DCGM Diagnostic")
_IS_DIAGNOSTIC = re.compile(rf'"(?:{"|".join(_TITLES)})"\s*:')
_VERDICTS = {"fail": "failed", "failed": "failed", "warn": "warning", "warning": "warning"}
_ORDER = (OK, UNKNOWN, WARN, CRITICAL)


def _lines(record: Record, file: SourceFile, cluster: ClusterSettings) -> Iterator[str | SetAside]:
    value = record.value
    runs = [value[title] for title in _TITLES if isinstance(value, dict) and isinstance(value.get(title), dict)]
    if runs:
        verdict, message = _verdict(runs[0])
        at = time_of(file, cluster.settings.timezone)
        yield result_line(Result(host_of(file.path), CHECK, verdict, at, message, xids_in(message)))
    else:
        yield unsupported(value, "no diagnostic run")


def _verdict(run: dict[str, Any]) -> tuple[str, str]:
    """Return the worst verdict of a run, UNKNOWN if every test was skipped, and the failures."""
    verdicts, messages = [], []
    for category in _dicts(run.get("test_categories")):
        for test in _dicts(category.get("tests")):
            name = str(test.get("name") or "test").replace("_", " ")
            for result in _dicts(test.get("results")):
                status = str(result.get("status") or "").lower()
                word = _VERDICTS.get(status)
                verdicts.append(
                    {"failed": CRITICAL, "warning": WARN}.get(word or "", OK if status == "pass" else UNKNOWN)
                )
                if word:
                    messages.append(f"{name} {word}{_place(result)}{_reasons(result)}")
    error = run.get("runtime_error") or run.get("error")
    if error:
        verdicts.append(UNKNOWN)
        messages.append(f"dcgmi diag FAILED to execute: {error}")
    ran = [verdict for verdict in verdicts if verdict != UNKNOWN]
    worst = max(ran, key=_ORDER.index) if ran else UNKNOWN
    return worst, ". ".join(dict.fromkeys(messages)) or ("All tests passed." if ran else "No test ran.")


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _place(result: dict[str, Any]) -> str:
    place = result.get("entity_id", result.get("gpu_ids", result.get("gpu_id")))
    group = result.get("entity_group") or "GPU"
    return "" if not isinstance(place, str | int) or place == "" else f" on {group} {place}"


def _reasons(result: dict[str, Any]) -> str:
    """Return the texts of a result, which may be a text, a list of texts, or objects with a warning and its number."""
    messages = result.get("warnings") or result.get("warning") or result.get("info") or ""
    parts = [
        str(part.get("warning") or part.get("message") or part) if isinstance(part, dict) else str(part)
        for part in (messages if isinstance(messages, list) else [messages])
        if part
    ]
    return f": {'; '.join(parts)}" if parts else ""


_EXAMPLE = (
    '{"DCGM Diagnostic": {"test_categories": [{"category": "Hardware", "tests": [{"name": "memory", "results": '
    '[{"entity_group": "GPU", "entity_id": 3, "status": "Fail", "warnings": "A DBE occurred"}]}]}]}}\n'
)
_RECOGNISES, _TRANSLATE = holds(_IS_DIAGNOSTIC, in_json=True), each_record(_lines, skip_text=True)
FORMS = (Translation("dcgm_diag", "health", _RECOGNISES, _TRANSLATE, _EXAMPLE, has_times=False),)
