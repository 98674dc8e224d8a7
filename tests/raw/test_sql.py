"""A quoted text or name stays unchanged, whatever it holds."""

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.sql import identifier, literal

TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))


@pytest.fixture(scope="module")
def con():
    with duckdb.connect() as con:
        yield con


@given(TEXTS)
def test_a_quoted_text_is_that_text(con, text):
    assert con.execute(f"select {literal(text)}").fetchall() == [(text,)]


@given(st.lists(TEXTS.filter(bool), min_size=1, max_size=1))
def test_a_quoted_name_is_that_name(con, names):
    con.execute(f"create or replace table t ({identifier(*names)} integer)")
    assert con.execute("select column_name from duckdb_columns() where table_name = 't'").fetchall() == [(names[0],)]


def test_the_parts_of_a_name_are_quoted_one_by_one():
    assert identifier("marts", 'x"; drop table t; --') == '"marts"."x""; drop table t; --"'
    assert literal("' or '1' = '1") == "''' or ''1'' = ''1'"
