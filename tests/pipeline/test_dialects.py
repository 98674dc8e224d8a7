"""The same jobs exported in other forms give the same attempts, each with its own cluster in one refresh."""

import json
import shutil
from pathlib import Path

import duckdb
import pytest

from orchestration.home import Home
from tests.conftest import CAPTURE, refresh

FIXTURES = Path(__file__).parents[1] / "fixtures"
FORMS = {"epoch": "sacct_lean_epoch.psv", "lean": "sacct_lean.psv", "unconverted": "sacct_lean_noconvert_X.psv"}
COLUMNS = json.loads((FIXTURES / "contract.json").read_text())["marts.fct_attempts"]


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    home = Home.at(tmp_path_factory.mktemp("dialects"))
    for cluster, name in FORMS.items():
        shutil.copytree(CAPTURE, home.sources / cluster)
        shutil.rmtree(home.sources / cluster / "sacct")
        (home.sources / cluster / "sacct").mkdir()
        shutil.copy(FIXTURES / "slurm-22.05" / name, home.sources / cluster / "sacct")
    refresh(home)
    return home.published_file


def attempts(path: Path, cluster: str) -> list[tuple]:
    """The public columns of a cluster's attempts, ids without the cluster's name."""
    plain = [
        f"replace({name}, '{cluster}:', '') as {name}" if name in ("attempt_id", "run_id", "incident_id") else name
        for name in COLUMNS
        if name != "cluster_id"
    ]
    sql = f"select {', '.join(plain)} from marts.fct_attempts where cluster_id = '{cluster}' order by attempt_id"
    with duckdb.connect(str(path), read_only=True) as con:
        return con.execute(sql).fetchall()


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_attempts(form, published, built_warehouse):
    expected = attempts(built_warehouse, "testbed")
    assert len(expected) == 102
    assert attempts(published, form) == expected
