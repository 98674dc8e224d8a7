"""Raw check logs are what they are meant to be: nearly all good, the same for both readers."""

import duckdb
import pytest

from tests.benchmarks import checks

LINES = 40_000


@pytest.mark.parametrize("compressed", [False, True])
def test_both_readers_see_the_same_bad_results(tmp_path, compressed):
    sources = checks.write(tmp_path / "sources", LINES, compressed)
    checks.scan(sources, tmp_path / "scan.duckdb")
    checks.read(sources, tmp_path / "faultline.duckdb")
    with duckdb.connect(str(tmp_path / "scan.duckdb")) as con:
        bad = con.execute("select count(*) from bad").fetchall()[0][0]
    with duckdb.connect(str(tmp_path / "faultline.duckdb")) as con:
        accounted = con.execute("select lines_in, quarantined from ops.files where kind = 'health'").fetchall()
        begun = con.execute(
            "select count(distinct (node_id, check_name)) from raw.health_checks where result = 'CRITICAL'"
        )
        nodes = begun.fetchall()[0][0]
    assert accounted == [(LINES, 0)]
    assert 0 < nodes <= bad < LINES / 100
