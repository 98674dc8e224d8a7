"""`faultline export --public`: no name in any byte, and no total that reveals a cell of few users."""

import json
from itertools import product

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.sql import fill
from orchestration.read_commands.export_folder import LOCK, UNFINISHED
from orchestration.read_commands.public_export import KINDS, decisions, is_nameless
from orchestration.settings.home import Home
from tests.homes import change, copy_of, faultline
from tests.warehouses import create_tables, insert, published_tables

NAME = "zqxv"
TEXTS = {
    "counted_as", "failure_category", "label", "likely_causes", "method", "method_version", "population", "scenario",
    "state",
}  # fmt: skip
"""Columns with words of the product, the only exported texts; clusters and accounts get other names."""
VALUES = {
    "bigint": "30", "integer": "30", "double": "30", "boolean": "true", "date": "date '2026-01-01'",
    "timestamp": "timestamp '2026-01-01'", "timestamp_s": "timestamp '2026-01-01'", "varchar[]": f"['{NAME}list']",
    "integer[]": "[30]", "json": f"'\"{NAME}json\"'",
}  # fmt: skip
WORDS = {name: f"'{name}'" for name in TEXTS} | {"population": "'all'", "counted_as": "'attempts'"}
SIZES = {8: 5, 16: 2, 32: 6, 64: 7, 256: 9}
"""Users by size: 16 GPUs have too few, and 8 GPUs the fewest of the others."""
FAILED = {32: 2, 64: 6, 256: 9}


def published_columns(table):
    """Return the exported columns of a table, and what each counts."""
    decided = decisions()["tables"][table]
    return {column: kind for kind in ("shown", *KINDS) for column in decided.get(kind, ())}


def home_of(folder, *, sizes=None):
    """Return a home with a row in every table and a name in every text.

    All rows have five users; if sizes are given, each table by size has a row for each size.
    """
    home = Home.at(folder / f"{NAME}home")
    home.published_file.parent.mkdir(parents=True)
    with duckdb.connect(str(home.published_file)) as con:
        create_tables(con)
        for table, columns in published_tables().items():
            values = {name: WORDS.get(name) or VALUES.get(kind, f"'{NAME}{name}'") for name, kind in columns.items()}
            if sizes and "gpu_size_bin" in columns:
                values["gpu_size_bin"] = f"unnest({[*sizes]})"
            con.execute(f"insert into {table} by name select {', '.join(f'{v} as {k}' for k, v in values.items())}")
        ran, failed = (f"coalesce(map {users}[gpu_size_bin], 0)" if sizes else "5" for users in (sizes, FAILED))
        for table in ("fct_attempts", "fct_job_runs", "fct_attempt_exposures", "fct_failures"):
            values = {
                "user_name": "user_name || person",
                "attempt_id": "attempt_id || gpu_size_bin || '-' || person",
                "failure_probability": f"cast(person < {failed} as integer)",
                "seen_to_at": "seen_to_at + interval 1 day",
            }
            replaced = [f"{values[name]} as {name}" for name in values if name in published_tables()[f"marts.{table}"]]
            con.execute(
                f"create table people as select * exclude (person) replace ({', '.join(replaced)})"
                f" from marts.{table}, range(9) as people(person)"
                f" where person < {failed if table == 'fct_failures' else ran}"
            )
            con.execute(f"truncate marts.{table}; insert into marts.{table} from people; drop table people")
        con.execute("insert into ops.published values ('run-1', timestamp '2026-01-03', 'h', '0.2.0+abc', '{}')")
    return home


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    return home_of(tmp_path_factory.mktemp("planted"))


@pytest.fixture(scope="module")
def sized(tmp_path_factory):
    return home_of(tmp_path_factory.mktemp("sized"), sizes=SIZES)


def exported(home, folder, *arguments):
    done = faultline(home, "export", folder, "--public", *arguments)
    assert done.exit_code == 0, done.output
    return {table["table"]: table for table in json.loads((folder / "faultline.json").read_text())["tables"]}


def rows_of(folder, table, columns="*"):
    file = folder / f"{table.replace('.', '/')}.parquet"
    return duckdb.execute(f"select {columns} from read_parquet(?) order by all", [str(file)]).fetchall()


