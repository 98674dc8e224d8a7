"""A run's configuration cannot set a program, a path or a setting: the code binds them to the home."""

import dagster as dg
import pytest

from orchestration.definitions import build
from orchestration.settings.environment import HomeSettings
from orchestration.settings.home import Home


@pytest.fixture(scope="module")
def definitions(tmp_path_factory):
    return build(HomeSettings(Home.at(tmp_path_factory.mktemp("home"))))


@pytest.fixture(scope="module", params=["refresh", "any selection of assets"])
def job(definitions, request):
    if request.param == "refresh":
        return definitions.resolve_job_def(request.param)
    return definitions.resolve_implicit_global_asset_job_def()


HOSTILE = {
    "a program for dbt": {"resources": {"dbt": {"config": {"dbt_executable": "/tmp/evil"}}}},
    "a setting of DuckDB": {"resources": {"warehouse": {"config": {"memory_limit": "1TB'; install x; --"}}}},
    "modules to preload": {
        "execution": {"config": {"multiprocess": {"start_method": {"forkserver": {"preload_modules": ["evil"]}}}}}
    },
    "an executor's setting": {"execution": {"config": {"retries": {"disabled": {}}}}},
    "a logger": {"loggers": {"json": {"config": {}}}},
    "a setting of the assets of dbt": {"ops": {"dbt_models": {"config": {"full_refresh": True}}}},
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_run_that_names_something_is_refused(job, what):
    dg.validate_run_config(job, {})
    with pytest.raises(dg.DagsterInvalidConfigError):
        dg.validate_run_config(job, HOSTILE[what])


def test_every_resource_and_the_executor_take_nothing(job):
    fields = job.run_config_schema.config_type.fields
    taken = {
        name: dict(resource.config_type.fields["config"].config_type.fields)
        for name, resource in fields["resources"].config_type.fields.items()
    }
    assert set(taken) == {"warehouse", "sources", "report", "dbt", "io_manager"}
    assert not any(taken.values())
    assert not fields["execution"].config_type.fields["config"].config_type.fields
