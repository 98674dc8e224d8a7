"""The environment is read where a process starts, a run's configuration nowhere, and every variable has its line."""

import ast
import re

from orchestration.configuration_page import variables
from orchestration.home import PROJECT

EDGES = {"orchestration/environment.py", "orchestration/dbt/command.py"}
"""Where a process of ours starts. dbt's own process gives its profile the files under relative names."""
INTERNAL = {"FAULTLINE_WAREHOUSE", "FAULTLINE_PUBLICATION"}
"""What this process tells dbt's profile; nobody sets them."""


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
    """Dagster accepts any configuration for an asset that declares none; it has to stay unread."""
    reads = re.compile(r"op_config|config_schema=(?!\{\})|dg\.Config\b")
    files = [file for room in ("assets", "orchestration") for file in (PROJECT / room).rglob("*.py")]
    found = [str(file) for file in files if reads.search(file.read_text(encoding="utf-8"))]
    assert found == []


def test_every_variable_that_the_code_reads_is_on_the_page():
    named = set()
    for path in (PROJECT / "orchestration").rglob("*.py"):
        named |= set(re.findall(r'^\w+ = "(FAULTLINE_\w+)"', path.read_text(encoding="utf-8"), re.MULTILINE))
    listed = {variable.name for variable in variables()}
    assert {"FAULTLINE_HOME", "FAULTLINE_PUBLISH_GROUP", "FAULTLINE_ALERT_COMMAND"} <= named
    assert named - INTERNAL == {name for name in listed if name.startswith("FAULTLINE_")}
