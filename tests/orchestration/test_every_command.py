"""Without a publication, every reading command says what to do, and creates nothing."""

import pytest

from orchestration.settings.home import Home
from tests.homes import faultline


@pytest.mark.parametrize(
    "arguments",
    [
        ("status",), ("query", "select 1"), ("tables",), ("lemons",), ("plan", "--gpus", 64), ("export", "out"),
        ("report",), ("report", "--out", "out"), ("refresh", "--forget", "a", "--yes"), ("rollback",),
        ("explain", "node1"), ("explain", "fct_attempts"),
    ],
    ids=lambda arguments: " ".join(map(str, arguments)),
)  # fmt: skip
def test_without_a_publication_the_next_step_is_a_refresh(tmp_path, arguments):
    done = faultline(Home.at(tmp_path / "none"), *arguments)
    assert (done.exit_code, done.stdout) == (1, "")
    assert "`faultline refresh`" in done.stderr
    assert not list(tmp_path.iterdir())
