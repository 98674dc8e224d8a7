"""Ten numbers of the report, drawn anew each time, come out of the raw files that their lineage names.

Nothing here is shared with the models: the files are read by Python's csv and counted line by line. Counts, sums and
ratios are drawn, and no fitted number: what goes into a fit are these, and the probabilities of causes.
"""

from __future__ import annotations

import csv
import os
import random
import re
from collections import Counter
from datetime import datetime

import duckdb
import pytest

from orchestration.read_commands.lineage import lineage

SEED = int(os.environ.get("FAULTLINE_TEST_SEED") or random.SystemRandom().randrange(10**6))
"""Printed with a failure; set it to draw the same ten again."""
DRAWN = 10


def files_of(con, column):
    """Give the paths that the lineage of a column prints for each raw table."""
    return {table: [line.split(" (")[0] for line in files] for table, files in lineage(con, column).files.items()}


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
        """Give the power of two that holds all GPUs of the job."""
        gpus = self.gpus_of_job[line["JobID"].split("+")[0]] if "+" in line["JobID"] else self.gpus(line)
        return 0 if gpus == 0 else 1 << (gpus - 1).bit_length()

    @staticmethod
    def seconds(line):
        """Give how long an attempt ran. After a change of its size a job goes on from its newest `Submit`."""
        if not line["Start"][:1].isdigit():
            return 0.0
        start, end = (datetime.fromisoformat(text) for text in (max(line["Start"], line["Submit"]), line["End"]))
        hours, minutes, rest = map(int, line["Suspended"].split(":"))
        return (end - start).total_seconds() - (3600 * hours + 60 * minutes + rest)

    def gpu_hours(self, line):
        return self.gpus(line) * self.seconds(line) / 3600

    def node_days(self, line):
        return int(line["NNodes"]) * self.seconds(line) / 86400


def counted(records, by):
    """Give the attempts and GPU-hours of each group, and those of all."""
    count, hours = Counter(), Counter()
    for line in records.attempts:
        count[by(line)] += 1
        hours[by(line)] += records.gpu_hours(line)
    return count, hours


def numbers_of(con, sources):
    """List every number that may be drawn: its column, the row's condition, and what the raw files give."""

    def read(column):
        return Records([sources / path for path in files_of(con, column)["raw.sacct"]])

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
                numbers.append((f"marts.{table}.{word}", f"{key} = '{group}'", value))
    exposure = "estimates.est_failure_rates.exposure"
    records = read(exposure)
    node_days = sum(map(records.node_days, records.attempts))
    numbers.append((exposure, "population = 'all' and counted_as = 'attempts'", node_days))
    return numbers


@pytest.fixture(scope="module")
def con(built_warehouse):
    with duckdb.connect(str(built_warehouse), read_only=True) as con:
        yield con


def test_ten_numbers_come_out_of_the_raw_files(con, testbed_home):
    numbers = numbers_of(con, testbed_home.sources)
    assert len(numbers) > 50
    for name, where, value in random.Random(SEED).sample(numbers, DRAWN):
        table, _, column = name.rpartition(".")
        found = con.execute(f"select {column} from {table} where cluster_id = 'testbed' and {where}").fetchall()
        assert found == [(pytest.approx(value, rel=1e-9, abs=1e-12),)], f"{name} where {where} (seed {SEED})"


def test_every_number_that_may_be_drawn_would(con, testbed_home):
    wrong = []
    for name, where, value in numbers_of(con, testbed_home.sources):
        table, _, column = name.rpartition(".")
        found = con.execute(f"select {column} from {table} where cluster_id = 'testbed' and {where}").fetchall()
        if found != [(pytest.approx(value, rel=1e-9, abs=1e-12),)]:
            wrong.append((name, where, value, found))
    assert wrong == []