def everything(folder):
    """Return the names and bytes of all files in a folder, and Parquet's compressed values."""
    for file in folder.rglob("*"):
        yield str(file.relative_to(folder))
        if file.is_file():
            yield file.read_bytes().decode("latin-1")
        if file.suffix == ".parquet":
            for function in ("read_parquet", "parquet_kv_metadata", "parquet_metadata"):
                yield str(duckdb.execute(f"from {function}(?)", [str(file)]).fetchall())


def test_a_new_table_or_column_needs_a_decision():
    never = [table for tables in decisions()["never"].values() for table in tables]
    assert sorted([*never, *decisions()["tables"]]) == sorted(published_tables())
    for table, decided in decisions()["tables"].items():
        named = [*published_columns(table), *decided.get("withheld", ())]
        assert sorted(named) == sorted(published_tables()[table]), table
        assert [column for column in published_columns(table) if not is_nameless(table, column)] == []
    assert not is_nameless("marts.fct_node_outages", "reason")


def test_what_is_not_counted_is_a_key_or_a_word_of_the_product():
    decided = decisions()["tables"]
    facts = {table for table in decided if "split" not in decided[table]}
    assert facts == {"marts.dim_failure_categories", "estimates.est_ettr_grid"}
    for table in decided.keys() - facts:
        keys = {"cluster_id", decided[table]["split"]}
        numbers = {"month_date", "gpu_size_bin", "confidence_level", "equivalence_margin"}
        assert {*decided[table]["shown"]} <= keys | numbers | TEXTS | {"is_simulated"}, table
        texts = {name for name in published_columns(table) if "varchar" in published_tables()[table][name]}
        assert texts <= TEXTS | {"cluster_id", "account"}, table


def test_a_cell_has_one_number_that_is_added_up():
    """Two would differ by the share of few users. Hours of nodes and days belong to no user, and rates follow."""
    of_nodes = {"planned_out", "failed", "unknown", "total", "unmapped"}
    nobody = {f"{name}_node_hours" for name in of_nodes} | {"seen_days"}
    nobody |= {"mttf_hours", "failures_per_1000_node_days"}
    found = {}
    for table, decided in decisions()["tables"].items():
        for column, kind in published_columns(table).items():
            if kind in KINDS and decided["split"] != "cluster" and column.endswith(("_count", "_hours", "_days")):
                found.setdefault((decided["split"], kind), set()).add(column)
    assert {cell: columns - nobody for cell, columns in found.items()} == {
        ("gpu_size_bin", "ended"): {"job_count"}, ("state", "ended"): {"attempt_count"},
        ("gpu_size_bin", "started"): {"runtime_hours"}, ("population", "started"): {"node_days"},
        ("month_date", "started"): {"node_days"},
        **{(split, "failures"): {"failure_count"} for split in ("gpu_size_bin", "population", "month_date")},
        **{(split, "losses"): {"first_order_gpu_hours"} for split in ("gpu_size_bin", "account")},
    }  # fmt: skip
    for table, decided in decisions()["tables"].items():
        if "counted_as" in published_columns(table):
            assert decided["rows"]["counted_as"] == ["attempts"], table


@pytest.mark.parametrize("form", ["csv", pytest.param("parquet", marks=pytest.mark.slow)])
def test_no_name_is_in_any_byte(planted, tmp_path, form):
    done = faultline(planted, "export", tmp_path / "public", "--public", "--format", form)
    assert done.exit_code == 0, done.output
    assert [text for text in [done.output, *everything(tmp_path / "public")] if NAME in text.lower()] == []
    assert faultline(planted, "export", tmp_path / "whole").exit_code == 0
    assert sum(NAME in text for text in everything(tmp_path / "whole")) > 50, "names are where they are looked for"


def test_every_public_column_goes_out_where_five_users_are_behind_it(planted, tmp_path):
    listed = exported(planted, tmp_path)
    assert listed.keys() == decisions()["tables"].keys()
    for table, entry in listed.items():
        found = duckdb.execute("from read_parquet(?)", [str(tmp_path / entry["file"])])
        assert {column[0] for column in found.description} == published_columns(table).keys(), table
        (row,) = found.fetchall()
        assert None not in row, table
        assert entry["left_out"] == {"cell_count": 0, "columns": decisions()["tables"][table].get("withheld", [])}


