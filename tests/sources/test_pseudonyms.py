"""Names in raw tables are hashed before they are stored. Equal names stay equal, and rules find the same in texts."""

import csv
import re
from pathlib import Path

import duckdb
import pytest

from assets.sources.formats import PRIVACY, READERS
from assets.sources.intake.find.folder import survey
from assets.sources.sacct.columns import COLUMNS
from assets.sources.text.check_subjects import SUBJECT, SUBJECTS
from assets.sources.text.pseudonyms import (
    COMMON,
    KEPT,
    STATE,
    TICKET,
    UID,
    USER,
    WordCutter,
    give_key,
    pseudonym,
    words_of,
)
from assets.warehouse import Warehouse
from orchestration.settings.home import DBT_PROJECT, PROJECT
from tests.privacy.planted import PLAIN, PRIVATE, names_in, write_planted
from tests.sources.folders import connect, load

KEY = "0123456789abcdef" * 4
RULES = (
    ("node_reason_rules", "pattern"),
    ("node_reason_origins", "pattern"),
    ("health_check_rules", "pattern"),
    ("repair_actions", "pattern"),
)
OTHER_PATTERNS = (
    "setting down", "unexpectedly", "returned to service", "draining", "^prolog (error|or job env)",
    "kill task failed|epilog|prolog|batch job|duplicate job", "reset|reboot", "critical interrupt",
)  # fmt: skip
"""Patterns in the models themselves."""
NOT_FREE = {KEPT, USER, UID, TICKET, STATE, "account"}
"""Kinds of columns without free text."""


@pytest.fixture(scope="module")
def rules() -> duckdb.DuckDBPyConnection:
    """A connection with a table `rules` of the patterns that classify texts."""
    found = list(OTHER_PATTERNS)
    for seed, column in RULES:
        with (DBT_PROJECT / "seeds" / f"{seed}.csv").open(encoding="utf-8") as file:
            found += [row[column] for row in csv.DictReader(file)]
    with (DBT_PROJECT / "seeds" / "health_checks.csv").open(encoding="utf-8") as file:
        found += [re.escape(f"{row['check_key']}:").replace("\\ ", " ") for row in csv.DictReader(file)]
    con = duckdb.connect()
    con.execute("create table rules as select distinct unnest($found) as pattern", {"found": found})
    return con


def told_apart(rules: duckdb.DuckDBPyConnection, texts: list[str]) -> list[tuple[str, str, str]]:
    """List pattern, text and cut text where a pattern matches only one of the two texts."""
    cut = WordCutter()
    rules.execute(
        "create or replace temp table texts as select unnest($texts) as text, unnest($cut) as cut",
        {"texts": [text.lower() for text in texts], "cut": [f"{cut(text).lower()} #0123456789ab" for text in texts]},
    )
    found = []
    # DuckDB compiles a constant pattern once.
    for (pattern,) in rules.execute("select pattern from rules").fetchall():
        found += rules.execute(
            "select $pattern, text, cut from texts where trim(text) <> ''"
            " and regexp_matches(text, $pattern) <> regexp_matches(cut, $pattern)",
            {"pattern": pattern},
        ).fetchall()
    return found


def test_rules_find_in_a_cut_text_what_they_find_in_the_whole_one(rules: duckdb.DuckDBPyConnection) -> None:
    kinds = ("health", "kernel", "events", "slurmctld", "inventory")
    files = [file for kind in kinds for file in (PROJECT / "data" / "sources" / "testbed" / kind).iterdir()]
    texts = {line[:300] for file in files for line in file.read_text(encoding="utf-8").splitlines()[::40]}
    literals = {
        re.sub(r"\(\?i\)|\\[bW]|[()^$?*+]", "", part)
        for (pattern,) in rules.execute("select pattern from rules").fetchall()
        for part in pattern.split("|")
    }
    texts |= {f"{before}{part}{after}" for part in literals for before, after in (("", " by zoe7"), ("hc: ", ": 3"))}
    texts |= {"cold-start", "new kernel : reboot issued", "new kernel : reboot issued : reboot timed out"}
    assert len(texts) > 500
    assert told_apart(rules, sorted(texts)) == []


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("gpu_ecc: 12 on alice's node, uid=100234", "gpu_ecc: 1 on x's node, x=9999"),
        ("XID errors: 79, see bob", "XID errors: 79, x x"),
        ("Xid (PCI:0000:3b:00): 1234", "Xid (PCI:0000:3b:00): 9999"),
        ("uncorrectable ecc, xcorrectable ecc", "uncorrectable ecc, xcorrectable ecc"),
        ("unmounted /home/zoe by Zoë", "unmountx /home/x by x?"),
        ("NHC2003 at 00001 00", "NHC2003 at 0000 0"),
    ],
)
def test_a_text_is_cut_to_known_words(text: str, cut: str) -> None:
    assert WordCutter()(text) == cut


def test_words_of_a_sites_own_rules_stay() -> None:
    words = words_of([r"(?i)\briser(s)? loose\b", "flaky[-_]psu"])
    assert words == ["flaky", "loose", "psu", "riser"]
    assert WordCutter(words)("Riser loose, says alice") == "Riser loose, x x"


def test_every_text_of_every_raw_table_is_classified() -> None:
    con = connect()
    found = con.execute(
        """
        select table_name, list(column_name) from duckdb_columns()
        where schema_name = 'raw' and (data_type like 'VARCHAR%' or column_name like '%uid')
            and table_name not in ('clusters', 'node_names', 'node_lists', 'host_names')
        group by all
        """
    ).fetchall()
    classified = {table: set(columns) - set(COMMON) for table, columns in found}
    assert classified == {table: set(PRIVACY.get(table, ())) for table in classified}
    assert set(PRIVACY) <= set(classified)


