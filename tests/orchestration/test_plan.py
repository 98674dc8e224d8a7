"""`faultline plan`: golden values, and the measured rate with its uncertainty."""

import duckdb
import pytest

from assets.estimates.est_checkpoint_plans import est_checkpoint_plans
from assets.estimates.est_mttf_projections import est_mttf_projections
from assets.model.month_variation import month_variation
from assets.warehouse import Warehouse
from orchestration.read_commands.published import published
from orchestration.read_commands.run_to_plan import minutes_of
from tests.estimates.five_clusters import read

KEYS = {
    "gpu_count", "node_count", "failures_per_1000_node_days", "mttf_hours", "mttf_hours_low", "mttf_hours_high",
    "expected_interruptions", "expected_interruptions_low", "expected_interruptions_high", "checkpoint_minutes_young",
    "checkpoint_minutes_daly", "checkpoint_minutes_optimal", "ettr_expected_young", "ettr_expected_exact",
    "ettr_optimal", "probability_ettr_ge_target",
}  # fmt: skip


class TestGolden:
    @pytest.mark.parametrize(("gpus", "hours"), [(16_384, 1.803), (131_072, 0.2254), (1024, 28.85), (8, 24 * 153.8)])
    def test_mttf(self, answer, gpus, hours):
        assert answer("--gpus", gpus, "--rate", 6.5)["mttf_hours"] == pytest.approx(hours, rel=5e-4)

    def test_12000_gpus_with_youngs_interval(self, answer):
        found = answer("--gpus", 12_000, "--rate", 6.5)
        assert found["checkpoint_minutes_young"] == pytest.approx(38.4, abs=0.05)
        assert found["ettr_expected_young"] == pytest.approx(0.740, abs=1e-3)
        assert found["ettr_expected_exact"] == pytest.approx(0.736, abs=1e-3)
        assert found["checkpoint_minutes"] == found["checkpoint_minutes_young"]
        assert answer("--gpus", 12_000, "--rate", 0.96)["ettr_expected_young"] == pytest.approx(0.900, abs=1e-3)
        fast = answer("--gpus", 12_000, "--rate", 6.5, "--write", "10s")
        assert fast["checkpoint_minutes_young"] == pytest.approx(7.02, abs=0.005)
        assert fast["ettr_expected_young"] == pytest.approx(0.921, abs=1e-3)

    @pytest.mark.parametrize(
        ("gpus", "options", "published", "exact"),
        [
            (16_000, ["--checkpoint", "60m"], 0.684, 0.720),
            (16_000, [], 0.684, 0.720),
            (16_000, ["--checkpoint", "5m"], 0.932, 0.9345),
            (8_000, ["--checkpoint", "30m", "--queue", "1m"], 0.9056, 0.909),
        ],
    )
    def test_a_given_interval_and_an_hour_where_writes_are_free(self, answer, gpus, options, published, exact):
        found = answer("--gpus", gpus, "--rate", 6.5, "--write", "0m", *options)
        assert found["ettr_expected"] == pytest.approx(published, abs=1e-3)
        assert found["ettr_expected_exact"] == pytest.approx(exact, abs=1e-3)

    @pytest.mark.parametrize(
        ("gpus", "rsc1", "rsc2"),
        [(256, 0.962, 0.977), (512, 0.946, 0.968), (1024, 0.924, 0.954), (2048, 0.893, 0.936), (4096, 0.848, 0.909),
         (8192, 0.785, 0.871), (12_000, 0.740, 0.844), (16_384, 0.696, 0.818)],
    )  # fmt: skip
    def test_the_curve_with_five_minute_writes(self, answer, gpus, rsc1, rsc2):
        for rate, ettr in ((6.5, rsc1), (2.34, rsc2)):
            found = answer("--gpus", gpus, "--rate", rate)
            assert found["ettr_expected_young"] == pytest.approx(ettr, abs=1e-3)


