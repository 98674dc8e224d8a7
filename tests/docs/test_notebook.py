"""The notebook: its answers equal those of plain SQL, NULL is unknown, and a cell that fails ends the script."""

import importlib.util
import math
import subprocess
import sys
from types import SimpleNamespace

import pytest
import vl_convert

from orchestration.settings.home import PROJECT
from tests.homes import ask

NOTEBOOK = PROJECT / "docs" / "notebook.py"
QUESTIONS = ("What is published", "Which failures", "How long", "Which nodes", "What does a run", "How many", "What do")
SIMULATED = "select min(cluster_id) from marts.dim_clusters where is_simulated"
PROJECTION = """
    select gpu_count, node_count, mttf_hours, mttf_hours_low, mttf_hours_high
    from estimates.est_mttf_projections
    where cluster_id = $cluster and is_cluster_size
"""


def script(notebook, home, *arguments):
    command = [sys.executable, notebook, "--", "--home", home.root, *arguments]
    return subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def cluster(many_clusters):
    return ask(many_clusters, SIMULATED)[0][0]


@pytest.fixture(scope="module")
def projection(many_clusters, cluster):
    return ask(many_clusters, PROJECTION, {"cluster": cluster})[0]


@pytest.fixture(scope="module")
def run(many_clusters_home):
    """Run the notebook and return the definitions of its cells."""
    spec = importlib.util.spec_from_file_location("notebook", NOTEBOOK)
    notebook = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(notebook)

    def cells(**arguments):
        words = [f"--{name}={value}" for name, value in {"home": many_clusters_home.root, **arguments}.items()]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "argv", [str(NOTEBOOK), *words])
            defined = notebook.app.run()[1]
        defined["con"].close()
        return SimpleNamespace(**defined)

    return cells


def columns(frame, *names):
    """Return the rows of a frame as SQL returns them: unknown is None."""
    rows = frame[list(names)].itertuples(index=False, name=None)
    return [tuple(None if value != value else value for value in row) for row in rows]


def test_a_script_answers_every_question_and_says_what_is_simulated(many_clusters_home, cluster, projection):
    done = script(NOTEBOOK, many_clusters_home, "--cluster", cluster, "--gpus", projection[0])
    assert done.returncode == 0, done.stderr
    answers = [line for line in done.stdout.splitlines() if line.startswith(QUESTIONS) and line.endswith("?")]
    assert len(answers) == len(QUESTIONS)
    assert all(f"{cluster} (simulated)" in line for line in answers[1:])
    (of_the_run,) = [line.split() for line in done.stdout.splitlines() if line.strip().startswith(f"{projection[0]} ")]
    assert float(of_the_run[2]) == pytest.approx(projection[2], rel=1e-3)


def test_the_answers_are_those_of_sql(many_clusters, run, cluster, projection):
    cells = run(cluster=cluster, gpus=projection[0])

    def rows(statement):
        return ask(many_clusters, statement, {"cluster": cluster})

    limits = "failures_per_gpu_hour{0} * 1e6 from estimates.est_cause_rates where cluster_id = $cluster"
    for end in ("", "_low", "_high"):
        expected = rows(f"select {limits.format(end)} and counted_as = 'attempts'")
        assert sorted(columns(cells.causes, f"rate{end}"), key=str) == sorted(expected, key=str)
    mttf = "select mttf_hours, mttf_hours_low, mttf_hours_high from estimates.est_mttf_by_size"
    assert columns(cells.mttf, "hours", "hours_low", "hours_high") == rows(
        f"{mttf} where cluster_id = $cluster order by gpu_size_bin"
    )
    nodes = "select node_id, verdict, rate from estimates.est_lemon_nodes where cluster_id = $cluster and rank <= 12"
    assert columns(cells.lemons, "node", "verdict", "rate") == rows(f"{nodes} order by rank")
    found = columns(cells.run, "gpus", "nodes", "hours", "hours_low", "hours_high")
    assert found == [pytest.approx(projection)]
    assert columns(cells.run, "chance_of_none") == [pytest.approx((math.exp(-30 * 24 / projection[2]),))]
    lost = "select expected_lost_gpu_hours from estimates.est_lost_gpu_hours where cluster_id = $cluster"
    assert sorted(columns(cells.lost, "gpu_hours")) == sorted(rows(f"{lost} and period = 'study'"))
    assert (
        cells.logs.not_understood.sum() == rows("select count(*) from ops.quarantine where cluster_id = $cluster")[0][0]
    )
    assert len(cells.covered) == rows("select count(*) from ops.spans where cluster_id = $cluster")[0][0]


def test_what_is_unknown_is_drawn_as_unknown_and_what_has_one_limit_as_a_triangle(run, cluster):
    def drawn(frame):
        chart = cells.intervals(frame, "size", "hours", "hours", log=True)
        svg = vl_convert.vegalite_to_svg(chart.to_json())
        return svg.count(">unknown<"), svg.count('aria-roledescription="point"')

    cells = run(cluster="testbed")
    assert cells.mttf.hours.isna().all() and cells.run.hours.isna().all() and cells.lost.gpu_hours.isna().all()
    assert drawn(cells.mttf) == (len(cells.mttf), 0)
    cells = run(cluster=cluster)
    assert cells.mttf.hours.isna().any() and not cells.mttf.hours_low.isna().any()
    assert drawn(cells.mttf) == (0, len(cells.mttf))
