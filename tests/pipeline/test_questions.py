"""The page of questions: each has one query over at most two tables, and an answer."""

import pytest
import sqlglot
from sqlglot import exp

from orchestration.home import PROJECT
from orchestration.read_commands.pages import ready_questions
from orchestration.read_commands.published import published
from orchestration.read_commands.query import ask

PAGE = (PROJECT / "docs" / "questions.md").read_text(encoding="utf-8")
QUESTIONS = list(ready_questions().items())


@pytest.fixture(scope="module")
def home_of_questions(many_clusters):
    """The published file that is asked: with preemptions, requeues and checks that repeat the kernel's log."""
    with published(many_clusters) as con:
        yield con


def test_there_are_fifteen():
    assert len(QUESTIONS) == PAGE.count("\n## ") == PAGE.count("```sql") == 15


@pytest.mark.parametrize(("question", "sql"), QUESTIONS, ids=[question for question, _ in QUESTIONS])
def test_a_question_has_an_answer(home_of_questions, question, sql):
    (statement,) = sqlglot.parse(sql, dialect="duckdb")
    assert isinstance(statement, exp.Select)
    assert len(list(statement.find_all(exp.Select))) == 1
    assert len(list(statement.find_all(exp.Table))) <= 2
    assert ask(home_of_questions, sql).fetchall()
