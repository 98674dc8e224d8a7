"""Twice the attempts and events on the same nodes in the same days make every model and estimate work twice as much.

Work is the rows that DuckDB's operators produce, as its profile counts them: no clock, and the same in every run. Pairs
of what happened on one node, at one time or by one user would be four times as many.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from graphlib import TopologicalSorter
from itertools import product
from pathlib import Path
from typing import Any

import dagster as dg

import assets.estimates
import assets.raw
from assets.raw.folder import SourcesFolder
from assets.warehouse import OpenWarehouse, set_search_path
from orchestration.dbt.build import manifest_of, prepare
from orchestration.settings.environment import HomeSettings
from orchestration.settings.home import DBT_PROJECT, Home
from tests.dbt.on_a_copy import dbt
from tests.logs import XID, Cluster, at

MOST = 2.6
"""How much rows may grow. What is linear grows by 2.00 here; more than a third of pairs among the rows is seen."""
FEWEST_ROWS = 1_000
"""Of a table in the larger cluster: with fewer, what it reads of settings and seeds is most of them."""
ESTIMATES = Path(assets.estimates.__file__).parent
DAYS, HOURS = 120, 6
"""How long the cluster is seen, and how often an attempt begins on a node of the smaller one."""
NODES = ("n1", "n2", "n3", "n4", "n[5-6]")
CHATTY = "check pci"
CHECKS = (
    "accelerator-nvidia-ecc", "accelerator-nvidia-fabric-manager", "accelerator-nvidia-gpu-counts",
    "accelerator-nvidia-infiniband", "check blockdev", "check ethlink", "check memory size", "check mountpoint",
    "check_ps_daemon", "gpudriverwatch", "mce errors",
)  # fmt: skip
"""Each of another component."""
AGES = (10, 25, 50, 100)
"""Minutes after the beginning of an attempt at which a check fails, each of another class."""
ENDS = {0: "FAILED", 3: "FAILED", 5: "NODE_FAIL", 8: "CANCELLED", 10: "PREEMPTED", 15: "TIMEOUT"}
"""States of every twentieth attempt on a node; all others complete."""
RESTARTED, CONTINUED = 6, 13
"""Attempts that start the job before them again, or are the next job of its run."""
CROWD = 200
"""Nodes on which attempts end in the same minutes, and checks fail twenty minutes later."""


def cluster(times: int) -> Cluster:
    """Give the cluster, `times` as much of which ran and was seen.

    One user has a third of the attempts. One node has ten times the events of others, all of one check. Each attempt is
    as long and meets as many events: only the gaps between attempts are shorter.
    """
    made = Cluster().inventory("n[1-6]").file("tickets/tickets.csv", "ticket_id,node,opened,closed,component,action")
    count, cells = DAYS * 24 // HOURS * times, [*product(CHECKS, AGES)]
    for number, place in product(range(count), range(len(NODES))):
        begin = at(HOURS / times * number, minutes=20)
        add_attempt(made, number, place, begin, timedelta(hours=HOURS / times))
        if place == 0:
            # During every second attempt, and a while after each of the others.
            add_failed_check(made, "n1", begin + timedelta(minutes=40 if number % 2 else 142), CHATTY)
        elif number % 10 == 2:
            # What fails at which age of an attempt differs more, the more fails.
            check, age = cells[number * len(cells) // (DAYS * 24 // HOURS * 2)]
            add_failed_check(made, first_node(place), begin + timedelta(minutes=age), check)
    for hour, place, number in product(range(4), range(CROWD), range(times)):
        begin, gpus = at(hour, days=DAYS // 2, seconds=place), {"AllocTRES": "cpu=32,gres/gpu=4,node=1"}
        job = 1_000_000 + (hour * CROWD + place) * 2 + number
        made.job(job, f"a{place}", begin, begin + timedelta(minutes=10), **gpus)
        add_failed_check(made, f"a{place}", begin + timedelta(minutes=30 + 3 * number), CHECKS[number])
    return made


def first_node(place: int) -> str:
    """Name the first node that attempts of a place hold."""
    return f"n{place + 1}"


def add_failed_check(made: Cluster, node: str, moment: Any, check: str) -> None:
    """Let a check fail, and pass five minutes later."""
    made.check(node, moment, check).check(node, moment + timedelta(minutes=5), check, 0)


def add_attempt(made: Cluster, number: int, place: int, begin: Any, period: timedelta) -> None:
    """Add an attempt of 130 minutes, and what the logs show of its end."""
    end, node = begin + timedelta(minutes=130), first_node(place)
    kind, job = (number + 3 * place) % 20, number * len(NODES) + place + 1
    follows = kind in {RESTARTED, CONTINUED} and number > 0
    work = number - follows
    made.job(
        job - len(NODES) * (kind == RESTARTED and follows),
        NODES[place],
        begin,
        end,
        ENDS.get(kind, "COMPLETED"),
        end - period + timedelta(minutes=1) if follows else begin,
        User="alice" if (work + place) % 3 == 0 else f"user{(work * len(NODES) + place) % 40}",
        JobName=f"job{work}of{place}",
    )
    later = end + timedelta(minutes=5)
    if kind == 0:
        made.kernel(node, end - timedelta(minutes=1), XID.format(bus="07", code=79))
        made.event(node, later, later + timedelta(minutes=10), "DRAIN", "GPU lost")
        if number % 40 < 20:
            closed = later + timedelta(minutes=10)
            made.file("tickets/tickets.csv", f"{job},{node},{later.isoformat()},{closed.isoformat()},GPU,replaced")
    elif kind == 5:
        made.event(node, end, later, "DOWN", "Not responding", "slurm(1)")
        made.slurmctld(end, f"error: Nodes {node} not responding, setting DOWN")
        made.slurmctld(end, f"requeue job JobId={job} due to failure of node {node}")
        made.kernel(node, later, "Linux version 5.15.0-91-generic (buildd@lcy02)")
    elif kind == 10:
        made.slurmctld(end, f"preempted JobId={job} has been killed to reclaim resources for JobId={job + len(NODES)}")
    elif kind == 18:
        made.event(node, later, later + timedelta(minutes=10), "MAINT", "maintenance")


@dataclass(frozen=True)
class ProfiledWarehouse(OpenWarehouse):
    """A warehouse whose connections count the rows that DuckDB's operators produce."""

    rows: list[int] = field(default_factory=list)

    @contextmanager
    def writing(self) -> Iterator[Any]:
        with super().writing() as con:
            con.execute("set enable_profiling = 'no_output'")
            profiled = Profiled(con, self.rows)
            yield profiled
            profiled.add_rows()


