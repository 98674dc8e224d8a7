"""The page on commands says what the commands say, and its examples are of commands and options that are there."""

import re
import shlex

import pytest

from orchestration.settings.home import PROJECT
from tests.docs.writers.commands_page import commands, page


def test_the_page_is_what_the_commands_say():
    assert (PROJECT / "docs" / "commands.md").read_text(encoding="utf-8") == page(), "run `make commands`"


def test_options_have_their_defaults_and_arguments_say_whether_they_may_be_missing():
    refresh, _, plan = page().partition("## plan\n")
    assert "| `--home` | path | Folder of everything Faultline keeps [env FAULTLINE_HOME, default data] |" in refresh
    assert "`faultline plan [OPTIONS]`" in plan
    assert re.search(r"^\| `--gpus` \| int range \| .* required\] \|$", plan, re.MULTILINE)
    assert re.search(r"^\| `--days` \| float \| .*\[default: 30\] \|$", plan, re.MULTILINE)


@pytest.mark.parametrize("name", commands())
def test_every_example_can_be_typed(name):
    examples = re.findall(r"`faultline ([^`]*)`", commands()[name].epilog or "")
    assert any(example.split()[0] == name for example in examples)
    for example in examples:
        for line in example.split(" && faultline "):
            called, *words = shlex.split(line)
            commands()[called].make_context(called, words)
