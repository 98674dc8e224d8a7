"""Tab in the shell completes clusters, tables and profiles, from what is published, quickly and silently."""

import subprocess
import sys

import duckdb
import pytest
from typer.testing import CliRunner

from assets.simulation.clusters.reading import profile_names
from orchestration.cli import app
from orchestration.settings.home import Home


@pytest.fixture
def home(tmp_path, monkeypatch):
    home = Home.at(tmp_path)
    home.published_file.parent.mkdir(parents=True)
    with duckdb.connect(str(home.published_file)) as con:
        con.execute("create schema marts")
        con.execute("create table marts.dim_clusters as select unnest(['alpha', 'albert']) as cluster_id")
    (home.sources / "alto").mkdir(parents=True)
    (home.sources / "a b").mkdir()
    monkeypatch.setenv("FAULTLINE_HOME", str(tmp_path))
    return home


def complete(line):
    """What Tab offers at the end of a line, as bash asks for it."""
    words = line.split(" ")
    environment = {"_FAULTLINE_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    done = CliRunner().invoke(app, [], env=environment, prog_name="faultline")
    return done.stdout.split()


@pytest.mark.parametrize("command", ["lemons --cluster", "plan --gpus 8 --cluster", "refresh --forget", "pull"])
def test_clusters_are_the_published_ones_and_those_with_logs(home, command):
    assert complete(f"faultline {command} al") == ["albert", "alpha", "alto"]
    assert complete(f"faultline {command} alp") == ["alpha"]


def test_without_a_publication_nothing_is_offered_and_nothing_said(tmp_path):
    assert complete(f"faultline lemons --home {tmp_path} --cluster a") == []


def test_tables_complete_by_schema_and_by_their_own_name(home):
    assert "marts.fct_failures" in complete("faultline tables marts.fct_fail")
    assert complete("faultline tables agg_unmapped") == ["agg_unmapped_signals"]


def test_what_is_explained_completes_to_tables(home):
    assert complete("faultline explain agg_unmapped") == ["agg_unmapped_signals"]


def test_profiles_are_those_of_the_simulator(home):
    assert complete("faultline simulate ") == profile_names()


def test_completing_loads_nothing_heavy():
    code = (
        "import sys; from orchestration.cli import app; from orchestration.cli.completion import *; "
        "complete_profiles(''); complete_tables(''); "
        "print(sorted({'dagster', 'dbt', 'numpy', 'pandas', 'pyarrow'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
