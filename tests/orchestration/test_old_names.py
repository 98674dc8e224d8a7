"""An old name of a command runs the new call for one release, or says what replaces it."""

import pytest

from orchestration.cli.old_names import REPLACED_BY
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


@pytest.mark.parametrize("arguments", [("forget", "--yes"), *((name, "--out", "x", "y") for name in REPLACED_BY)])
def test_without_a_successor_or_anything_to_forget_it_is_wrong_usage_and_makes_nothing(tmp_path, arguments):
    done = faultline(Home.at(tmp_path), *arguments)
    assert (done.exit_code, done.stdout, [*tmp_path.iterdir()]) == (2, "", [])
    assert REPLACED_BY.get(arguments[0], "") in done.stderr
