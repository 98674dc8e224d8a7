"""dbt's command line in the folder of the files it builds: `faultline-dbt build`, which dagster-dbt starts as `dbt`.

dagster-dbt asks it for its version before each build, which takes dbt itself 4 s. dbt parses the whole project again,
for as long as it takes to start, whenever its profile names other files than the last time. Under names relative to
the current folder the files of every home are called the same.
"""

from __future__ import annotations

import os
import select
import sys
import threading
from importlib.metadata import version
from pathlib import Path

from orchestration.settings.environment import PUBLICATION, WAREHOUSE, collect_garbage_seldom
from orchestration.terminal.output import say

DBT = Path(sys.executable).with_name("faultline-dbt")
"""The console script of this module."""
RESULTS_ONLY = "--no-write-json"
"""dbt writes the manifest twice in each build, which takes a tenth of its time. With this it writes no JSON at all."""


def main() -> None:
    """Run dbt on the files that the environment names; its arguments are those of the process."""
    arguments = sys.argv[1:]
    if arguments == ["--version"]:
        say(f"installed: {version('dbt-core')}")
        return
    threading.Thread(target=_end_with_the_reader, daemon=True).start()
    collect_garbage_seldom()
    folder = Path(os.environ[WAREHOUSE]).parent
    os.chdir(folder)
    for name in (WAREHOUSE, PUBLICATION):
        os.environ[name] = os.path.relpath(os.environ[name], folder)
    from dbt.artifacts.schemas.run import RunExecutionResult
    from dbt.cli.main import dbtRunner

    done = dbtRunner().invoke(arguments)
    if isinstance(done.result, RunExecutionResult) and RESULTS_ONLY in arguments:
        done.result.write(str(Path(os.environ["DBT_TARGET_PATH"], "run_results.json")))
    # As dbt itself ends: 1 where a statement failed, 2 where dbt did.
    sys.exit(2 if done.exception else int(not done.success))


def _end_with_the_reader() -> None:
    """End this process when nobody reads its output any more: the refresh that started it has died.

    It would go on building, and hold the files that the next refresh opens.
    """
    output = select.poll()
    # Without being asked for, a pipe whose other end is closed is always told; nothing else of it is.
    output.register(sys.stdout, 0)
    output.poll()
    os._exit(1)
