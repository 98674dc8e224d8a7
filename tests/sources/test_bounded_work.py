"""Four times as much of the worst text for a translation costs about four times the work, not sixteen times."""

import time
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import pytest

from assets.sources.errors import SourceError
from assets.sources.formats import READERS
from assets.sources.other_forms import translations_of
from assets.sources.reader import SAMPLE_CHARACTERS, SourceFile
from tests.sources.batches import cluster_of

UNITS = 4_000
MAX_RATIO = 8
"""Linear work gives 4, quadratic work 16."""
MIN_SECONDS = 0.005
"""The clock cannot measure less than this."""
PIECE = 1 << 16

BRACES, QUOTES = "{\n", 'a""","\n'
WORST = {
    **{
        name: ("", BRACES, "\n")
        for name in (
            "dcgm_diag", "nvsentinel", "slurm_json", "gcm_sacct", "jobcomp_json", "node_json", "shipper_json",
            "journal_json",
        )
    },
    "azure_nhc": ("", QUOTES, ""),
    "ipmi_sel": ("   1 | 05/01/2024 | 10:00:00 | ", '"| ', "\n"),
    "jobcomp_text": ("JobId=1 UserId=a(1) GroupId=b(1) Name=", "x\n", ""),
    "journal_export": ("MESSAGE\n", f"{'x' * 60}\n", ""),
    "labelled": ("2026-03-02T10:00:00Z {", "x", "} kernel: x\n"),
    "node_table": ("", '"x\n', ""),
    "other_conf": ("", "x", "\n"),
    "slurm_conf": ("", "x", "\n"),
    "slurm_topology": ("", "x", "\n"),
}  # fmt: skip
"""The text after the example of each form: a beginning, a part to repeat, and an end."""
FORMS = [form for kind in READERS for form in translations_of(kind).values()]


def seconds_of(work):
    """Return the CPU seconds of the fastest of three runs."""
    found = []
    for _ in range(3):
        started = time.process_time()
        work()
        found.append(time.process_time() - started)
    return min(found)


def ratio_of(work, units=UNITS):
    """Return how much longer four times as many units take. `work` takes the number of units."""
    return seconds_of(lambda: work(4 * units)) / max(seconds_of(lambda: work(units)), MIN_SECONDS)


def translate(form, text):
    """Recognise a text and translate as much of it as possible."""
    cluster, path = cluster_of(), f"c1/{form.kind}/node001/x"
    with suppress(SourceError):
        READERS[form.kind].detect(text[:SAMPLE_CHARACTERS], path, cluster)
    file = SourceFile("c1", form.kind, path, Path("x"), len(text), datetime(2026, 1, 1))
    with suppress(SourceError):
        for _ in form.translate((text[at : at + PIECE] for at in range(0, len(text), PIECE)), file, cluster):
            pass


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
@pytest.mark.parametrize("unit", ["its own", "\n"])
def test_the_work_of_a_translation_grows_with_its_text(form, unit):
    begin, own, end = WORST[form.name]
    again = own if unit == "its own" else unit
    assert ratio_of(lambda count: translate(form, f"{form.example}{begin}{again * count}{end}")) < MAX_RATIO
