"""The documentation site is complete, and works from a folder without a network."""

import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from orchestration.settings.home import PAGES, PROJECT
from tests.docs.writers.written import BUILT, write_pages
from tests.report.browser import browser

LOADING = {("img", "src"), ("script", "src"), ("source", "src"), ("iframe", "src"), ("link", "href"), ("use", "href")}
"""Elements and attributes that a browser loads by itself."""
NOT_RENDERED = re.compile(r"^\s*(?:[*-] |\d+\. |\||```)|\]\(", re.MULTILINE)


class Page(HTMLParser):
    """A page's loaded files, link targets, anchors, navigation links and prose."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.loaded, self.links, self.navigation = [], [], set()
        self.anchors, self.classes, self.texts, self.open = {""}, set(), defaultdict(str), []
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.open += [tag]
        self.anchors |= {found.get("id"), found.get("name")}
        self.classes |= set(found.get("class", "").split())
        self.loaded += [value for name, value in attrs if (tag, name) in LOADING]
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
            if "md-nav__link" in found.get("class", ""):
                self.navigation.add(found["href"].partition("#")[0])

    def handle_endtag(self, tag):
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data):
        if not {"code", "pre", "script", "style"} & set(self.open):
            self.texts[self.open[-1] if self.open else ""] += data


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    write_pages(BUILT, PAGES)
    done = subprocess.run(command, cwd=PROJECT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site):
    return {file.relative_to(site).as_posix(): Page(file) for file in site.rglob("*.html") if file.name != "404.html"}


def test_every_page_is_built_and_stands_in_the_navigation(pages):
    written = [page.relative_to(PAGES).with_suffix("").as_posix() for page in PAGES.rglob("*.md")]
    expected = {f"{name}.html" for name in [*written, "index", "changelog", "contributing", "security"]}
    assert set(pages) == expected
    assert {link for link in pages["index.html"].navigation if link} | {"index.html"} == expected


def test_nothing_is_loaded_from_another_host(site, pages):
    assert {name: page.loaded for name, page in pages.items() if [x for x in page.loaded if urlsplit(x).netloc]} == {}
    styles = [file.read_text(encoding="utf-8") for file in site.rglob("*.css")]
    assert len(styles) > 1
    assert not [found for style in styles for found in re.findall(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//", style)]
    drawn_by_a_program_of_another_host = [name for name, page in pages.items() if "mermaid" in page.classes]
    assert drawn_by_a_program_of_another_host == []


def test_every_link_and_everything_loaded_is_there(site, pages):
    wrong = []
    for name, page in pages.items():
        for link in [*page.loaded, *page.links]:
            parts = urlsplit(link)
            if parts.scheme:
                continue
            target = (site / name).parent / unquote(parts.path) if parts.path else site / name
            anchors = pages[os.path.relpath(target, site)].anchors if target.suffix == ".html" else {""}
            if not (target.is_file() and unquote(parts.fragment) in anchors):
                wrong.append((name, link))
    assert wrong == []


def test_pages_are_read_as_a_code_host_reads_them(pages):
    """A list needs an empty line before it, and a nested list four blanks; otherwise it becomes text."""
    prose = {name: "".join(page.texts[tag] for tag in ("p", "li", "td")) for name, page in pages.items()}
    assert {name: found[0] for name, text in prose.items() if (found := NOT_RENDERED.search(text))} == {}


def test_the_search_finds_a_word_in_a_browser_that_opened_the_folder(site, tmp_path):
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    assert [entry["location"] for entry in index["docs"] if entry["title"] == "fct_preemptions"]
    with browser(tmp_path / "profile") as tab:
        tab.send("Network.enable")
        tab.send("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=0, uploadThroughput=0)
        tab.send("Page.navigate", url=(site / "decisions" / "tests.html").as_uri())
        tab.wait("document.readyState === 'complete' && !!document.querySelector('.md-search__input')")
        assert re.fullmatch(r"What the tests prove - Faultline \d+\.\d+\.\d+\S*", tab.run("document.title"))
        tab.run("document.querySelector('[data-md-toggle=search]').click()")
        tab.run("field = document.querySelector('.md-search__input'); field.value = 'fct_preemptions'; 0")
        tab.run("field.dispatchEvent(new Event('keyup'))")
        tab.wait("!!document.querySelector('.md-search-result__link[href*=\"tables.html\"]')")
        assert tab.problems == [], "files outside the folder cannot be loaded"
