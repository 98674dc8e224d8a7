"""Code reads the environment only at the start of a process, never a run's configuration; variables are documented."""

import ast
import re

from orchestration.settings import environment
from orchestration.settings.home import PROJECT
from tests.docs.writers.configuration_page import variables
from tests.installation.wheel import tracked_files

EDGES = {"orchestration/settings/environment.py", "orchestration/dbt/command.py"}
"""The starts of our processes. dbt's own process passes files with relative names to its profile."""
NO_SETTINGS = {"FAULTLINE_COMPLETE", "FAULTLINE_X"}
"""Part of a name of click, and a variable of tests."""


def uses_of_the_environment(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = {"environ", "environb", "getenv", "putenv", "unsetenv"}
    attributes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr in names]
    imports = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "os" and names & {name.name for name in node.names}
    ]
    return [node.lineno for node in (*attributes, *imports)]


def test_only_the_edge_reads_or_changes_the_environment():
    files = [file for room in ("assets", "orchestration", "dbt_project") for file in (PROJECT / room).rglob("*.py")]
    used = {file.relative_to(PROJECT).as_posix() for file in files if uses_of_the_environment(file)}
    assert used == EDGES


def test_no_step_reads_configuration():
    """Dagster accepts any configuration for an asset without a declaration. Code must not read it."""
    reads = re.compile(r"op_config|config_schema=(?!\{\})|dg\.Config\b")
    files = [file for room in ("assets", "orchestration") for file in (PROJECT / room).rglob("*.py")]
    found = [str(file) for file in files if reads.search(file.read_text(encoding="utf-8"))]
    assert found == []


def test_every_setting_is_on_the_page():
    listed = {variable.name for variable in variables() if variable.name.startswith("FAULTLINE_")}
    assert listed == set(environment.SETTINGS)
    assert len(environment.SETTINGS) == 16


def test_no_variable_that_is_named_anywhere_is_unknown(monkeypatch):
    """Otherwise a process that Faultline or a test starts would warn about it."""
    text = "".join((PROJECT / file).read_text("utf-8", errors="replace") for file in tracked_files())
    names = set(re.findall(r"FAULTLINE_[A-Z_]*[A-Z]", text))
    assert names >= set(environment.SETTINGS)
    for name in names - set(environment.SETTINGS) - set(environment.REMOVED) - NO_SETTINGS:
        monkeypatch.setenv(name, "1")
    assert environment.warnings_of_environment() == []
