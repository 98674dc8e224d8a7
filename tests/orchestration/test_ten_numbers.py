"""Numbers of the report equal those from the raw files that their lineage names.

The test shares nothing with the models: it reads the files with Python's csv and json and counts line by line. For a
fitted number it counts the inputs, and calls the fit. Numbers that depend on rules of the models, such as which pauses
end an outage or how likely a cause is, are left out: the rules would be repeated here.
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from datetime import UTC, datetime

import duckdb
import pytest

from assets.model.failure_rate import garwood_interval
from orchestration.read_commands.lineage import lineage


def files_of(con, column):
    """Return the paths in the lineage of a column, by raw table."""
    found = lineage(con, *column.rsplit(".", 1)).files
    return {table: [line.split(" (")[0] for line in files] for table, files in found.items()}


class Records:
    """The allocations of an sacct export: a line per attempt, without its steps."""

    def __init__(self, paths):
        lines = [line for path in paths for line in csv.DictReader(path.open(), delimiter="|")]
        self.attempts = [line for line in lines if "." not in line["JobID"]]
        # Components of a heterogeneous job (`26+0`, `26+1`) are one job.
        self.gpus_of_job = Counter()
        for line in self.attempts:
            if "+" in line["JobID"]:
                self.gpus_of_job[line["JobID"].split("+")[0]] += self.gpus(line)

    @staticmethod
    def gpus(line):
        found = re.search(r"(?:^|,)gres/gpu=(\d+)", line["AllocTRES"])
        return int(found[1]) if found else 0

    def state(self, line):
        return line["State"].split()[0]

    def size(self, line):
        """Return the power of two that holds all GPUs of the job."""
        gpus = self.gpus_of_job[line["JobID"].split("+")[0]] if "+" in line["JobID"] else self.gpus(line)
        return 0 if gpus == 0 else 1 << (gpus - 1).bit_length()

    @staticmethod
    def seconds(line):
        """Return how long an attempt ran. After a change of its size, a job continues from its newest `Submit`."""
        if not line["Start"][:1].isdigit():
            return 0.0
        start, end = (datetime.fromisoformat(text) for text in (max(line["Start"], line["Submit"]), line["End"]))
        hours, minutes, rest = map(int, line["Suspended"].split(":"))
        return (end - start).total_seconds() - (3600 * hours + 60 * minutes + rest)

    def gpu_hours(self, line):
        return self.gpus(line) * self.seconds(line) / 3600

    def node_days(self, line):
        return int(line["NNodes"]) * self.seconds(line) / 86400

    def ran_with(self, line, critical):
        """Return whether a check became or stayed critical on a node of a failed attempt while it ran."""
        if self.state(line) not in {"FAILED", "REQUEUED"}:
            return False
        start, end = (datetime.fromisoformat(line[key]).replace(tzinfo=UTC).timestamp() for key in ("Start", "End"))
        nodes = set(nodes_of(line["NodeList"]))
        return any(node in nodes and start <= at <= end for node, at in critical)


def nodes_of(text):
    """Expand `node[001-003,007],login1`."""
    for name, ranges, single in re.findall(r"(\w+)\[([^]]+)\]|([^,\[\]]+)", text):
        for part in ranges.split(",") if ranges else ():
            first, _, last = part.partition("-")
            yield from (f"{name}{number:0{len(first)}}" for number in range(int(first), int(last or first) + 1))
        if single:
            yield single


class Checks:
    """The results of health checks: a line per check and node."""

    def __init__(self, paths):
        lines = [json.loads(line) for path in paths for line in path.open()]
        self.results = sorted(
            (
                line["double"]["start_time"],
                line["normal"]["node"],
                line["normal"]["health_check"],
                line["int"]["result"],
            )
            for line in lines
        )
        self.critical = [(node, int(at)) for at, node, _, result in self.results if result == 2]

    def began(self):
        """Count by check how often it became critical on a node; for Xid errors, by code."""
        count, last = Counter(), {}
        for _, node, check, result in self.results:
            count[check] += check != "xid errors" and result == 2 and last.get((node, check)) != 2
            last[node, check] = result
        return +count


def counted(records, by):
    """Return the attempts and GPU-hours of each group, and of all."""
    count, hours = Counter(), Counter()
    for line in records.attempts:
        count[by(line)] += 1
        hours[by(line)] += records.gpu_hours(line)
    return count, hours


def numbers_of(con, sources):
    """List numbers: the column, the query, the rows' condition, and the value from the raw files."""

    def paths(column, table):
        return [sources / path for path in files_of(con, column)[table]]

    def read(column):
        return Records(paths(column, "raw.sacct"))

    numbers = []
    for table, by, words in (
        ("agg_job_states", "state", ("attempt_count", "gpu_hours", "attempt_ratio", "gpu_time_ratio")),
        ("agg_job_sizes", "size", ("job_count", "gpu_hours", "job_ratio", "gpu_time_ratio")),
    ):
        key = "state" if by == "state" else "gpu_size_bin"
        for column, word in enumerate(words):
            records = read(f"marts.{table}.{word}")
            count, hours = counted(records, getattr(records, by))
            for group in count:
                value = (
                    count[group],
                    hours[group],
                    count[group] / count.total(),
                    hours[group] / hours.total(),
                )[column]
                numbers.append((f"marts.{table}.{word}", word, f"{key} = '{group}'", value))
    return [*numbers, *_rates(read, paths), *_events(read, paths)]


