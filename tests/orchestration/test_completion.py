"""Tab in the shell completes clusters, tables and profiles, from what is published, quickly and silently."""

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


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        *((f"{command} al", ["albert", "alpha", "alto"])
          for command in ("lemons --cluster", "plan --gpus 8 --cluster", "refresh --forget", "pull")),
        ("lemons --home /none --cluster a", []),
        ("tables agg_unmapped", ["agg_unmapped_signals"]),
        ("tables marts.agg_unmapped", ["marts.agg_unmapped_signals"]),
        ("explain agg_unmapped", ["agg_unmapped_signals"]),
        ("simulate ", profile_names()),
    ],
)  # fmt: skip
def test_published_clusters_those_with_logs_tables_and_profiles_are_offered(home, line, offered):
    assert complete(f"faultline {line}") == offered
