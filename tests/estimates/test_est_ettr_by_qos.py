"""Measured ETTR of long runs by QOS and size."""

import pytest

from assets.estimates.est_ettr_by_qos import est_ettr_by_qos


def test_one_qos_is_the_size_as_a_whole(rows):
    for whole in rows("est_ettr_by_size"):
        [own] = rows("est_ettr_by_qos", cluster_id=whole["cluster_id"], gpu_size_bin=whole["gpu_size_bin"])
        assert own["qos"] == "normal"
        shared = set(own) & set(whole) - {"note"}
        assert {name: own[name] for name in shared} == {name: whole[name] for name in shared}


def test_runs_of_another_qos_stand_apart(redo):
    """0.98 and 0.93 stay, 0.94 moves; a QOS that no export names is a word, not a gap."""
    rows = redo(
        est_ettr_by_qos,
        "update marts.fct_job_runs set qos = 'high' where cluster_id = 'large' and run_id = 'r2'",
        "update marts.fct_job_runs set qos = null where cluster_id = 'quiet'",
    )
    found = {row["qos"]: row for row in rows("est_ettr_by_qos", cluster_id="large", gpu_size_bin=256)}
    assert {qos: (row["run_count"], row["event_count"]) for qos, row in found.items()} == {
        "high": (1, 1), "normal": (2, 0),
    }  # fmt: skip
    assert found["normal"]["ettr_measured"] == pytest.approx(0.955)
    assert found["high"]["ettr_measured"] == 0.94
    assert (found["high"]["ettr_measured_low"], found["high"]["note"]) == (None, "a single run: no limits")
    assert {row["qos"] for row in rows("est_ettr_by_qos", cluster_id="quiet")} == {"unknown"}
