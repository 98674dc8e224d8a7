"""The data test that every cluster is in the dimension names its tables itself: none with a cluster may be missing."""

import re

import yaml

from orchestration.settings.home import DBT_PROJECT

DIMENSION = "dim_clusters"
KNOWN_BY_THEIR_NODES = {"fct_attempt_nodes"}
"""Their cluster and node are looked up in dim_nodes, whose clusters are tested."""
VIEWS_OF_ATTEMPTS = {"fct_attempt_exposures", "fct_job_runs"}
"""They would be worked out once more, to find the clusters of fct_attempts."""


def test_every_mart_with_a_cluster_is_in_the_test():
    sql = (DBT_PROJECT / "data_tests" / "assert_every_cluster_is_in_the_dimension.sql").read_text(encoding="utf-8")
    named = re.findall(r"^    '(\w+)',$", sql, re.MULTILINE)
    described = [
        model
        for path in (DBT_PROJECT / "models" / "marts").glob("*.yml")
        for model in yaml.safe_load(path.read_text(encoding="utf-8")).get("models", [])
    ]
    with_cluster = {
        model["name"] for model in described if any(column["name"] == "cluster_id" for column in model["columns"])
    }
    assert named == sorted(with_cluster - {DIMENSION} - KNOWN_BY_THEIR_NODES - VIEWS_OF_ATTEMPTS)