class Profiled:
    """A connection to DuckDB that adds the rows of each statement to a list."""

    def __init__(self, con: Any, rows: list[int]) -> None:
        self._con, self._rows, self._is_running = con, rows, False

    def execute(self, *arguments: Any) -> Any:
        """Run a statement. Its rows are added before the next one: they have been fetched by then."""
        self.add_rows()
        self._is_running = True
        return self._con.execute(*arguments)

    def add_rows(self) -> None:
        """Add the rows of the last statement."""
        profiles = [json.loads(self._con.get_profiling_information(format="json"))] if self._is_running else []
        self._is_running = False
        while profiles:
            operator = profiles.pop()
            profiles += operator.get("children", [])
            self._rows.append(operator.get("operator_cardinality") or 0)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._con, name)


def rows_of_tables(times: int, root: Path) -> dict[str, int]:
    """Build all tables of the cluster, and give the rows of each model and estimate."""
    home = Home.at(root)
    cluster(times).write(home.sources / "c")
    warehouse = ProfiledWarehouse(str(home.working_file), str(home.build_file), threads=1)
    raw = dg.load_assets_from_package_module(assets.raw)
    sources = SourcesFolder(path=str(home.sources), privacy=str(home.privacy))
    assert dg.materialize(raw, resources={"warehouse": warehouse, "sources": sources}).success
    warehouse.close()
    prepare(HomeSettings(home))
    shutil.copy(manifest_of(home).with_name("partial_parse.msgpack"), home.root)
    built = dbt(home, "build", "--exclude-resource-type", "test", "unit_test")
    assert built.returncode == 0, built.stdout
    found = {}
    for path in sorted((home.root / "compiled").glob("*/models/**/*.sql")):
        with warehouse.writing() as con:
            set_search_path(con)
            warehouse.rows.clear()
            con.execute(f"create or replace temp table profiled as {path.read_text(encoding='utf-8')}")
        found[path.stem] = sum(warehouse.rows)
    estimates = {asset.key: asset for asset in dg.load_assets_from_package_module(assets.estimates)}
    needs = {key: asset.asset_deps[key] for key, asset in estimates.items()}
    for key in TopologicalSorter(needs).static_order():
        if key in estimates:
            warehouse.rows.clear()
            estimates[key](warehouse=warehouse)
            found[key.path[-1]] = sum(warehouse.rows)
    warehouse.close()
    return found


def test_no_table_takes_much_more_than_twice_the_rows_for_twice_as_much(tmp_path):
    once, twice = (rows_of_tables(times, tmp_path / str(times)) for times in (1, 2))
    models = {path.stem for path in (DBT_PROJECT / "models").rglob("*.sql")}
    estimates = {path.stem for path in ESTIMATES.glob("est_*.py")}
    assert (models | estimates) - twice.keys() == set()
    times = {table: rows / max(once[table], 1) for table, rows in twice.items() if rows > FEWEST_ROWS}
    assert {table: (once[table], twice[table]) for table, grown in times.items() if grown > MOST} == {}
