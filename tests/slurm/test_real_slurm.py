"""From a real Slurm to a publication: planted faults, `faultline pull`, a refresh, and the truth.

The test needs root and the testbed, a program that runs a whole Slurm cluster on one machine, and takes about ten
minutes: `make slurm`. FAULTLINE_SLURM_TESTBED names the program.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import duckdb
import pytest
from typer.testing import CliRunner

from assets.warehouse import one_value
from orchestration.cli import app
from orchestration.settings.home import PROJECT, Home
from tests.conftest import refresh
from tests.slurm.planted import UNATTRIBUTED, failures_missed, planted_failures

pytestmark = pytest.mark.slurm

TESTBED = Path(os.environ.get("FAULTLINE_SLURM_TESTBED", PROJECT.parent / "shared" / "slurm-testbed" / "slurm-testbed"))
CLUSTER, AS_JSON = "testbed", "testbed-json"


class Testbed:
    """A Slurm cluster of a copy of the testbed's program, with more faults in its workload."""

    __test__ = False

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.program = folder / "program" / TESTBED.name
        self.program.parent.mkdir()
        shutil.copyfile(TESTBED, self.program)
        self.program.chmod(0o755)
        more = Path(__file__).with_name("more_faults.py").read_text()
        workload = TESTBED.with_name("workload.py").read_text()
        self.program.with_name("workload.py").write_text(f"{workload}\n\n{more}")

    @property
    def prefix(self) -> list[str]:
        """The words that run a command inside the cluster."""
        return ["env", f"SLURM_TESTBED_DIR={self.folder / 'cluster'}", str(self.program), "exec", "--"]

    def run(self, *words: str, is_checked: bool = True) -> str:
        """Run a command of the testbed."""
        environment = {**os.environ, "SLURM_TESTBED_DIR": str(self.folder / "cluster")}
        done = subprocess.run([self.program, *words], env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0 or not is_checked, f"{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
        return done.stdout

    def inside(self, *words: str) -> str:
        """Run a command inside the cluster."""
        return self.run("exec", "--", *words)


@pytest.fixture(scope="module")
def testbed():
    if not TESTBED.is_file():
        pytest.skip(f"no testbed of Slurm at {TESTBED}; FAULTLINE_SLURM_TESTBED names one")
    if os.geteuid() != 0:
        pytest.skip("the testbed needs root")
    folder = Path(tempfile.mkdtemp(prefix="faultline-slurm-"))
    # The users of the cluster have their homes in it; pytest's folders are closed to them.
    folder.chmod(0o755)
    testbed = Testbed(folder)
    try:
        testbed.run("up")
        testbed.run("workload", is_checked=False)
        testbed.run("dump", str(testbed.folder / "dump"))
        yield testbed
    finally:
        testbed.run("down", is_checked=False)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def truth(testbed):
    return testbed.folder / "dump" / "ground_truth.json"


@pytest.fixture(scope="module")
def home(testbed):
    """A home with Slurm logs from the pull, and other logs copied from the machines.

    A second cluster has the same accounting as JSON.
    """
    home = Home.at(testbed.folder / "home")
    folder = home.sources / CLUSTER
    folder.mkdir(parents=True)
    (folder / "cluster.toml").write_text(f"[pull]\nprefix = {json.dumps(testbed.prefix)}\nfirst_days = 2\n")
    as_json = home.sources / AS_JSON / "sacct" / "all.json"
    as_json.parent.mkdir(parents=True)
    as_json.write_text(
        testbed.inside("env", "TZ=UTC", "sacct", "-a", "-D", "-X", "-S", "now-1day", "-E", "now", "--json")
    )
    dump = testbed.folder / "dump"
    day = time.strftime("%Y%m%d", time.gmtime())
    for kind, name, copied in (
        ("health", "health_checks.jsonl", "health_checks.jsonl"),
        ("kernel", "syslog", f"syslog-{day}.log"),
        ("slurmctld", "slurmctld.log", "slurmctld.log"),
    ):
        (folder / kind).mkdir()
        shutil.copyfile(dump / name, folder / kind / copied)
    return home


@pytest.fixture(scope="module")
def pulled(home):
    result = CliRunner().invoke(app, ["pull", "--home", str(home.root), "--json"])
    assert result.exit_code == 0, result.output
    return next(answer for answer in json.loads(result.stdout) if answer["cluster_id"] == CLUSTER)


@pytest.fixture(scope="module")
def con(home, pulled):
    refresh(home)
    with duckdb.connect(str(home.published_file), read_only=True) as con:
        yield con


def test_the_workload_ran_as_written(truth):
    said = json.loads(truth.read_text())
    assert said["scenario_errors"] == []
    assert {"nvlink", "ib_crash", "mount_crash"} <= {episode["kind"] for episode in said["node_episodes"]}


def test_the_pull_is_whole(pulled, home):
    assert pulled["status"] == "pulled" and pulled["problems"] == []
    assert pulled["kinds"]["inventory"]["records"] == 16
    assert (home.sources / CLUSTER / "events").is_dir()


def test_every_record_of_slurm_is_an_attempt(con, testbed):
    slurms = testbed.inside(
        "env", "TZ=UTC", "sacct", "-a", "-D", "-X", "-P", "-n", "-S", "now-1day", "-E", "now", "-o", "JobIDRaw,State"
    )
    expected: dict[str, int] = {}
    for line in slurms.splitlines():
        state = line.partition("|")[2].partition(" ")[0]
        expected[state] = expected.get(state, 0) + 1
    found = dict(
        con.execute(
            "select state, count(*) from marts.fct_attempts where cluster_id = 'testbed' group by state"
        ).fetchall()
    )
    assert found == expected and sum(found.values()) > 100


def test_planted_failures_come_out_as_what_they_were(con, home, truth):
    causes = {cause for *_, cause in planted_failures(truth)}
    assert causes >= {"gpu_nvlink", "ib_link", "filesystem_mount", "gpu_memory", UNATTRIBUTED}
    assert failures_missed(home.published_file, CLUSTER, truth, is_shared=True) == []


def test_the_nodes_of_the_inventory_and_their_outages_are_there(con, truth):
    assert con.execute(
        "select count(*), sum(gpu_count) from marts.dim_nodes where cluster_id = 'testbed'"
    ).fetchone() == (16, 128)
    out = {node for (node,) in con.execute("select distinct node_id from marts.fct_node_outages").fetchall()}
    assert {episode["node"] for episode in json.loads(truth.read_text())["node_episodes"]} <= out


def accounting(home):
    """Return the pulled accounting files, one for each day."""
    return {file.name: file.read_bytes() for file in (home.sources / CLUSTER / "sacct").glob("pulled-*.psv")}


def test_a_second_pull_brings_no_other_accounting(home, con):
    before = accounting(home)
    result = CliRunner().invoke(app, ["pull", "--home", str(home.root), "--json"])
    assert result.exit_code == 0, result.output
    assert before and before.items() <= accounting(home).items()


def test_the_json_of_sacct_gives_the_same_attempts(con):
    attempts = "select job_id_raw, submitted_at, state, gpu_count from marts.fct_attempts where cluster_id = ?"
    assert con.execute(f"({attempts}) except ({attempts})", [CLUSTER, AS_JSON]).fetchall() == []
    assert con.execute(f"({attempts}) except ({attempts})", [AS_JSON, CLUSTER]).fetchall() == []


def test_without_slurmdbd_the_cluster_keeps_what_it_has_and_is_stale(home, con, testbed):
    """The last test: it ends slurmdbd."""
    pid = (testbed.folder / "cluster" / "run" / "pids" / "slurmdbd").read_text()
    testbed.inside("timeout", "30", "sh", "-c", f"kill {pid}; while kill -0 {pid}; do sleep 0.1; done")
    before = accounting(home)
    result = CliRunner().invoke(app, ["pull", "--home", str(home.root), "--json"])
    assert result.exit_code == 1
    answer = next(answer for answer in json.loads(result.stdout) if answer["cluster_id"] == CLUSTER)
    assert answer["status"] == "failed"
    assert {problem["kind"] for problem in answer["problems"]} == {"sacct", "events"}
    assert "slurmdbd and slurmctld run" in answer["problems"][0]["next_step"], answer
    assert accounting(home) == before
    assert answer["kinds"]["inventory"]["records"] == 16
    refresh(home)
    with duckdb.connect(str(home.published_file), read_only=True) as after:
        stale = after.execute("select is_stale and stale_reason is not null from marts.dim_clusters where is_stale")
        assert stale.fetchall() == [(True,)]
        assert one_value(after, "select count(*) from marts.fct_attempts") > 100
        assert after.execute("select distinct status from ops.pulls").fetchall() == [("failed",)]