class TestRate:
    @pytest.mark.parametrize("rate", [("--rate", 6.5), ("--cluster", "large"), ("--cluster", "quiet")])
    def test_the_keys_that_programs_rely_on(self, answer, rate):
        assert set(answer("--gpus", 64, *rate)) >= KEYS

    def test_a_given_rate_is_per_1000_node_days_and_taken_as_known(self, answer):
        found = answer("--gpus", 16_384, "--rate", 6.5)
        assert (found["node_count"], found["rate_source"], found["cluster_id"]) == (2048, "given", None)
        assert found["mttf_hours_low"] == found["mttf_hours"] == found["mttf_hours_high"]
        assert found["expected_interruptions"] == pytest.approx(0.0065 * 2048 * 30)
        # Poisson with mean 399.36, by scipy.
        assert [found["expected_interruptions_low"], found["expected_interruptions_high"]] == [367, 433]

    def test_a_measured_rate_carries_its_limits(self, answer):
        """Two failures of one incident in 800 node-days; 1,024 GPUs are 128 nodes."""
        found = answer("--gpus", 1024, "--cluster", "large")
        stated = {
            "failures_per_1000_node_days": 2.5, "event_count": 2, "exposure_node_days": 800,
            "population": "gpus_gt_128",
            "counted_as": "attempts", "method": "garwood_dispersed", "rate_basis": "whole_node_attempts",
        }  # fmt: skip
        assert {name: found[name] for name in stated} == stated
        assert found["mttf_hours"] == 75.0
        assert found["mttf_hours_low"] == pytest.approx(24 / (128 * 2 * 4.7439 / 800), rel=1e-4)
        assert found["mttf_hours_high"] == pytest.approx(24 / (128 * 2 * 0.051293 / 800), rel=1e-3)
        assert [found["expected_interruptions_low"], found["expected_interruptions_high"]] == [0, 43]
        assert found["ettr_optimal_low"] < found["ettr_optimal"] < found["ettr_optimal_high"]
        assert 0.8 < found["probability_ettr_ge_target"] < 0.95, "at 2.5 taken as known it would be certain"
        assert found["failures_per_1000_node_days_incidents"] == 1.25

    def test_it_allows_for_months_that_differ_as_the_published_tables_do(self, answer, own_home):
        """No failure was seen: the usual variation, twice its square in 30 days."""
        found = answer("--gpus", 1024, "--cluster", "large")
        usual = month_variation([], []).relative_variance
        assert found["month_cv"] == pytest.approx(usual**0.5)
        shape = 1 / (1 / 1.5 + 2 * usual)
        assert found["probability_uninterrupted"] == pytest.approx((shape / (shape + 14.4)) ** shape)
        warehouse = Warehouse(path=str(own_home.published_file))
        with warehouse.writing() as con:
            con.execute("""
                create or replace table estimates.est_forecast_scores as
                from (values ('large', date '2026-01-01', 2.0, 400.0), ('large', date '2026-02-01', 0.0, 400.0))
                    as months (cluster_id, month_date, month_failure_count, month_node_days)
            """)
        est_mttf_projections(warehouse=warehouse)
        found = answer("--gpus", 1024, "--cluster", "large", root=own_home.root)
        relative_variance = month_variation([2.0, 0.0], [400.0, 400.0], dispersion=2.0).relative_variance
        assert found["month_cv"] == pytest.approx(relative_variance**0.5)
        with published(own_home.published_file) as con:
            limits = con.execute(
                "select failures_30d_low, failures_30d_high from estimates.est_mttf_projections "
                "where cluster_id = 'large' and gpu_count = 1024"
            ).fetchone()
        assert (found["expected_interruptions_low"], found["expected_interruptions_high"]) == limits
        shape = 1 / (1 / 1.5 + relative_variance * (1 / 2 + 1 / 3))
        season = answer("--gpus", 1024, "--cluster", "large", "--days", 90, root=own_home.root)
        assert season["probability_uninterrupted"] == pytest.approx((shape / (shape + 3 * 14.4)) ** shape)
        assert answer("--gpus", 1024, "--rate", 2.5)["month_cv"] is None

    def test_it_says_what_the_published_table_says(self, answer, own_home):
        warehouse = Warehouse(path=str(own_home.published_file))
        est_checkpoint_plans(warehouse=warehouse)
        (row,) = read(warehouse, "est_checkpoint_plans", cluster_id="large", gpu_count=1024)
        asked = ("--gpus", 1024, "--cluster", "large", "--restart", f"{row['restart_minutes']}m")
        found = answer(*asked, "--write", f"{row['write_minutes']}m", root=own_home.root)
        of_both = found.keys() & row.keys() - {"method", "note", "confidence_level"}
        assert {"probability_ettr_ge_target", "ettr_run_low", "expected_interruptions_high"} < of_both
        for name in of_both:
            assert found[name] == pytest.approx(row[name]) if isinstance(row[name], float) else row[name], name

    def test_the_clusters_own_gpus_per_node(self, answer):
        assert answer("--gpus", 64, "--cluster", "small")["node_count"] == 16
        assert answer("--gpus", 64, "--cluster", "small", "--gpus-per-node", 8)["node_count"] == 8
        assert answer("--gpus", 65, "--rate", 6.5)["node_count"] == 9
        assert answer("--gpus", 65, "--rate", 6.5, "--gpus-per-node", 4)["node_count"] == 17

    def test_a_run_on_the_whole_cluster_has_all_its_nodes(self, answer, own_home):
        with duckdb.connect(str(own_home.published_file)) as con:
            con.execute("update marts.dim_clusters set gpu_node_count = 300 where cluster_id = 'large'")
        whole = ("--gpus", 2000, "--cluster", "large")
        assert answer(*whole, root=own_home.root)["node_count"] == 300
        assert answer(*whole, "--gpus-per-node", 8, root=own_home.root)["node_count"] == 250

    def test_without_failures_there_are_bounds_only(self, answer, run):
        found = answer("--gpus", 1024, "--cluster", "quiet")
        values = ("mttf_hours", "mttf_hours_high", "expected_interruptions", "checkpoint_minutes_young", "ettr_optimal",
                  "probability_ettr_ge_target")  # fmt: skip
        assert {found[name] for name in values} == {None}
        assert found["mttf_hours_low"] == pytest.approx(24 / (128 * 2.9957 / 105), rel=1e-4)
        text = run("--gpus", 1024, "--cluster", "quiet").stdout
        assert "nan" not in text and "None" not in text


class TestRun:
    def test_own_checkpoints_are_judged_beside_the_best(self, answer):
        found = answer("--gpus", 4096, "--rate", 6.5, "--target", 0.85, "--write", "1m", "--checkpoint", "3h")
        assert found["checkpoint_minutes"] == 180
        assert found["ettr_expected_exact"] < found["ettr_optimal"]
        assert found["probability_ettr_ge_target"] > 0.99
        assert found["probability_ettr_ge_target_at_checkpoint"] < 0.01

    @pytest.mark.parametrize(
        ("text", "minutes"),
        [("5m", 5), ("30s", 0.5), ("1h", 60), ("1h30m", 90), ("1.5h", 90), ("0", 0), ("0m", 0),
         ("5 min", 5), ("1d", 1440)],
    )  # fmt: skip
    def test_durations(self, text, minutes):
        assert minutes_of(text) == pytest.approx(minutes)

    @pytest.mark.parametrize("text", ["5", "0.5", "", "m", "soon", "-5m", "nan", "inf", "5m later", "5m5", "'; drop"])
    def test_what_is_no_duration_is_refused(self, text):
        with pytest.raises(ValueError, match="is no duration; write 30s, 5m or 1h"):
            minutes_of(text)
