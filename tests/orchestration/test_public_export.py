"""`faultline export --public`: no name in any byte, and no cell of few users that a total gives away."""

import json
from itertools import product

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.sql import fill
from orchestration.home import Home
from orchestration.read_commands.public_export import KINDS, decisions
from tests.homes import change, copy_of, faultline
from tests.warehouses import create_tables, insert, published_tables

NAME = "zqxv"
TEXTS = {
    "counted_as", "exposure_unit", "failure_category", "label", "likely_causes", "method", "method_version",
    "population", "scenario", "state", "verdict",
}  # fmt: skip
"""Columns of words of the product, the only texts that go out; clusters and accounts get other names."""
VALUES = {
    "bigint": "30", "integer": "30", "double": "30", "boolean": "true", "date": "date '2026-01-01'",
    "timestamp": "timestamp '2026-01-01'", "timestamp_s": "timestamp '2026-01-01'", "varchar[]": f"['{NAME}list']",
    "integer[]": "[30]", "json": f"'\"{NAME}json\"'",
}  # fmt: skip
WORDS = {"population": "'all'"} | {name: f"'{name}'" for name in TEXTS - {"population"}}
SIZES = {8: 5, 16: 2, 32: 6, 64: 7, 256: 9}
"""Users by size: of 16 GPUs there are too few, and of 8 the fewest of the others."""
FAILED = {32: 5, 64: 6, 256: 9}


def published_columns(table):
    """The columns of a table that go out, and what each is counted by."""
    decided = decisions()["tables"][table]
    return {column: kind for kind in ("shown", *KINDS) for column in decided.get(kind, ())}


