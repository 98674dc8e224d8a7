"""Every form that is translated has a sample, is recognised whatever its name, and accounts for each of its lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from assets.sources.formats import READERS
from assets.sources.reader import TranslatingReader
from tests.sources.batches import cluster_of
from tests.sources.folders import export, load, make, rows
from tests.sources.fuzzing import FORMS

FILES = {path: path.parent.name for path in sorted(FORMS.glob("*/*"))}


def test_every_translation_has_a_sample() -> None:
    found = {
        (kind, READERS[kind].detect(path.read_text("utf-8"), f"c1/{kind}/x", cluster_of()))
        for path, kind in FILES.items()
    }
    readers = [reader for reader in READERS.values() if isinstance(reader, TranslatingReader)]
    assert found == {(reader.KIND, dialect) for reader in readers for dialect in reader.TRANSLATIONS}
    for reader in readers:
        assert set(reader.TRANSLATIONS) <= set(reader.DIALECTS)


@pytest.fixture(scope="module")
def together(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, object]]:
    files = {f"c1/{kind}/node001/{path.name}": path.read_bytes() for path, kind in FILES.items() if kind != "inventory"}
    con = load(make(tmp_path_factory.mktemp("forms"), {**files, "c1/sacct/a.psv": export([{}])}), readers=READERS)
    return {str(row["path"]): row for row in rows(con, "select * from ops.files")}


@pytest.mark.parametrize(
    "path", [path for path, kind in FILES.items() if kind != "inventory"], ids=lambda path: path.name
)
def test_every_line_of_a_sample_is_accounted_for(path: Path, together: dict[str, dict[str, object]]) -> None:
    file = together[f"c1/{path.parent.name}/node001/{path.name}"]
    assert file["status"] in {"read", "doubtful", "blind"}, file
    assert file["loaded"]