def test_a_cell_of_few_users_is_null_and_so_is_the_smallest_other(sized, tmp_path):
    home = copy_of(sized, tmp_path)
    # hidden cells are counted whatever they hold
    change(
        home, "update estimates.est_mttf_by_size set failure_count = null, mttf_hours = null where gpu_size_bin < 64"
    )
    listed = exported(home, tmp_path / "open")
    many = {32, 64, 256}
    shown = {"ended": many, "started": many, "runs": many, "failures": {256}, "losses": {256}}
    for table, decided in decisions()["tables"].items():
        if decided.get("split") != "gpu_size_bin":
            continue
        kinds = {column: kind for column, kind in published_columns(table).items() if kind != "shown"}
        there = set.union(*(shown[kind] for kind in kinds.values()))
        for column, kind in kinds.items():
            rows = dict(rows_of(tmp_path / "open", table, f"gpu_size_bin, {column}"))
            assert rows.keys() == there, table
            assert {size for size, found in rows.items() if found is not None} == shown[kind], (table, column)
        hidden = sum(len(there - shown[kind]) for kind in kinds.values())
        assert listed[table]["left_out"]["cell_count"] == hidden


def test_an_account_is_a_number_with_the_hours_of_all_its_users(planted, tmp_path):
    home = copy_of(planted, tmp_path)
    for table in ("fct_failures", "agg_lost_hours_by_account"):
        # five accounts; the losses of the last two concern two users
        change(
            home,
            f"create table more as select * replace (account || n as account) from marts.{table}, range(5) as t(n)",
            f"alter table more drop n; truncate marts.{table}; insert into marts.{table} from more; drop table more",
        )
    change(
        home,
        "insert into marts.agg_lost_hours_by_account by name select * replace (user_name || '2' as user_name)"
        " from marts.agg_lost_hours_by_account where account similar to '.*[34]'",
    )
    table = ("marts.agg_lost_hours_by_account", "account, first_order_gpu_hours")
    exported(home, tmp_path / "open")
    accounts, hours = zip(*rows_of(tmp_path / "open", *table), strict=True)
    assert accounts == tuple(f"account-{number}" for number in range(1, 6)), "no order of names is left"
    assert sorted(hours) == [30, 30, 30, 60, 60]
    change(home, "delete from marts.fct_failures where account like '%4' and user_name not like '%4'")
    exported(home, tmp_path / "open")
    rows = rows_of(tmp_path / "open", *table)
    assert [account for account, _ in rows] == ["account-1", "account-2", "account-3"], "no row of the others"


@pytest.mark.parametrize(
    ("given", "name"), [((), "cluster-1"), (("Open",), "Open"), ((f"{NAME}cluster_id=Open",), "Open")]
)
def test_clusters_are_called_what_is_given(planted, tmp_path, given, name):
    exported(planted, tmp_path, *(word for text in given for word in ("--cluster-name", text)))
    assert rows_of(tmp_path, "marts.agg_job_sizes", "cluster_id") == [(name,)]
    assert json.loads((tmp_path / "faultline.json").read_text())["simulated_clusters"] == [name]


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("--public", "--table", "fct_attempts"), 1, "marts.fct_attempts is never exported with --public"),
        (("--public", "--table", "files"), 1, "ops.files is never exported with --public"),
        (("--public", "--cluster-name", "other=Open"), 1, "give OLD=NEW"),
        (("--public", "--cluster-name", " "), 1, "give a cluster one name"),
        (("--public", "--cluster-name", f"{NAME.upper()}cluster_id"), 1, "which no cluster has inside"),
        (("--public", "--cluster-name", "A", "--cluster-name", "B"), 1, "give a cluster one name"),
        (("--cluster-name", "Open"), 2, "needs --public"),
    ],
)
def test_what_cannot_be_public_is_refused(planted, tmp_path, arguments, status, message):
    done = faultline(planted, "export", tmp_path, *arguments)
    assert done.exit_code == status
    assert message in " ".join(done.stderr.split())
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    ("first", "other", "second", "words"),
    [
        (("--table", "dim_clusters"), None, ("--public",), "an empty folder"),
        (("--public",), None, ("--public",), ""),
        (("--public",), None, (), "holds an export without names"),
        *((("--public",), place, ("--public",), "holds other files")
          for place in ("marts/fct_attempts.parquet", ".notes", "more/links")),
    ],
)  # fmt: skip
def test_a_public_export_shares_its_folder_with_nothing_but_an_earlier_one(
    planted, tmp_path, first, other, second, words
):
    assert faultline(planted, "export", tmp_path, *first).exit_code == 0
    if other == "more/links":
        (tmp_path / "more").mkdir()
        (tmp_path / other).symlink_to(tmp_path / "marts")
    elif other:
        (tmp_path / other).write_text("names")
    done = faultline(planted, "export", tmp_path, *second)
    assert (done.exit_code, words in done.stderr) == (bool(words), True)


