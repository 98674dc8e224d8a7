"""The page on tables says what the code says, of every table, and its keys tell rows apart."""

import re

import pytest

from orchestration.publication.ddl import declared_tables
from orchestration.read_commands.catalogue import definitions
from orchestration.settings.home import PROJECT
from tests.docs.writers.tables_page import OWNERS, page

PAGE = PROJECT / "docs" / "tables.md"
WRITTEN = PAGE.read_text(encoding="utf-8")


def test_the_page_is_what_the_code_says():
    assert page() == WRITTEN, "run `make tables`"


def test_every_table_for_readers_is_on_it():
    described = set(re.findall(r"^### (\w+)$", WRITTEN, re.MULTILINE))
    assert described == {
        name.split(".")[1] for name in definitions() if name.split(".")[0] in {"marts", "estimates", "ops"}
    }


def test_the_picture_draws_named_keys_and_declared_ones():
    picture = WRITTEN.split("```mermaid\n")[1].split("```")[0].splitlines()
    assert "    fct_failures -->|incident_id| fct_incidents" in picture
    assert "    fct_failures -->|culprit_node_id| dim_nodes" in picture
    assert "    fct_preemptions -->|attempt_id, instigator_attempt_id| fct_attempts" in picture
    assert not [line for line in picture if "cluster_id" in line or "agg_" in line]


@pytest.mark.parametrize("table", [name for name in declared_tables() if name.startswith("ops.")])
def test_every_table_of_ops_is_explained(table):
    declared = declared_tables()[table]
    assert re.match(r"One row per \w", declared.description)
    assert all(meaning.endswith(".") for _, meaning in declared.columns.values())


@pytest.mark.parametrize(("column", "table"), OWNERS.items())
def test_a_key_tells_rows_apart(con, column, table):
    key = "cluster_id, node_id" if column == "node_id" else column
    ((rows, keys),) = con.execute(f"select count(*), count(distinct ({key})) from marts.{table}").fetchall()
    assert rows == keys > 0
