"""The data test that every cluster is in the dimension lists its tables. No table with a cluster may be missing."""

import re

import yaml

from orchestration.settings.home import DBT_PROJECT

DIMENSION = "dim_clusters"
KNOWN_BY_THEIR_NODES = {"fct_attempt_nodes"}
"""dim_nodes has their clusters and nodes, and the clusters of dim_nodes are tested."""
VIEWS_OF_ATTEMPTS = {"fct_attempt_exposures", "fct_job_runs"}
"""The test would compute them again, to find the clusters of fct_attempts."""


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
