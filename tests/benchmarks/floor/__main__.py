"""Run the floor as a process of its own: `python -m tests.benchmarks.floor SOURCES TARGET`."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.benchmarks import floor

if __name__ == "__main__":
    floor.run(Path(sys.argv[1]), Path(sys.argv[2]))