def _rates(read, paths):
    """Return the exposure, and the rate by the paper's rule: attempts that a node ended, or that failed with a check.

    The rule also looks a few minutes around an attempt. In the capture it finds nothing more there.
    """
    table, where = "estimates.est_failure_rates", "population = 'all' and counted_as = 'attempts_paper'"
    for column in ("exposure", *(f"failures_per_1000_node_days{what}" for what in ("", "_low", "_high"))):
        records = read(f"{table}.{column}")
        value = node_days = sum(map(records.node_days, records.attempts))
        if column != "exposure":
            critical = Checks(paths(f"{table}.{column}", "raw.health_checks")).critical
            failures = sum(
                records.state(line) == "NODE_FAIL" or records.ran_with(line, critical) for line in records.attempts
            )
            rate = garwood_interval(failures, node_days)
            value = 1000 * float({"days": rate.value, "low": rate.low, "high": rate.high}[column.split("_")[-1]])
        yield f"{table}.{column}", column, where, value


def _events(read, paths):
    """Return counts of failures, kernel messages, checks and outages, and the length of one-line outages."""
    failures, events, outages = (
        "marts.fct_failures.state",
        "marts.fct_health_events.check_name",
        "marts.fct_node_outages",
    )
    records = read(failures)
    failed = sum(records.state(line) == "NODE_FAIL" for line in records.attempts)
    yield failures, "count(*)", "state = 'NODE_FAIL'", failed
    text = "".join(path.read_text() for path in paths(events, "raw.kernel_messages"))
    yield events, "count(*)", "check_name = 'boot'", text.count("] Linux version ")
    for code, count in Counter(re.findall(r"NVRM: Xid \([^)]*\): (\d+)", text)).items():
        yield events, "count(*)", f"check_name = 'xid' and code = '{code}'", count
    for check, count in Checks(paths(events, "raw.health_checks")).began().items():
        yield events, "count(*)", f"check_name = '{check}'", count
    lines = [
        line
        for path in paths(f"{outages}.ended_at", "raw.node_events")
        for line in csv.DictReader(path.open(), delimiter="|")
        if line["NodeName"]
    ]
    for node, count in Counter(line["NodeName"] for line in lines).items():
        yield f"{outages}.ended_at", "sum(interval_count)", f"node_id = '{node}'", count
        (*others, line) = (line for line in lines if line["NodeName"] == node)
        if not others and line["TimeEnd"] != "Unknown":
            start, end = (datetime.fromisoformat(line[key]) for key in ("TimeStart", "TimeEnd"))
            seconds = (end - start).total_seconds()
            yield f"{outages}.ended_at", "sum(epoch(ended_at - started_at))", f"node_id = '{node}'", seconds


def found_in(con, column, asked, where):
    table, _, _ = column.rpartition(".")
    return con.execute(f"select {asked} from {table} where cluster_id = 'testbed' and {where}").fetchall()


@pytest.fixture(scope="module")
def con(built_warehouse):
    with duckdb.connect(str(built_warehouse), read_only=True) as con:
        yield con


def test_every_number_comes_out_of_the_raw_files(con, testbed_home):
    numbers = numbers_of(con, testbed_home.sources)
    assert len(numbers) > 50
    for column, asked, where, value in numbers:
        found = found_in(con, column, asked, where)
        assert found == [(pytest.approx(value, rel=1e-9, abs=1e-12),)], f"{asked} of {column} where {where}"
