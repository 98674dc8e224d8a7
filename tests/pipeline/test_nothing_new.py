"""Where nothing is new a run of all assets ends at once, as a success, and changes nothing; a run of some is made."""

import logging
import shutil

import dagster as dg
import duckdb
import pytest

from orchestration.definitions import build
from orchestration.environment import HomeSettings
from orchestration.home import Home
from orchestration.instance import open_storage, prepare_storage
from orchestration.skipped_runs import FULL, HAS_NEWS, HomeSources, reason_without_news

SOME = dg.AssetKey(["estimates", "est_failure_rates"])


@pytest.fixture(scope="module")
def home(testbed_home, tmp_path_factory):
    root = tmp_path_factory.mktemp("own") / "home"
    shutil.copytree(testbed_home.root, root, symlinks=True)
    return Home.at(root)


@pytest.fixture(scope="module")
def settings(home):
    return HomeSettings(home)


@pytest.fixture(scope="module")
def definitions(settings):
    return build(settings)


@pytest.fixture
def instance(home):
    logging.getLogger("dagster").setLevel(logging.CRITICAL)
    prepare_storage(home)
    with open_storage(home) as instance:
        yield instance


def keys_of(definitions):
    return definitions.resolve_asset_graph().materializable_asset_keys


def runs(home):
    with duckdb.connect(str(home.working_file), read_only=True) as con:
        return con.execute("select run_id, status from ops.runs order by all").fetchall()


def materialized(result):
    return [event.asset_key for event in result.get_asset_materialization_events()]


@pytest.mark.parametrize("how", ["the job", "materialize all"])
def test_nothing_is_built(home, definitions, instance, how):
    before, seen = runs(home), home.published_file.resolve()
    if how == "the job":
        result = definitions.resolve_job_def("refresh").execute_in_process(instance=instance)
    else:
        job = definitions.resolve_implicit_global_asset_job_def()
        result = job.execute_in_process(instance=instance, asset_selection=list(keys_of(definitions)))
    assert result.success
    assert materialized(result) == []
    assert [event.step_key for event in result.all_events if event.event_type_value == "STEP_START"] == ["raw"]
    assert runs(home) == before
    assert home.published_file.resolve() == seen
    messages = [record.user_message for record in instance.all_logs(result.run_id)]
    assert [text for text in messages if text.startswith("nothing is new: the last publication of ")]


def test_chosen_assets_are_built(definitions, instance):
    job = definitions.resolve_implicit_global_asset_job_def()
    assert materialized(job.execute_in_process(instance=instance, asset_selection=[SOME])) == [SOME]


def run_of(home, **arguments):
    return dg.DagsterRun(job_name="refresh", run_id="none", **arguments)


def reason(settings, definitions, run, **changes):
    return HomeSources.of(settings, keys_of(definitions), run.tags).reason_to_skip(run)


def test_a_forced_run_one_of_some_and_one_with_news_are_not_skipped(home, settings, definitions):
    for run in (run_of(home), run_of(home, asset_selection=set()), run_of(home, asset_selection=keys_of(definitions))):
        assert reason(settings, definitions, run) is not None
    for run in (
        run_of(home, tags={FULL: "true"}),
        run_of(home, tags={HAS_NEWS: "true"}),
        run_of(home, asset_selection=keys_of(definitions) - {SOME}),
        run_of(home, tags={"dagster/step_selection": "raw"}),
    ):
        assert reason(settings, definitions, run) is None
    assert HomeSources.of(settings, (), {FULL: "true"}).full
    assert not HomeSources.of(settings, (), {FULL: "false"}).full
    assert HomeSources.of(HomeSettings(home, is_full=True), (), {}).full
    assert definitions.resolve_job_def("full_refresh").tags[FULL] == "true"


def test_a_home_that_lacks_what_a_refresh_builds_on_is_built(home, settings, definitions, tmp_path):
    file = home.publication.rename(tmp_path / "aside")
    assert reason(settings, definitions, run_of(home)) is None
    file.rename(home.publication)
    assert reason(settings, definitions, run_of(home)) is not None
    file = home.working_file.rename(tmp_path / "aside")
    assert reason(settings, definitions, run_of(home)) is None
    file.rename(home.working_file)


def test_a_new_line_is_news(home):
    assert reason_without_news(home) is not None
    (home.sources / "testbed" / "cluster.toml").write_text('timezone = "UTC"\n# changed\n')
    assert reason_without_news(home) is None
