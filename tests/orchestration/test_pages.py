"""The pages of docs/: each is printed by its name, and what it links and names is there."""

import re

import pytest

from orchestration.home import PROJECT
from orchestration.read_commands.pages import list_pages, page_file, show_page
from orchestration.read_commands.published import ReadingError

LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")
PATH = re.compile(r"`((?:assets|orchestration|dbt_project|tests)/[\w/.-]+)`")


def anchors(file):
    headings = re.findall(r"^#+ (.+)$", file.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_a_page_is_printed_by_its_name_and_by_its_path(capsys):
    for name in ("decisions/privacy", "docs/decisions/privacy.md"):
        show_page(name)
        assert capsys.readouterr().out.startswith("# Decisions: privacy and security\n")
    assert page_file("privacy") == PROJECT / "docs" / "privacy.md"


@pytest.mark.parametrize(
    ("name", "hint"),
    [("orchestration", "did you mean decisions/orchestration? "), ("privcy", "did you mean privacy"), ("qqq", "`faul")],
)
def test_a_page_that_is_not_there_is_told_with_those_of_similar_names(name, hint):
    with pytest.raises(ReadingError, match=re.escape(f"there is no page {name}; {hint}")) as caught:
        page_file(name)
    assert str(caught.value).endswith("`faultline docs` lists the pages")
    assert len(str(caught.value)) < 150


def test_every_link_leads_to_a_page_and_a_heading():
    files = [PROJECT / "README.md", *map(page_file, list_pages())]
    links = [(file, *link) for file in files for link in LINK.findall(file.read_text(encoding="utf-8"))]
    assert len(links) > 100
    wrong = []
    for file, path, anchor in links:
        target = file.parent / path if path else file
        if not target.exists() or (anchor and anchor not in anchors(target)):
            wrong.append(f"{file.relative_to(PROJECT)}: {path}#{anchor}")
    assert wrong == []


def test_every_path_that_a_page_names_is_there():
    texts = {name: page_file(name).read_text(encoding="utf-8") for name in list_pages()}
    paths = {(name, path) for name, text in texts.items() for path in PATH.findall(text)}
    assert len(paths) > 50
    assert sorted((name, path) for name, path in paths if not (PROJECT / path).exists()) == []


def test_every_page_of_decisions_is_in_its_index_and_is_short():
    index = page_file("decisions").read_text(encoding="utf-8")
    pages = {name for name in list_pages() if name.startswith("decisions/")}
    assert set(re.findall(r"\((decisions/\w+)\.md\)", index)) == pages
    for name in pages:
        for entry in re.split(r"\n(?=\* |\n)", page_file(name).read_text(encoding="utf-8")):
            assert not entry.startswith("* ") or entry.count("\n") < 6, f"{name}: {entry[:60]}"