def test_what_a_killed_export_left_is_deleted(planted, tmp_path):
    (tmp_path / UNFINISHED / "marts").mkdir(parents=True)
    (tmp_path / UNFINISHED / "marts" / "fct_attempts.parquet").write_text("names")
    (tmp_path / LOCK).write_text("1")
    exported(planted, tmp_path)
    assert not [*tmp_path.glob(".*")]


RAN = {"cluster_id": "a", "is_terminal": True, "is_infrastructure_failure": False, "started_at": "2026-01-05 00:00",
       "ended_at": "2026-01-05 01:00", "node_count": 1}  # fmt: skip
GROUPS = st.lists(
    st.tuples(
        st.sampled_from([None, 1, 8, 128, 256, 512]), st.sampled_from("ABC"), st.booleans(),
        st.sampled_from(["2026-01-05", "2026-02-05", "2026-03-05"]), st.integers(1, 9), st.integers(0, 5),
    ),
    min_size=1,
    max_size=9,
)  # fmt: skip
"""Attempts of several users: GPUs, account, whether they failed, when, number of users, and the first of these."""


@pytest.fixture(scope="module")
def con():
    with duckdb.connect() as con:
        create_tables(con)
        span = {"study_from_at": "2026-01-01", "study_to_at": "2026-04-01"}
        insert(con, "marts.dim_clusters", [{"cluster_id": "a", **span}])
        yield con


def cells_of(con, rows, *changes):
    """Insert attempts with their time and losses; return the users of each cell and whether it is shown."""
    con.execute("truncate marts.fct_attempts; drop table if exists public_cells")
    con.execute("truncate marts.fct_attempt_exposures; truncate marts.fct_failures")
    insert(con, "marts.fct_attempts", [{"attempt_id": str(number), **RAN, **row} for number, row in enumerate(rows)])
    con.execute(
        """
        insert into marts.fct_attempt_exposures by name
        select
            cluster_id, attempt_id, gpu_size_bin, 60 as exposure_seconds, node_count as node_days, 0 as gap_seconds,
            cast(is_infrastructure_failure as integer) as failure_probability, false as is_paper_failure,
            started_at as seen_from_at, ended_at as seen_to_at, ended_at as failed_at, attempt_id as incident_id
        from marts.fct_attempts;
        insert into marts.fct_failures by name
        select cluster_id, attempt_id, gpu_size_bin, account, user_name, 1 as lost_gpu_hours
        from marts.fct_attempts where is_infrastructure_failure
        """
    )
    for statement in changes:
        con.execute(statement)
    con.execute(fill("public/cells.sql"))
    cells = con.execute("select kind, split, part, user_count, is_shown from public_cells").fetchall()
    return {cell: found for *cell, users, is_shown in cells for cell, found in [(tuple(cell), (users, is_shown))]}


