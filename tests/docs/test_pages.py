"""The pages of docs/: what they link and name is there."""

import re

from orchestration.settings.home import PAGES, PROJECT

LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")
PATH = re.compile(r"`((?:assets|orchestration|dbt_project|tests)/[\w/.-]+)`")


def anchors(file):
    headings = re.findall(r"^#+ (.+)$", file.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_link_leads_to_a_page_and_a_heading():
    files = [PROJECT / "README.md", *PAGES.rglob("*.md")]
    links = [(file, *link) for file in files for link in LINK.findall(file.read_text(encoding="utf-8"))]
    assert len(links) > 100
    wrong = []
    for file, path, anchor in links:
        target = file.parent / path if path else file
        if not target.exists() or (anchor and anchor not in anchors(target)):
            wrong.append(f"{file.relative_to(PROJECT)}: {path}#{anchor}")
    assert wrong == []


def test_every_path_that_a_page_names_is_there():
    texts = {page.name: page.read_text(encoding="utf-8") for page in PAGES.rglob("*.md")}
    paths = {(name, path) for name, text in texts.items() for path in PATH.findall(text)}
    assert len(paths) > 50
    assert sorted((name, path) for name, path in paths if not (PROJECT / path).exists()) == []


def test_every_page_of_decisions_is_in_its_index_and_is_short():
    index = (PAGES / "decisions.md").read_text(encoding="utf-8")
    pages = [*(PAGES / "decisions").glob("*.md")]
    assert set(re.findall(r"\(decisions/(\w+)\.md\)", index)) == {page.stem for page in pages}
    for page in pages:
        for entry in re.split(r"\n(?=\* |\n)", page.read_text(encoding="utf-8")):
            assert not entry.startswith("* ") or entry.count("\n") < 6, f"{page.name}: {entry[:60]}"