def home_of(folder, *, sizes=None):
    """A home with a row in every table and a name in every text.

    All is the doing of five users, save where sizes are given: then each table by size has a row for each.
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
        for table in ("fct_attempts", "fct_job_runs"):
            replaced = "user_name || person as user_name"
            if table == "fct_attempts" and sizes:
                replaced += f", person < coalesce(map {FAILED}[gpu_size_bin], 0) as is_infrastructure_failure"
            con.execute(
                f"create table people as select * replace ({replaced}) from marts.{table}, range(9) as people(person)"
            )
            con.execute(f"delete from people where person >= {f'map {sizes}[gpu_size_bin]' if sizes else 5}")
            con.execute(f"alter table people drop person; truncate marts.{table}")
            con.execute(f"insert into marts.{table} from people; drop table people")
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
    """The names and bytes of all files in a folder, and what Parquet compresses."""
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


def test_what_is_not_counted_is_a_key_or_a_word_of_the_product():
    decided = decisions()["tables"]
    facts = {table for table in decided if "split" not in decided[table]}
    assert facts == {"marts.dim_failure_categories", "estimates.est_ettr_grid"}
    for table in decided.keys() - facts:
        keys = {"cluster_id", decided[table]["split"]}
        numbers = {"month_date", "gpu_size_bin", "confidence_level", "equivalence_margin"}
        assert {*decided[table]["shown"]} <= keys | numbers | TEXTS | {"is_simulated", "is_infrastructure"}, table
        texts = {name for name in published_columns(table) if "varchar" in published_tables()[table][name]}
        assert texts <= TEXTS | {"cluster_id", "account"}, table


@pytest.mark.parametrize("form", ["parquet", "csv"])
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
        names = [column[0] for column in found.description]
        assert set(names) == published_columns(table).keys(), table
        (row,) = found.fetchall()
        assert None not in row, table
        assert entry["left_out"] == {"cell_count": 0, "columns": decisions()["tables"][table].get("withheld", [])}


def test_a_cell_of_few_users_is_null_and_so_is_the_smallest_other(sized, tmp_path):
    listed = exported(sized, tmp_path)
    hidden = {
        "ended": {8, 16}, "started": {8, 16}, "runs": {8, 16},
        # nothing failed below 32 GPUs, and nobody is told that either
        "failures": {8, 16},
    }  # fmt: skip
    for table, decided in decisions()["tables"].items():
        if decided.get("split") != "gpu_size_bin":
            continue
        for column, kind in published_columns(table).items():
            if kind != "shown":
                rows = rows_of(tmp_path, table, f"gpu_size_bin, {column}")
                assert {size for size, found in rows if found is None} == hidden[kind], (table, column)
        assert listed[table]["left_out"]["cell_count"] == sum(
            len(hidden[kind]) for kind in published_columns(table).values() if kind != "shown"
        )
    printed = faultline(sized, "export", tmp_path, "--public", "--table", "agg_job_sizes").stdout
    assert "marts.agg_job_sizes: cells made NULL: 8; columns withheld: started_count" in printed
    assert "fewer than five users" in printed


def test_an_account_is_a_number_with_the_hours_of_all_its_users(planted, tmp_path):
    home = copy_of(planted, tmp_path)
    for table in ("fct_attempts", "agg_lost_hours_by_account"):
        # five accounts; what the last two lost is told of two users
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
    exported(home, tmp_path / "open")
    file = tmp_path / "open" / "marts" / "agg_lost_hours_by_account.parquet"
    found = duckdb.execute("select account, failure_count, first_order_gpu_hours from read_parquet(?)", [str(file)])
    accounts, counts, hours = zip(*found.fetchall(), strict=True)
    assert accounts == tuple(f"account-{number}" for number in range(1, 6)), "no order of names is left"
    assert sorted(counts) == [30, 30, 30, 60, 60]
    assert hours == counts


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
        (("--public", "--cluster-name", ""), 1, "each cluster needs a name of its own"),
        (("--cluster-name", "Open"), 2, "needs --public"),
    ],
)
def test_what_cannot_be_public_is_refused(planted, tmp_path, arguments, status, message):
    done = faultline(planted, "export", tmp_path, *arguments)
    assert done.exit_code == status
    assert message in " ".join(done.stderr.split())
    assert not [*tmp_path.iterdir()]


def test_a_folder_with_an_export_that_has_names_is_refused(planted, tmp_path):
    assert faultline(planted, "export", tmp_path, "--table", "dim_clusters").exit_code == 0
    done = faultline(planted, "export", tmp_path, "--public")
    assert (done.exit_code, "an empty folder" in done.stderr) == (1, True)
    exported(planted, tmp_path / "new")
    exported(planted, tmp_path / "new")


RAN = {"gpu_count": 1, "node_count": 1, "runtime_seconds": 60, "is_terminal": True, "started_at": "2026-01-01 01:00",
       "ended_at": "2026-01-01 01:01"}  # fmt: skip
GROUPS = st.lists(
    st.tuples(
        st.sampled_from([None, 1, 8, 128, 256, 512]), st.sampled_from("ABC"), st.booleans(), st.integers(1, 9),
        st.integers(0, 5),
    ),
    min_size=1,
    max_size=9,
)  # fmt: skip
"""Attempts of several users: GPUs, account, whether they failed, number of users, and the first of these."""


@pytest.fixture(scope="module")
def con():
    with duckdb.connect() as con:
        create_tables(con)
        span = {"study_from_at": "2026-01-01", "study_to_at": "2026-02-01"}
        insert(con, "marts.dim_clusters", [{"cluster_id": "a", **span}])
        yield con


def test_a_month_before_the_study_is_no_cell(con):
    con.execute("truncate marts.fct_attempts; drop table if exists public_cells")
    rows = [{"cluster_id": "a", **RAN, "is_infrastructure_failure": False, "user_name": user} for user in range(6)]
    insert(con, "marts.fct_attempts", [*rows[1:], rows[0] | {"started_at": "2025-11-30 00:00"}])
    con.execute(fill("public/cells.sql"))
    assert con.execute(
        "select part, user_count, is_shown from public_cells where split = 'month_date' order by kind"
    ).fetchall() == [
        ("2026-01-01", 6, True),
        ("2026-01-01", 5, True),
    ]


@settings(max_examples=40)
@given(groups=GROUPS)
def test_no_hidden_cell_can_be_computed_from_totals_and_other_cells(con, groups):
    """The totals of the cluster, and of its large jobs where their row is shown, are known.

    A sum of what is known gives a cell away if the cell's unit vector lies in the row space of the equations.
    """
    con.execute("truncate marts.fct_attempts; drop table if exists public_cells")
    names = ("gpu_size_bin", "account", "is_infrastructure_failure", "user_name")
    rows = [
        dict(zip(names, (*group, user), strict=True))
        for *group, count, first in groups
        for user in range(first, first + count)
    ]
    insert(con, "marts.fct_attempts", [{"cluster_id": "a", **RAN, **row} for row in rows])
    con.execute(fill("public/cells.sql"))
    shown = set(con.execute("select kind, split, part from public_cells where is_shown").fetchall())
    for kind, split in product(("ended", "started", "failures"), ("gpu_size_bin", "account")):
        cells = {}
        for row in rows:
            if row["is_infrastructure_failure"] or kind != "failures":
                cells.setdefault(row[split], set()).add(row["user_name"])
        is_shown = [(kind, split, None if part is None else str(part)) in shown for part in cells]
        assert not [
            users for users, is_open in zip(cells.values(), is_shown, strict=True) if is_open and len(users) < 5
        ]
        is_large = [split == "gpu_size_bin" and (part or 0) > 128 for part in cells]
        lines = [np.ones(len(cells))] * ((kind, "cluster", "") in shown)
        if (kind, "population", "gpus_gt_128") in shown:
            lines += [np.array(is_large), ~np.array(is_large)]
        known = np.vstack([*(line * 1.0 for line in lines), np.diag(is_shown)]) if cells else np.empty((0, 0))
        for line in lines:
            left = [
                users for users, counts, is_open in zip(cells.values(), line, is_shown, strict=True) if counts > is_open
            ]
            assert not left or len(set.union(*left)) >= 5
        for users, alone in zip(cells.values(), np.eye(len(cells)), strict=True):
            if len(users) < 5:
                assert np.linalg.matrix_rank(np.vstack([known, alone])) > np.linalg.matrix_rank(known)