FAILURES = [{"is_infrastructure_failure": True, "user_name": user} for user in range(6)]
OF_JANUARY = [{**row, "ended_at": f"2026-0{2 - (row['user_name'] < 1)}-06"} for row in FAILURES]
TO_MARCH = [{"user_name": user, "ended_at": "2026-03-01 01:00"} for user in range(6)]
OF_A_SIZE = [{"user_name": user, "gpu_size_bin": 8} for user in range(6)]
MONTHS = [("started", "month_date", f"2026-0{month}-01") for month in (1, 2, 3)]
CELLS = {
    # Attempts, a change of their run time, and for some cells the number of users and whether it is shown.
    "a failure is of the month of its incident": (
        OF_JANUARY, "set incident_id = 'one'",
        {("failures", "month_date", "2026-01-01"): (6, True), ("failures", "month_date", "2026-02-01"): None},
    ),
    "a failure that rates leave out is nobody's": (
        FAILURES, "set failure_probability = 0 where attempt_id >= '2'", {("failures", "cluster", ""): (2, False)},
    ),
    "all months are seen": (TO_MARCH, "set gap_seconds = 0", dict.fromkeys(MONTHS, (6, True))),
    "a month without accounting is nobody's, and the smallest other is hidden": (
        TO_MARCH, "set gap_seconds = 10", dict(zip(MONTHS, ((6, False), (0, False), (6, True)), strict=True)),
    ),
    "a size is shown": (OF_A_SIZE, "set gap_seconds = 0", {("started", "gpu_size_bin", "8"): (6, True)}),
    "sizes are hidden where node-days lack an attempt": (
        [*OF_A_SIZE, {"user_name": 7, "gpu_size_bin": 8, "node_count": None}], "set gap_seconds = 0",
        {("started", "gpu_size_bin", "8"): (6, False), ("ended", "gpu_size_bin", "8"): (7, True)},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("rows", "changed", "expected"), CELLS.values(), ids=CELLS)
def test_a_cell_counts_the_users_that_its_number_is_made_of(con, rows, changed, expected):
    cells = cells_of(con, [RAN | row for row in rows], f"update marts.fct_attempt_exposures {changed}")
    assert {cell: cells.get(cell) for cell in expected} == expected


SPLITS = {
    "gpu_size_bin": ("ended", "started", "failures", "losses"), "account": ("losses",),
    "month_date": ("started", "failures"),
}  # fmt: skip
WEIGHTS = (lambda _: 1.0, lambda size: max(1.0, (size or 0) / 8), lambda size: float(size or 1))
"""What a total sums over cells: their number, their nodes, their GPUs."""


@settings(max_examples=40)
@given(groups=GROUPS)
def test_no_hidden_cell_can_be_computed_from_totals_and_other_cells(con, groups):
    """The totals of the cluster are known, and those of its large jobs if their row is shown.

    The known sums reveal a cell if its unit vector lies in the row space of the equations.
    """
    names = ("gpu_size_bin", "account", "is_infrastructure_failure", "started_at", "user_name")
    rows = [
        dict(zip(names, (*group, user), strict=True))
        for *group, count, first in groups
        for user in range(first, first + count)
    ]
    rows = [
        row | {"ended_at": f"{row['started_at']} 01:00", "month_date": f"{row['started_at'][:8]}01"} for row in rows
    ]
    attempts = [{name: value for name, value in row.items() if name != "month_date"} for row in rows]
    shown = {cell for cell, (_, is_shown) in cells_of(con, attempts).items() if is_shown}
    for split, kinds in SPLITS.items():
        for kind, weight in product(kinds, WEIGHTS):
            cells = {}
            for row in rows:
                if row["is_infrastructure_failure"] or kind in ("ended", "started"):
                    cells.setdefault(row[split], set()).add(row["user_name"])
            is_shown = [(kind, split, None if part is None else str(part)) in shown for part in cells]
            assert not [
                users for users, is_open in zip(cells.values(), is_shown, strict=True) if is_open and len(users) < 5
            ]
            weights = np.array([weight(part if split == "gpu_size_bin" else 1) for part in cells])
            is_large = np.array([split == "gpu_size_bin" and (part or 0) > 128 for part in cells], dtype=bool)
            lines = [weights] * ((kind, "cluster", "") in shown)
            if (kind, "population", "gpus_gt_128") in shown:
                lines += [weights * is_large, weights * ~is_large]
            known = np.vstack([*lines, np.diag(is_shown)]) if cells else np.empty((0, 0))
            for line in lines:
                left = [
                    users
                    for users, counts, is_open in zip(cells.values(), line, is_shown, strict=True)
                    if counts and not is_open
                ]
                assert not left or len(set.union(*left)) >= 5
            for users, alone in zip(cells.values(), np.eye(len(cells)), strict=True):
                if len(users) < 5:
                    assert np.linalg.matrix_rank(np.vstack([known, alone])) > np.linalg.matrix_rank(known)
