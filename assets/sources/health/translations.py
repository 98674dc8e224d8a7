"""Health results of other programs than GCM and NHC: how each is recognised, and by which module it is translated."""

from __future__ import annotations

from collections.abc import Mapping

from assets.sources.reader import Translation
from assets.sources.translations import agents, azure_nhc, dcgm_diagnostics, event_logs

TRANSLATIONS: Mapping[str, Translation] = {
    "azure_nhc": azure_nhc.translate,
    "dcgm_diag": dcgm_diagnostics.translate,
    "gpud": agents.translate_gpud,
    "ipmi_sel": event_logs.translate,
    "nvsentinel": agents.translate_nvsentinel,
}
TIMED_BY_FILE = frozenset({"dcgm_diag"})
"""Those of them whose records state no time."""


def recognise(sample: str) -> str | None:
    """Name the program that wrote a sample; None if it is none of these."""
    if azure_nhc.is_table(sample):
        return "azure_nhc"
    if sample.lstrip()[:1] in {"{", "["}:
        if dcgm_diagnostics.is_diagnostic(sample):
            return "dcgm_diag"
        if agents.is_nvsentinel(sample):
            return "nvsentinel"
        return "gpud" if agents.is_gpud(sample) else None
    return "ipmi_sel" if event_logs.is_event_log(sample) else None
