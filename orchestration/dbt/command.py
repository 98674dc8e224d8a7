"""dbt's command line in the folder of the files it builds: `python -m orchestration.dbt.command build`.

dbt parses the whole project anew, for as long as it takes to start, whenever its profile names other files than the
last time. Under names relative to the current folder the files of every home are called the same.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from orchestration.environment import PUBLICATION, WAREHOUSE, collect_garbage_seldom

if TYPE_CHECKING:
    from dbt_common.events.base_types import EventMsg


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


def skip_unwanted_lines() -> None:
    """Have dbt's loggers look at an event's level before they make a line of it, not after.

    Every statement is some events for debugging; making lines of them that no log takes was a tenth of dbt's own time.
    """
    from dbt_common.events.base_types import EventLevel
    from dbt_common.events.logger import _Logger

    write_line = _Logger.write_line

    def write_wanted(self: _Logger, msg: EventMsg) -> None:
        if msg.info.level != EventLevel.DEBUG or self.level == EventLevel.DEBUG:
            write_line(self, msg)

    _Logger.write_line = write_wanted  # type: ignore[method-assign]


if __name__ == "__main__":
    main()
