"""The shapes of accounting that are translated: how each is recognised, and by which module it is written anew."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from assets.log_kinds import export_again
from assets.sources.errors import SourceError
from assets.sources.reader import SAMPLE_CHARACTERS, Translation
from assets.sources.sacct.layout import Layout
from assets.sources.sacct.record_lines import TRANSLATED, WITHOUT_NODES
from assets.sources.settings import ClusterSettings
from assets.sources.translations import gcm_publications, job_completions, job_documents, job_traces

TRANSLATIONS: Mapping[str, Translation] = {
    "slurm_json": job_documents.translate,
    "gcm_sacct": gcm_publications.translate,
    "jobcomp_text": job_completions.translate_lines,
    "jobcomp_json": job_completions.translate_documents,
    "trace": job_traces.translate,
    "philly": job_traces.translate_philly,
}
LAYOUTS: Mapping[str, Layout] = {
    **dict.fromkeys(TRANSLATIONS, TRANSLATED),
    "trace": WITHOUT_NODES,
}
"""Layout of the lines that each translation writes."""

_GCM = re.compile(r'"sacct(?:\.\w+)?"\s*:')
_CONTROLLER_JOB = re.compile(r'"job_state"\s*:')
_JOB = re.compile(r'"job_id"\s*:')
_ERROR = re.compile(r'"errors"\s*:\s*\[\s*\{')


def recognise(sample: str, path: str, cluster: ClusterSettings) -> str | None:
    """Name the shape of a sample; None if it is none of these.

    Raises
    ------
    SourceError
        It is JSON of something else, or of a command that failed.
    """
    if job_completions.FIRST_LINE.search(sample):
        return "jobcomp_text"
    if sample.lstrip()[:1] in {"{", "["} or _GCM.search(sample):
        return _recognise_json(sample, path)
    return "trace" if job_traces.is_trace(sample, cluster) else None


def _recognise_json(sample: str, path: str) -> str:
    if _GCM.search(sample):
        return "gcm_sacct"
    if job_completions.FIRST_DOCUMENT.search(sample):
        return "jobcomp_json"
    if job_traces.is_philly(sample):
        return "philly"
    if _CONTROLLER_JOB.search(sample):
        raise SourceError(
            path,
            "unsupported_schema: jobs as the controller has them, which forgets a job minutes after its end",
            "Export the accounting: sacct --json, slurmrestd's /slurmdb/.../jobs, or "
            f"{export_again('sacct').removeprefix('Export again: ')}",
        )
    if _JOB.search(sample):
        return "slurm_json"
    if _ERROR.search(sample):
        raise SourceError(path, f"command_error_output: {_error_in(sample)}", export_again("sacct"))
    if re.search(r'"jobs"\s*:\s*\[', sample):
        return "slurm_json"
    raise SourceError(
        path,
        "unsupported_schema: JSON in which no job of accounting begins",
        f"{export_again('sacct')}; sacct --json, slurmrestd's /slurmdb/.../jobs and GCM's sacct_publish are read too.",
    )


def _error_in(sample: str) -> str:
    """Return what a document of errors says, or its beginning."""
    try:
        errors = json.loads(sample)["errors"] if len(sample) < SAMPLE_CHARACTERS else []
        messages = [str(error.get("description") or error.get("error") or error) for error in errors]
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
        messages = []
    return "; ".join(messages)[:200] or "an answer of errors without jobs"
