"""The program that dagster-dbt starts as `dbt`: its answers and its end."""

import os
import subprocess
import sys

from orchestration.dbt.command import DBT
from orchestration.settings.home import PROJECT
from tests.patience import is_gone

DBT_THAT_WORKS = {
    "__init__.py": "",
    "artifacts/schemas/run.py": "class RunExecutionResult: pass",
    "cli/main.py": """
import time
class dbtRunner:
    def invoke(self, arguments):
        print("works", flush=True)
        time.sleep(600)
""",
}
"""A package named dbt with a build that takes ten minutes."""
STARTER = """
import subprocess, sys, time
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, text=True)
assert process.stdout.readline() == "works\\n"
print(process.pid, flush=True)
time.sleep(600)
"""


def test_it_ends_when_its_starter_is_killed(tmp_path):
    for name, text in DBT_THAT_WORKS.items():
        file = tmp_path / "dbt" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    files = {name: str(tmp_path / name) for name in ("FAULTLINE_WAREHOUSE", "FAULTLINE_PUBLICATION")}
    with subprocess.Popen(
        [sys.executable, "-c", STARTER, DBT, "run"],
        stdout=subprocess.PIPE, text=True,
        env=os.environ | files | {"PYTHONPATH": f"{tmp_path}:{PROJECT}"},
    ) as starter:  # fmt: skip
        dbt = int(starter.stdout.readline())
        starter.kill()
    assert is_gone(dbt)
