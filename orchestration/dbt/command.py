"""dbt's command line in the folder of the files that it builds: `faultline-dbt`, which dagster-dbt starts as `dbt`.

dagster-dbt asks for dbt's version before each build, which takes dbt itself 4 s; this module answers at once. Whenever
its profile names other files, dbt parses the whole project again, which takes as long as its start. With paths relative
to the current folder, every home's files have the same names.
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
"""Without this, dbt writes the manifest twice in each build, which takes a tenth of its time."""


def main() -> None:
    """Run dbt on the files named by the environment, with the arguments of this process."""
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
    # dbt's own exit status: 1 if a statement failed, 2 if dbt failed.
    sys.exit(2 if done.exception else int(not done.success))


def _end_with_the_reader() -> None:
    """End this process when its output has no reader any more, because the refresh that started it died.

    Otherwise it would continue to build, and hold the files that the next refresh opens.
    """
    output = select.poll()
    # With an empty mask, poll reports nothing but the closed other end of a pipe.
    output.register(sys.stdout, 0)
    output.poll()
    os._exit(1)