@pytest.mark.parametrize("kind", READERS)
def test_a_text_of_a_raw_table_is_masked_or_declared_to_hold_no_free_text(kind: str) -> None:
    holds, masked = READERS[kind].PRIVACY, {*READERS[kind].ROWS.free_texts}
    if kind == "sacct":
        masked = {column.fills[0] for column in COLUMNS if column.is_free_text}
    assert {name for name, held in holds.items() if held not in NOT_FREE} <= masked <= holds.keys()


def test_subjects_are_those_of_the_models() -> None:
    macro = (DBT_PROJECT / "macros" / "health_check_subject.sql").read_text(encoding="utf-8")
    assert re.findall(r"'([a-z ]+)'", macro.split("endmacro")[0]) == list(SUBJECTS)
    assert SUBJECT.replace("\\", "\\\\") in macro


def test_a_pseudonym_depends_on_the_key_and_the_kind() -> None:
    made = []
    for key in (KEY, KEY[::-1]):
        con = duckdb.connect()
        give_key(con, key)
        made += con.execute(f"select {pseudonym('user', repr('zoe'))}, {pseudonym('account', repr('zoe'))}").fetchall()[
            0
        ]
    assert len(set(made)) == 4
    assert all(re.fullmatch(r"(user|account)-[0-9a-f]{12}", name) for name in made)


def load_planted(
    folder: Path, settings: str, con: duckdb.DuckDBPyConnection | None = None
) -> duckdb.DuckDBPyConnection:
    """Load the planted cluster into a warehouse in memory."""
    con = con or connect()
    give_key(con, KEY)
    return load(write_planted(folder, settings).parent, con, READERS)


def tables(con: duckdb.DuckDBPyConnection) -> list[str]:
    """Return the names of the raw and ops tables."""
    query = (
        "select schema_name || '.' || table_name from duckdb_tables() where schema_name in ('raw', 'ops') order by 1"
    )
    return [name for (name,) in con.execute(query).fetchall()]


def texts(con: duckdb.DuckDBPyConnection) -> dict[str, list[str]]:
    """Return every row of every table as text."""
    return {
        name: [text for (text,) in con.execute(f"select rows::varchar from {name} as rows").fetchall()]
        for name in tables(con)
    }


@pytest.fixture(scope="module")
def plain_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a warehouse with the planted names."""
    folder = tmp_path_factory.mktemp("plain")
    with Warehouse(path=str(folder / "plain.duckdb")).writing() as con:
        load_planted(folder / "sources", PLAIN, con)
        con.execute("checkpoint")
    return folder / "plain.duckdb"


@pytest.fixture(scope="module")
def private(tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    """A warehouse in memory with pseudonyms."""
    return load_planted(tmp_path_factory.mktemp("private"), PRIVATE)


def test_no_planted_name_is_in_a_raw_table_and_all_else_is_equal(
    plain_file: Path, private: duckdb.DuckDBPyConnection
) -> None:
    plain = duckdb.connect(str(plain_file), read_only=True)
    plain.execute("set timezone = 'UTC'")
    assert {
        table: names_in("\n".join(rows)) for table, rows in texts(private).items() if names_in("\n".join(rows))
    } == {}
    found = {table for table, rows in texts(plain).items() if names_in("\n".join(rows))}
    assert found == {
        "ops.files", "ops.quarantine", "raw.health_checks", "raw.kernel_messages", "raw.manifests", "raw.node_events",
        "raw.nodes", "raw.sacct", "raw.slurmctld_events", "raw.tickets",
    }  # fmt: skip
    for table, kinds in PRIVACY.items():
        columns = plain.execute(f"select * from raw.{table} limit 0").description
        equal = ", ".join(name for name, *_ in columns if kinds.get(name, "kept") == "kept")
        query = f"select {equal} from raw.{table} order by all"
        assert private.execute(query).fetchall() == plain.execute(query).fetchall(), table
        # Equal names stay equal, and different ones different.
        for name, kind in kinds.items():
            if kind not in ("kept", "dropped", "state"):
                shape = f"select count(distinct {name}), count({name}) from raw.{table}"
                assert private.execute(shape).fetchall() == plain.execute(shape).fetchall(), f"{table}.{name}"
    counts = "select path, lines_in, loaded, skipped, quarantined, dialect, status from ops.files order by all"
    assert private.execute(counts).fetchall() == plain.execute(counts).fetchall()
    users = {name for (name,) in private.execute("select distinct user_name from raw.sacct").fetchall()}
    assert all(name.startswith("user-") or name in ("root", "slurm") for name in users)


def test_nothing_is_stored_without_the_key(tmp_path: Path) -> None:
    folder = write_planted(tmp_path).parent
    con = connect()
    with pytest.raises(PermissionError, match="the key for it was not given"):
        load(folder, con, READERS)
    assert con.execute("select count(*) from raw.sacct").fetchall() == [(0,)]


def test_refusals_of_such_a_cluster_quote_nothing(tmp_path: Path) -> None:
    found = survey(write_planted(tmp_path).parent, READERS)
    assert [str(refused.error) for refused in found.refused if "refused" in refused.file.path]
    assert all(names_in(str(refused.error)) == [] for refused in found.refused)
