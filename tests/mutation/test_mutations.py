"""Each correction turned off makes a test fail: by a number that is wrong, not by code that no longer runs."""

import os
import shutil
import subprocess
import sys
from xml.etree import ElementTree

import pytest

from orchestration.home import PROJECT
from tests.mutation.mutations import MUTATIONS

LEFT_OUT = shutil.ignore_patterns(".git", ".venv*", "__pycache__", "target", ".*_cache", "node_modules", "warehouse")


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.what)
def test_what_is_turned_off_stands_in_the_tree_once(mutation):
    assert (PROJECT / mutation.path).read_text(encoding="utf-8").count(mutation.old) == 1
    assert (PROJECT / mutation.tests).exists()


@pytest.mark.slow
@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.what)
def test_a_test_fails(mutation, tmp_path):
    tree = tmp_path / "tree"
    shutil.copytree(PROJECT, tree, ignore=LEFT_OUT)
    path = tree / mutation.path
    path.write_text(path.read_text(encoding="utf-8").replace(mutation.old, mutation.new), encoding="utf-8")
    report = tmp_path / "report.xml"
    command = [sys.executable, "-m", "pytest", "-n", "0", "-p", "no:cacheprovider", f"--junitxml={report}"]
    done = subprocess.run(
        [*command, mutation.tests],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree)},
        capture_output=True,
        text=True,
        check=False,
    )
    (suite,) = ElementTree.parse(report).getroot()
    assert int(suite.attrib["errors"]) == 0, f"it no longer runs:\n{done.stdout[-3000:]}"
    assert int(suite.attrib["failures"]) > 0, "no test saw it"
