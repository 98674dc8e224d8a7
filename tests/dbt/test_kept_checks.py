"""Changes of health checks worked out anew from any day on are those that are worked out from all results."""

from __future__ import annotations

import json
import random
import re
import shutil
from collections.abc import Iterator
from datetime import datetime, timedelta

import duckdb
import pytest

from tests.dbt.conftest import MODEL
from tests.dbt.on_a_copy import compiled_in
from tests.warehouses import insert

BEGIN, DAYS = datetime(2026, 1, 1), 30
SUBJECTS = ("sssd", "slurmd", "munge")


@pytest.fixture(scope="module")
def queries(testbed_home, compiled):
    """The query of streams, the model's of all rows and of the touched ones alone, and a working file to ask them."""
    of_streams, of_all = (compiled_in(testbed_home.work / "dbt", name) for name in ("int_health_streams", MODEL))
    return of_streams, of_all, compiled_in(compiled.root, MODEL), compiled.working_file


def results(generator: random.Random) -> list[dict]:
    """Results as awkward as they come: of one second, after weeks of silence, repeated, switched off, in stretches."""
    rows = []
    for line in range(600):
        day = generator.choice([generator.randrange(DAYS), generator.randrange(3), generator.randrange(20, DAYS)])
        second = generator.choice([0, 3600, 7200, generator.randrange(86400)])
        at = BEGIN + timedelta(days=day, seconds=second)
        check = generator.choice(
            ["check pci", "service status", "xid errors", "check_fs", "check_ib", "mounted directory", "mce errors"]
        )
        result = generator.choice(["OK", "OK", "OK", "CRITICAL", "CRITICAL", "WARN"])
        subject, is_good = generator.choice(SUBJECTS), result == "OK"
        messages = {
            "service status": ["All services are running.", f"Service {subject} is running"]
            if is_good
            else [f"Service {subject} is not running"],
            "mounted directory": ["", f"/mnt/{subject}"] if is_good else [f"/mnt/{subject} is not mounted"],
        }
        codes = [79] if check == "xid errors" and not is_good and generator.random() < 0.7 else []
        row = {
            "cluster_id": generator.choice(["c1", "c2"]),
            "path": f"f{generator.randrange(5)}/{at.date()}",
            "line_number": line,
            "disposition": generator.choice(["loaded"] * 9 + ["duplicate"]),
            "node_name": "n",
            "node_id": generator.choice(["n1", "n2", "n3", None]),
            "check_name": check,
            "check_type": "periodic",
            "result": result,
            "result_quality": generator.choice(["ran"] * 8 + ["disabled"]),
            "started_at": at,
            "observed_at": at,
            "xid_codes": codes,
            "message": generator.choice(messages.get(check, ["a", "b", "all good"])),
            "unchanged_since": None,
        }
        if generator.random() < 0.2:
            begun = max(at - timedelta(seconds=generator.randrange(60, 40000)), BEGIN + timedelta(days=day))
            rows.append({**row, "line_number": line + 1000, "started_at": begun, "observed_at": begun})
            row["unchanged_since"] = begun
        rows.append(row)
    return rows


COLUMNS = """
    cluster_id, path, line_number, disposition, node_name, node_id, check_name, check_type, result, result_quality,
    started_at, observed_at, xid_codes, message, unchanged_since
"""


FILES = """
    delete from ops.files;
    insert into ops.files by name
    select
        'c1' as cluster_id, path, 'health' as kind, '' as sha256, '' as dialect, 0 as lines_in, 0 as loaded,
        0 as skipped, 0 as quarantined, '' as run_id, 0 as size_bytes, timestamp '2026-01-01' as modified_at,
        false as is_partial, '' as reader, [] as warnings
    from (select distinct path from raw.health_checks)
"""


@pytest.mark.parametrize("seed", range(5))
def test_what_follows_a_day_is_the_same_beside_what_stays(seed, queries):
    of_streams, of_all, of_touched, file = queries
    days = set(re.findall(r"timestamp '([^']+)'", of_touched))
    assert days == {"2026-01-20 00:00:00"}
    generator = random.Random(seed)
    with duckdb.connect(str(file)) as con:
        con.execute("set timezone = 'UTC'")
        con.execute("delete from raw.health_checks; delete from intermediate.int_node_boots")
        insert(con, "raw.health_checks", results(generator))
        con.execute(FILES)
        con.execute(f"create or replace table intermediate.int_health_streams as {of_streams}")
        con.execute(
            "update intermediate.int_health_streams set silence_seconds = case (cluster_id, check_stream) "
            "when ('c1', 'check pci') then 1800 when ('c2', 'nhc') then 21600 else silence_seconds end"
        )
        boots = [
            (generator.choice(["c1", "c2"]), generator.choice(["n1", "n2"]), generator.randrange(DAYS * 86400))
            for _ in range(25)
        ]
        con.executemany(
            f"insert into intermediate.int_node_boots values (?, ?, timestamp '{BEGIN}' + to_seconds(?))", boots
        )
        con.execute(f"create temp table expected as {of_all}")
        for day in generator.sample(range(DAYS + 2), 4):
            first = BEGIN + timedelta(days=day)
            # What the last publication held of later days is to be ignored.
            con.execute(
                f"create or replace table intermediate.{MODEL} as select * replace ("
                "if(observed_at < $first, change_number, change_number + 7) as change_number) from expected",
                {"first": first},
            )
            found = con.execute(of_touched.replace(*days, str(first)) + " order by all").fetchall()
            later = con.execute("from expected where observed_at >= ? order by all", [first]).fetchall()
            assert found == later, day
            assert later or day >= DAYS
        assert len(con.execute("select distinct stream_key from expected").fetchall()) > len(SUBJECTS)


def joins_of_files(plan: dict) -> Iterator[dict]:
    """Find the joins by the path of a file in a plan."""
    if plan["name"] == "HASH_JOIN" and "source_path = source_path" in plan["extra_info"]["Conditions"]:
        yield plan
    for child in plan["children"]:
        yield from joins_of_files(child)


def test_the_results_of_one_file_need_not_fit_into_memory(queries, tmp_path):
    """All of a growing log have one path, and a join cannot divide what it holds under one key."""
    of_streams, of_all, _, file = queries
    with duckdb.connect(str(shutil.copy(file, tmp_path / file.name))) as con:
        con.execute("delete from raw.health_checks")
        con.execute(
            f"""
            insert into raw.health_checks ({COLUMNS})
            select
                'c1', 'c1/health/all', i, 'loaded', 'n', 'n' || i % 500, 'check pci', 'periodic', 'CRITICAL', 'ran',
                moment, moment, [], 'm', null
            from (select i, timestamp '2026-01-01' + to_seconds(i) as moment from range(100000) as numbers (i))
            """
        )
        con.execute(FILES)
        con.execute(f"create or replace table intermediate.int_health_streams as {of_streams}")
        ((_, text),) = con.execute(f"explain (format json) {of_all}").fetchall()
    joins = [join for plan in json.loads(text) for join in joins_of_files(plan)]
    (join,) = joins
    _, held = join["children"]
    assert int(held["extra_info"]["Estimated Cardinality"]) < 1000, "the files, which are few"
