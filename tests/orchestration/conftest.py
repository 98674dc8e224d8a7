"""A small warehouse, a published home of five clusters, and `faultline plan` run on it."""

import json
import shutil

import duckdb
import pytest

from assets.estimates.est_failure_rates import est_failure_rates
from assets.estimates.est_mttf_by_size import est_mttf_by_size
from assets.estimates.est_mttf_projections import est_mttf_projections
from assets.estimates.est_scale_tests import est_scale_tests
from assets.warehouse import Warehouse
from orchestration.settings.home import Home
from tests.estimates.five_clusters import build
from tests.expectations import small_warehouse
from tests.homes import copy_of, faultline


@pytest.fixture(scope="session")
def small_file(tmp_path_factory):
    """The file of a small warehouse that breaks no rule; copy it, never change it."""
    path = tmp_path_factory.mktemp("small") / "faultline.duckdb"
    small_warehouse.build(path)
    return path


@pytest.fixture
def warehouse(small_file, tmp_path):
    """A small warehouse that breaks no rule."""
    return Warehouse(path=str(shutil.copy(small_file, tmp_path)))


@pytest.fixture(scope="session")
def home(tmp_path_factory):
    """The five clusters, published; `large` is simulated."""
    home = Home.at(tmp_path_factory.mktemp("plan"))
    warehouse = Warehouse(path=str(home.published_file))
    build(warehouse)
    with warehouse.writing() as con:
        con.execute("update marts.dim_clusters set is_simulated = cluster_id = 'large'")
    for asset in (est_failure_rates, est_mttf_by_size, est_mttf_projections, est_scale_tests):
        asset(warehouse=warehouse)
    return home


@pytest.fixture
def own_home(home, tmp_path):
    """A copy to change."""
    return copy_of(home, tmp_path)


@pytest.fixture(scope="session")
def small_home_to_copy(small_file, tmp_path_factory):
    """A home with a publication and the sources of its two clusters; copy it, never change it."""
    home = Home.at(tmp_path_factory.mktemp("small") / "home")
    for folder in (home.work, home.published_file.parent, home.sources / "alpha" / "sacct"):
        folder.mkdir(parents=True)
    (home.sources / "alpha" / "sacct" / "all.psv").write_text("JobID|State\n1|COMPLETED\n")
    (home.sources / "alpha" / "cluster.toml").write_text('timezone = "UTC"\n')
    shutil.copy(small_file, home.published_file)
    with duckdb.connect(str(home.published_file)) as con:
        con.execute("comment on table marts.fct_attempts is 'What Slurm recorded. One row per attempt. Times are UTC.'")
        con.execute("update ops.runs set status = 'succeeded', ended_at = timestamp '2026-01-03 00:01'")
        con.execute("insert into ops.published values ('run-1', timestamp '2026-01-03 00:01', 'h', '0.1.0+abc', '{}')")
    return home


@pytest.fixture
def small_home(small_home_to_copy, tmp_path):
    """A copy of the small home to change."""
    return copy_of(small_home_to_copy, tmp_path)


@pytest.fixture
def run(home):
    """Run the command."""
    return lambda *arguments, root=home.root: faultline(Home.at(root), "plan", *arguments)


@pytest.fixture
def answer(run):
    def answer(*arguments, **options):
        result = run(*arguments, "--json", **options)
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    return answer
