"""Isolated environments with the wheel installed, and commands in such an environment while it is read-only."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from orchestration.settings.home import PROJECT

VERSIONS = ("3.11", "3.12", "3.13")
LOCK = PROJECT / "requirements-runtime.lock.txt"
READ_ONLY = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"'
"""Root ignores file modes; a read-only mount stops root as well."""


def find_python(version: str) -> str | None:
    """Return a working interpreter from the path or from pyenv; None if there is none."""
    if version == f"{sys.version_info.major}.{sys.version_info.minor}":
        return sys.executable
    kept = sorted((Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python"))
    for found in [*map(str, kept), shutil.which(f"python{version}")]:
        if found and not subprocess.run([found, "--version"], capture_output=True, check=False).returncode:
            return found
    return None


def install(wheel: Path, python: str, environment: Path) -> Path:
    """Make an environment, install the packages of the lock by hash, then the wheel; return the command."""
    pip = [environment / "bin" / "python", "-m", "pip", "install", "--quiet", "--no-deps"]
    if uv := shutil.which("uv"):
        subprocess.run([uv, "venv", "--quiet", "--python", python, environment], check=True)
        pip = [uv, "pip", "install", "--quiet", "--python", environment / "bin" / "python", "--no-deps"]
        pip += ["--compile-bytecode"]
    else:
        subprocess.run([python, "-m", "venv", environment], check=True)
    subprocess.run([*pip, "--require-hashes", "-r", LOCK], check=True)
    subprocess.run([*pip, "--no-index", wheel], check=True)
    return environment / "bin" / "faultline"


def run_read_only(
    environment: Path, command: Sequence[object], cwd: Path, variables: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run a command that cannot write the environment."""
    words = [str(word) for word in command]
    if os.geteuid() == 0:
        words = ["unshare", "--mount", "sh", "-c", READ_ONLY, str(environment), *words]
    else:
        subprocess.run(["chmod", "-R", "a-w", environment], check=True)
    return subprocess.run(words, cwd=cwd, env=dict(variables), capture_output=True, text=True, check=False)
