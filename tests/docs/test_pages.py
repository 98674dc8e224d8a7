"""The pages of docs/ name only existing files, and indexes and units are complete."""

import importlib
import re

from orchestration.settings.home import PAGES, PROJECT
from tests.docs.writers.written import BUILT

PATH = re.compile(r"`((?:assets|orchestration|dbt_project|tests)/[\w/.-]+)`")


def test_every_path_that_a_page_names_is_there():
    pages = [*(page for page in PAGES.rglob("*.md") if page.name not in BUILT), PROJECT / "CONTRIBUTING.md"]
    texts = {page.name: page.read_text("utf-8") for page in pages} | {name: page() for name, page in BUILT.items()}
    paths = {(name, path) for name, text in texts.items() for path in PATH.findall(text)}
    assert len(paths) > 50
    assert sorted((name, path) for name, path in paths if not (PROJECT / path).exists()) == []


def test_every_page_of_decisions_is_in_its_index_and_is_short():
    index, pages = PAGES / "decisions.md", [*(PAGES / "decisions").glob("*.md")]
    linked = re.findall(r"\(decisions/(\w+)\.md\)", index.read_text(encoding="utf-8"))
    assert set(linked) == {page.stem for page in pages}
    for page in (index, *pages):
        for entry in re.split(r"\n(?=\* |\n)", page.read_text(encoding="utf-8")):
            assert not entry.startswith("* ") or entry.count("\n") < 6, f"{page.name}: {entry[:60]}"


def test_every_unit_is_listed_and_every_listed_one_is_used():
    (listed,) = re.findall(r"The units are: (.+?)\.\n", (PAGES / "style.md").read_text(encoding="utf-8"), re.DOTALL)
    assert {*re.findall(r"`([^`]+)`", listed)} == units_of_models() | units_of_estimates()


def units_of_models() -> set[str]:
    texts = [
        path.read_text() for kind in ("yml", "md") for path in (PROJECT / "dbt_project" / "models").rglob(f"*.{kind}")
    ]
    return {unit for text in texts for unit in re.findall(r'Unit: ([^."]+)', " ".join(text.split()))}


def units_of_estimates() -> set[str]:
    modules = [path.stem for path in (PROJECT / "assets" / "estimates").glob("est_*.py")]
    tables = [importlib.import_module(f"assets.estimates.{name}").TABLE for name in modules]
    return {column.unit for table in tables for column in table.columns if column.unit}
