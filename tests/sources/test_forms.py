"""Every translated form is listed, recognised by its content, and read, and each of its lines is accounted for."""

from __future__ import annotations

import re

import pytest

from assets.sources.formats import READERS
from assets.sources.other_forms import Translation, translations_of
from tests.logs import export
from tests.sources.batches import cluster_of
from tests.sources.folders import PROJECT, load, make, rows
from tests.sources.fuzzing import FORMS

DECLARED = [form for kind in READERS for form in translations_of(kind).values()]
FILES = {path: path.parent.name for path in sorted(FORMS.glob("*/*"))}


@pytest.mark.parametrize("form", DECLARED, ids=lambda form: form.name)
def test_an_example_is_recognised_by_its_form_alone(form: Translation) -> None:
    cluster = cluster_of()
    assert READERS[form.kind].detect(form.example, f"c1/{form.kind}/x", cluster) == form.name
    others = [other for other in DECLARED if other.kind == form.kind and other is not form]
    assert not [other.name for other in others if other.recognises(form.example, cluster)]


def test_every_form_is_listed_on_its_page() -> None:
    listed = {
        (section.partition("/")[0], name)
        for section in (PROJECT / "docs" / "logs.md").read_text("utf-8").split("\n## ")[1:]
        for name in re.findall(r"^\| `(\w+)` \|", section, re.M)
    }
    assert listed == {(form.kind, form.name) for form in DECLARED}


@pytest.fixture(scope="module")
def together(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, object]]:
    files = {f"c1/{kind}/node001/{path.name}": path.read_bytes() for path, kind in FILES.items() if kind != "inventory"}
    files |= {f"c2/{form.kind}/node001/{form.name}": form.example.encode() for form in DECLARED}
    accounting = {f"{cluster}/sacct/a.psv": export([{}]) for cluster in ("c1", "c2")}
    con = load(make(tmp_path_factory.mktemp("forms"), {**files, **accounting}), readers=READERS)
    return {str(row["path"]): row for row in rows(con, "select * from ops.files")}


@pytest.mark.parametrize(
    "path",
    [
        *(f"c1/{kind}/node001/{path.name}" for path, kind in FILES.items() if kind != "inventory"),
        *(f"c2/{form.kind}/node001/{form.name}" for form in DECLARED if form.name != "other_conf"),
    ],
)
def test_every_line_of_a_sample_is_accounted_for(path: str, together: dict[str, dict[str, object]]) -> None:
    file = together[path]
    assert file["status"] in {"read", "doubtful", "blind"}, file
    assert file["loaded"]
