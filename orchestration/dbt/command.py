"""dbt's command line in the folder of the files it builds: `python -m orchestration.dbt.command build`.

dbt parses the whole project anew, for as long as it takes to start, whenever its profile names other files than the
last time. Under names relative to the current folder the files of every home are called the same.
"""

from __future__ import annotations

import os
from pathlib import Path

from orchestration.environment import PUBLICATION, WAREHOUSE, collect_garbage_seldom
from orchestration.upstream import skip_unwanted_lines


def main() -> None:
    """Run dbt on the files that the environment names; its arguments are those of the process."""
    collect_garbage_seldom()
    skip_unwanted_lines()
    folder = Path(os.environ[WAREHOUSE]).parent
    os.chdir(folder)
    for name in (WAREHOUSE, PUBLICATION):
        os.environ[name] = os.path.relpath(os.environ[name], folder)
    from dbt.cli.main import cli

    cli()


if __name__ == "__main__":
    main()
