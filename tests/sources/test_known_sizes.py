"""Something new is mostly told by the sizes of files, before any of them is read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from assets.sources.formats import READERS
from assets.sources.intake.find import folder as folder_module
from assets.sources.intake.find.folder import are_of_known_sizes
from assets.sources.intake.find.known_files import known_files
from tests.logs import export
from tests.sources.folders import load, make

READ, REFUSED, NEW = "c1/sacct/a.psv", "c1/events/events.psv", "c1/sacct/c.psv"


def _append(folder: Path, name: str) -> None:
    with (folder / name).open("a") as file:
        file.write("more\n")


@pytest.mark.parametrize(
    ("change", "is_known"),
    [
        pytest.param(lambda folder: None, True, id="nothing"),
        # The bytes may be the same: these files have to be read to find out.
        pytest.param(lambda folder: (folder / READ).touch(), True, id="touched"),
        # What was refused may be refused again for the same reason.
        pytest.param(lambda folder: _append(folder, REFUSED), True, id="refused-and-longer"),
        pytest.param(lambda folder: _append(folder, READ), False, id="longer"),
        pytest.param(lambda folder: (folder / READ).write_text("JobID|"), False, id="shorter"),
        pytest.param(lambda folder: make(folder, {NEW: export([{}])}), False, id="new"),
        pytest.param(lambda folder: make(folder, {"c2/sacct/a.psv": export([{}])}), False, id="new-cluster"),
    ],
)
def test_sizes_tell_what_is_new_without_opening_a_file(
    change: Callable[[Path], object], is_known: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path, {READ: export([{}]), REFUSED: "no table of events\n"})
    known = known_files(load(tmp_path, readers=READERS))
    change(tmp_path)
    monkeypatch.setattr(folder_module, "inspect", lambda *_: pytest.fail("a file was opened"))
    assert are_of_known_sizes(tmp_path, READERS, known) is is_known
