"""The same jobs exported in other forms give the same attempts, each with its own cluster in one refresh."""

import json
from pathlib import Path

import pytest

from tests.conftest import FIXTURES, FORMS
from tests.homes import ask

COLUMNS = json.loads((FIXTURES / "contract.json").read_text())["marts.fct_attempts"]


def attempts(path: Path, cluster: str) -> list[tuple]:
    """The public columns of a cluster's attempts, ids without the cluster's name."""
    plain = [
        f"replace({name}, '{cluster}:', '') as {name}" if name in ("attempt_id", "run_id", "incident_id") else name
        for name in COLUMNS
        if name != "cluster_id"
    ]
    sql = f"select {', '.join(plain)} from marts.fct_attempts where cluster_id = '{cluster}' order by attempt_id"
    return ask(path, sql)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_attempts(form, many_clusters):
    expected = attempts(many_clusters, "testbed")
    assert len(expected) == 102
    assert attempts(many_clusters, form) == expected
