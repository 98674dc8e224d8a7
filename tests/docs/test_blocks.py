"""Every block on a page is checked: commands run in a separate folder, queries on a home, other blocks are parsed.

A page fails for a block without language, a language that no test runs, or a command that fails.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil

import pytest
import yaml
from markdown_it import MarkdownIt

from assets.sources.settings import read_settings as read_cluster
from orchestration.metrics.collecting import exposition
from orchestration.read_commands.published import published
from orchestration.read_commands.query import ask
from orchestration.settings.environment import WrongSetting, read_settings
from orchestration.settings.home import PROJECT
from tests.docs.blocks import PAGES, blocks_of
from tests.docs.shell import RUN, Sandbox, check_command
from tests.docs.writers.configuration_page import variables
from tests.docs.writers.written import BUILT
from tests.installation.wheel import tracked_files

COMMAND = re.compile(r"^\s*\$? ?(?:\S*/)?(?:curl|docker|faultline|make|pip|python3?|sudo) +[a-z-]", re.MULTILINE)


def text(block, _):
    assert not COMMAND.search(block.text), f"{block.place}: these are commands; make it ```sh"


def toml(block, folder):
    (folder / "cluster.toml").write_text(block.text)
    _, errors = read_cluster(folder, folder.name)
    assert not errors, f"{block.place}: {errors}"


def env(block, _):
    """Check settings of the environment one by one, because a page may show two values of a setting."""
    known = {variable.name for variable in variables()}
    for line in filter(None, shlex.split(block.text, comments=True)):
        name, _, value = line.partition("=")
        assert name in known, f"{block.place}: no setting is called {name}"
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(name, value)
            read_settings()


def braces(block, _):
    """Check files of web servers: each line ends a directive, or begins or ends a section."""
    lines = [line.split(" #")[0].strip() for line in block.text.splitlines()]
    assert sum(line.endswith("{") for line in lines) == lines.count("}"), f"{block.place}: braces do not match"


LANGUAGES = {
    "caddyfile": braces,
    "env": env,
    "json": lambda block, _: json.loads(block.text),
    "text": text,
    "toml": toml,
    "yaml": lambda block, _: yaml.safe_load(block.text),
}
"""The check of each language without a home. Commands, Python, queries and metrics need a home."""
OF_A_HOME = (*RUN, "promql", "sql")


def judge(page, folder):
    """Check the blocks of a page that need no home. The error for a block that no test runs says what to do."""
    for block in blocks_of(page):
        if block.run_by:
            test = PROJECT / block.run_by
            assert test.is_file() and page.name in test.read_text("utf-8"), f"{block.place}: {test} runs no {page.name}"
        elif block.language in LANGUAGES:
            try:
                LANGUAGES[block.language](block, folder)
            except (ValueError, yaml.YAMLError, WrongSetting) as error:
                raise AssertionError(f"{block.place}: {error}") from None
        else:
            assert block.language in OF_A_HOME, (
                f"{block.place}: no test runs {block.language!r}; make the block one of "
                f"{', '.join(sorted([*LANGUAGES, *OF_A_HOME]))} (text: output, trees, formulas), or name the test that "
                "runs it in a line before it: <!-- run by: tests/... -->"
            )


def pages_with(*languages):
    return [page for page in PAGES if any(b.language in languages and not b.run_by for b in blocks_of(page))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_of_a_page_is_run(page, tmp_path):
    judge(page, tmp_path)


@pytest.mark.parametrize("name", BUILT)
def test_a_built_page_has_only_blocks_that_need_no_home_and_commands_that_exist(name, tmp_path):
    page = tmp_path / name
    page.write_text(BUILT[name]())
    judge(page, tmp_path)
    assert not {block.language for block in blocks_of(page)} & {*OF_A_HOME}
    test_every_command_named_in_a_sentence_is_one(page)


@pytest.mark.parametrize("page", pages_with(*RUN), ids=lambda page: page.stem)
def test_the_commands_of_a_page_run(page, testbed_home, tmp_path):
    Sandbox(tmp_path, testbed_home).run(list(blocks_of(page)))


@pytest.mark.slow
def test_the_tutorial_runs_word_for_word(tmp_path):
    """The commands run in a checkout with an environment that pip fills. Only Slurm is a stub."""
    for name in tracked_files():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(PROJECT / name, tmp_path / name)
    Sandbox(tmp_path, None).run(list(blocks_of(PROJECT / "docs" / "tutorial.md")))
    shutil.rmtree(tmp_path / ".venv")


@pytest.mark.parametrize("page", pages_with("sql"), ids=lambda page: page.stem)
def test_every_query_of_a_page_has_an_answer(page, many_clusters):
    """Queries run on the published file with preemptions, requeues and checks that repeat the kernel's log."""
    with published(many_clusters) as con:
        for block in blocks_of(page):
            if block.language == "sql":
                assert ask(con, block.text).fetchall(), f"{block.place}: no row"


@pytest.mark.parametrize("page", pages_with("promql"), ids=lambda page: page.stem)
def test_every_metric_of_a_page_is_there(page, testbed_home):
    there = exposition(read_settings(testbed_home.root)).decode()
    for block in blocks_of(page):
        if block.language == "promql":
            for name in re.findall(r"faultline_\w+", block.text):
                assert re.search(rf"^{name}[{{ ]", there, re.MULTILINE), f"{block.place}: no metric is called {name}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_command_named_in_a_sentence_is_one(page):
    """The options exist. A sentence may omit values and arguments."""
    if page.name != "CHANGELOG.md":
        for token in MarkdownIt().parse(page.read_text(encoding="utf-8")):
            for part in token.children or ():
                if part.type == "code_inline" and re.fullmatch(r"faultline [a-z][^[{]*", part.content):
                    check_command(shlex.split(re.sub(r"\bN\b", "1", part.content))[1:], page.name, is_whole=False)
