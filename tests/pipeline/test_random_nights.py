"""Logs edited at random from night to night, refreshes killed in between: published is what a calm home gets."""

import os
import shutil
import signal
from pathlib import Path
from random import Random

import pytest

from assets.simulation import simulate
from orchestration.settings.home import Home
from tests.conftest import CAPTURE, refresh
from tests.pipeline.test_again import start
from tests.pipeline.test_equal import see
from tests.published import compare, content_of
from tests.sources.edits import Editor

pytestmark = pytest.mark.slow

NIGHTS = 4


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Logs of two simulated clusters, some of their lines spoiled, and of the capture."""
    folder = tmp_path_factory.mktemp("original")
    simulate("demo", folder, days=30, scale=0.5, dirt=5e-4)
    shutil.copytree(CAPTURE, folder / "sources" / "testbed")
    return folder / "sources"


def kill_a_refresh(home: Home, rng: Random) -> None:
    """Begin a refresh and end it at some moment; readers see the publication of before, or the next one whole."""
    before = home.published_file.read_bytes()
    process = start(home)
    for _ in zip(range(rng.randrange(1, 9)), process.stdout, strict=False):
        pass
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert home.published_file.read_bytes() == before


@pytest.mark.parametrize("seed", [1, 2])
def test_what_is_published_depends_on_what_was_seen_alone(seed: int, original: Path, tmp_path: Path) -> None:
    """The calm home saw the same folders, and no refresh of it was killed; it is read and built anew each night."""
    rng, home, calm = Random(seed), Home.at(tmp_path / "home"), Home.at(tmp_path / "calm")
    shutil.copytree(original, home.sources)
    refresh(home)
    see(home.sources, calm)
    editor = Editor(home.sources, original, rng)
    for night in range(NIGHTS):
        for _ in range(rng.randrange(1, 5)):
            editor.edit()
        if night % 2:
            kill_a_refresh(home, rng)
        refresh(home)
        see(home.sources, calm)
        fresh = Home.at(shutil.copytree(calm.root, tmp_path / f"fresh-{night}"))
        refresh(fresh, full=True)
        print(f"night {night}: {', '.join(editor.done)}")
        compare(content_of(home.published_file), content_of(fresh.published_file))
        shutil.rmtree(fresh.root)
