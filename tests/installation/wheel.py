"""Build the wheel of the files that git tracks and the built pages: `python -m tests.installation.wheel FOLDER`."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from orchestration.settings.home import PROJECT
from tests.docs.writers.written import BUILT, write_pages

ROOMS = ("assets", "orchestration", "dbt_project")
NEEDED = ("pyproject.toml", "README.md", "LICENSE", "docs", *ROOMS)
BUILD = "import sys; from setuptools.build_meta import build_wheel; build_wheel(sys.argv[1])"


def tracked_files(*paths: str) -> set[str]:
    """Return the existing files below the paths that git tracks."""
    listed = subprocess.run(["git", "ls-files", "-z", *paths], cwd=PROJECT, capture_output=True, text=True, check=True)
    return {name for name in listed.stdout.split("\0") if name and (PROJECT / name).is_file()}


def build_wheel(folder: Path) -> Path:
    """Build the wheel in a folder with the build backend that pip and uv call; return its path."""
    clone = folder / "clone"
    for name in tracked_files(*NEEDED):
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(PROJECT / name, clone / name)
    write_pages(BUILT, clone / "docs")
    built = folder / "dist"
    built.mkdir()
    subprocess.run([sys.executable, "-c", BUILD, built], cwd=clone, check=True, capture_output=True, text=True)
    (wheel,) = built.glob("*.whl")
    return wheel


def main() -> None:
    """Build the wheel into a folder, and delete wheels of other versions there."""
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    for other in target.glob("faultline-*.whl"):
        other.unlink()
    with TemporaryDirectory() as folder:
        sys.stdout.write(f"{shutil.copy(build_wheel(Path(folder)), target)}\n")


if __name__ == "__main__":
    main()
