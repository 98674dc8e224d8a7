"""The page of questions: each has one query over at most two tables. `tests/docs` asks them."""

import re

import pytest
import sqlglot
from sqlglot import exp

from orchestration.settings.home import PROJECT

PAGE = (PROJECT / "docs" / "questions.md").read_text(encoding="utf-8")
QUESTIONS = re.findall(r"^## \d+\. ([^\n]+)\n(?:(?!^## ).)*?^```sql\n(.*?)\n^```", PAGE, re.MULTILINE | re.DOTALL)


def test_there_are_fifteen():
    assert len(QUESTIONS) == PAGE.count("\n## ") == PAGE.count("```sql") == 15


@pytest.mark.parametrize(("question", "sql"), QUESTIONS, ids=[question for question, _ in QUESTIONS])
def test_a_question_is_one_query_over_at_most_two_tables(question, sql):
    (statement,) = sqlglot.parse(sql, dialect="duckdb")
    assert isinstance(statement, exp.Select)
    assert len(list(statement.find_all(exp.Select))) == 1
    assert len(list(statement.find_all(exp.Table))) <= 2
