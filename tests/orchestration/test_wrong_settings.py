"""All mistakes in `cluster.toml` are reported at once, and one cluster's mistakes concern only that cluster."""

import json
import subprocess
import sys

import pytest

from orchestration.refresh.wrong_settings import tell_wrong_settings
from orchestration.settings.home import Home

WRONG = 'timezon = "UTC"\ngpus_per_node = "x"\n'
COMMAND = """
import json, resource, sys
sys.argv = ["faultline", "refresh", "--home", sys.argv[1]]
from orchestration.cli import main
try:
    main()
except SystemExit as end:
    used = resource.getrusage(resource.RUSAGE_SELF)
    heavy = sorted({"dagster", "dbt", "great_expectations", "pandas", "pyarrow"} & sys.modules.keys())
    print(json.dumps({"status": end.code, "seconds": used.ru_utime + used.ru_stime, "heavy": heavy}))
"""


@pytest.fixture
def home(tmp_path):
    home = Home.at(tmp_path)
    for cluster in ("alpha", "beta"):
        (home.sources / cluster / "sacct").mkdir(parents=True)
    return home


def spoil(home, *clusters, text=WRONG):
    for cluster in clusters:
        (home.sources / cluster / "cluster.toml").write_text(text)


def test_all_mistakes_of_all_clusters_end_a_refresh_before_anything_heavy_is_loaded(home):
    spoil(home, "alpha", "beta")
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, str(home.root)], capture_output=True, text=True, check=True, cwd=home.root
    )
    found = json.loads(done.stdout)
    assert (found["status"], found["heavy"]) == (1, [])
    assert found["seconds"] < 2
    for cluster in ("alpha", "beta"):
        assert f"{cluster}/cluster.toml: unknown key 'timezon'. Allowed there: accelerators" in done.stderr
        assert f"{cluster}/cluster.toml: key 'gpus_per_node' has the bad value 'x'" in done.stderr
    assert not home.work.exists()


@pytest.mark.parametrize(
    ("of_alpha", "of_beta", "named"),
    [
        (WRONG, None, ["alpha", "alpha", "alpha"]),
        ("gpus_per_node = 4\n", None, []),
        # A pattern is judged by the engine that applies it.
        ("[topology]\nrack = '(r[0-9]+)\\z'\n", "[topology]\nrack = '(r[0-9]+)(?=-)'\n", ["beta", "beta"]),
    ],
)
def test_the_mistakes_of_one_cluster_are_told_and_stop_no_other(home, of_alpha, of_beta, named):
    spoil(home, "alpha", text=of_alpha)
    if of_beta:
        spoil(home, "beta", text=of_beta)
    lines = []
    assert tell_wrong_settings(home, lines.append) is None
    assert [next(name for name in ("alpha", "beta") if name in line) for line in lines] == named
