"""An old name of a command runs the new call for one release, or says what replaces it."""

import pytest
from typer.testing import CliRunner

from orchestration.cli import app, old_names
from orchestration.settings.home import Home
from tests.homes import faultline


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (["where", "fct_failures", "--json"], ["tables", "fct_failures", "--json"]),
        (["lineage", "fct_failures.run_id", "--json"], ["explain", "fct_failures.run_id", "--json"]),
        (
            ["forget", "gpu1", "sacct/2023 *", "kernel/*", "--yes", "--sources", "/none"],
            ["refresh", "--yes", "--sources", "/none", "--forget", "gpu1/sacct/2023 *", "--forget", "gpu1/kernel/*"],
        ),
    ],
)
def test_it_answers_as_the_new_name_does(testbed_home, old, new):
    done, expected = faultline(testbed_home, *old), faultline(testbed_home, *new)
    assert (done.exit_code, done.stdout) == (expected.exit_code, expected.stdout)
    first, _, others = done.stderr.partition("\n")
    assert first.startswith(f"faultline: `faultline {old[0]}` is now `faultline {new[0]} ")
    assert others == expected.stderr


def test_nothing_to_forget_is_wrong_usage_and_refreshes_nothing(tmp_path):
    done = faultline(Home.at(tmp_path), "forget", "--yes")
    assert (done.exit_code, done.stdout, [*tmp_path.iterdir()]) == (2, "", [])


@pytest.mark.parametrize("name", ["export-raw", "import-marts"])
def test_marts_of_another_engine_have_a_module_of_their_own(tmp_path, name):
    done = faultline(Home.at(tmp_path), name, tmp_path / "raw", "--json")
    assert done.exit_code == 1
    first, second = done.stderr.splitlines()
    assert first.startswith(f"faultline: `faultline {name}` is now `python -m orchestration.spark {name} ")
    assert second.startswith("faultline: nothing has been read yet")


@pytest.mark.parametrize("name", old_names.REPLACED_BY)
def test_without_a_successor_it_says_what_replaces_it(name):
    done = CliRunner().invoke(app, [name, "--out", "x", "y"])
    assert (done.exit_code, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line == f"faultline: `faultline {name}` was removed: {old_names.REPLACED_BY[name]}"


def test_help_has_the_sixteen_commands_and_the_folder_of_the_pages():
    shown = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "300", "TERM": "dumb"}).stdout
    listed = [line.split()[1] for line in shown.partition("Commands")[2].splitlines() if line.startswith("│ ")]
    assert " ".join(listed) == (
        "init refresh pull plan lemons explain status doctor query tables report export simulate alerts rollback ui"
    )
    assert shown.rstrip().endswith("/docs")
