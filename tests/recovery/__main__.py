"""Prints what a refresh of simulated logs gives back; `--write FILE` writes it as a page of the docs."""

from __future__ import annotations

import shlex
import sys
import tempfile
from pathlib import Path

from orchestration.settings.home import Home
from tests.docs.writers.pages import page_options, put_page
from tests.recovery.month import OF_LEVELS, Month, recover, recover_levels
from tests.recovery.page import page, questions_part
from tests.recovery.planted import questions, recover_planted


def main() -> None:
    """Simulate, refresh, compare, print."""
    month = Month()
    parser = page_options("tests.recovery", __doc__)
    parser.add_argument("--question", help="one module of tests/recovery/planted and nothing else")
    parser.add_argument("--profile", default=month.profile)
    parser.add_argument("--days", type=int, default=month.days)
    parser.add_argument("--scale", type=float, default=month.scale)
    parser.add_argument("--seed", type=int, default=month.seed)
    parser.add_argument("--levels-days", type=int, default=OF_LEVELS.days, help="of rsc2 and its harder variants")
    parser.add_argument("--levels-scale", type=float, default=OF_LEVELS.scale, help="0 leaves them out")
    options = parser.parse_args()
    # dagster-dbt reads column lineage in threads that change the current folder, and may leave another one behind.
    page_file = options.write.resolve() if options.write else None
    month = Month(options.profile, options.days, options.scale, options.seed)
    levels = Month(OF_LEVELS.profile, options.levels_days, options.levels_scale, options.seed)
    command = f"python -m tests.recovery {shlex.join(sys.argv[1:])}"
    with tempfile.TemporaryDirectory(prefix="faultline-recovery-") as folder:
        asked = recover_planted(questions(options.question), Home.at(Path(folder) / "planted"))
        if options.question:
            print("\n".join(questions_part(asked)))
            return
        by_level = recover_levels(levels, Home.at(Path(folder) / "levels"))
        by_month = recover(month, Home.at(Path(folder) / "month"))
        put_page(page(command, month, by_month, levels, by_level, asked), page_file)


if __name__ == "__main__":
    main()
