"""`faultline plan` for people: its lines, its refusals and their exit status."""

import pytest

from tests.homes import change


def said(result):
    """The message of a refusal, without the frame that wraps it."""
    return " ".join(result.stderr.replace("│", " ").split())


class TestText:
    def test_a_researcher_finds_the_answers_and_what_they_rest_on(self, run):
        text = run("--gpus", 1024, "--cluster", "large", "--checkpoint", "30m").stdout
        for words in (
            "1,024 GPUs on 128 nodes for 30 days, on large (a simulated cluster)",
            "restart 5 min, write 5 min, queue 0 min",
            "9.6 to expect; 0 to 43 in a single run (90%)",
            "is best (Young 3.54 h, Daly 3.48 h)",
            "with a checkpoint every 30 min",
            "0.9 is reached with probability",
            "2.50 failures per 1,000 node-days (0.128 to 11.9, 90%)",
            "2 failures in 800 node-days of jobs above 128 GPUs, each failed attempt counted",
            "months are taken to differ by 34%, which the limits of a single run allow for",
            "1.25 incidents per 1,000 node-days",
        ):
            assert words in text

    def test_a_rate_that_does_not_hold_for_this_size_says_so(self, run, answer, own_home):
        arguments = ("--gpus", 3, "--cluster", "small")
        assert not [note for note in answer(*arguments)["notes"] if "size" in note]
        change(
            own_home,
            "update estimates.est_scale_tests set verdict = 'falls' where cluster_id = 'small'",
            "update estimates.est_mttf_by_size set mttf_hours = 8, mttf_hours_low = 7, mttf_hours_high = 9, "
            "failure_count = 40 where cluster_id = 'small' and gpu_size_bin = 4",
            "update estimates.est_failure_rates set failure_count = 400, failure_variance = 400, node_days = 40000",
        )
        text = run(*arguments, root=own_home.root).stdout
        assert "jobs of this size lasted 8 hours between failures (7 to 9, k=40)" in text
        assert "the failure rate per node falls with the size of the job" in text
        assert answer(*arguments, root=own_home.root)["mttf_hours_measured_high"] == 9

    def test_how_far_the_evidence_reaches_is_said_beside_the_rate(self, run, answer, own_home):
        arguments = ("--gpus", 64, "--cluster", "large")
        words = "checks saw about 55% [40, 70] of what ended jobs: the true rate is likely above"
        change(
            own_home,
            "create or replace table estimates.est_evidence_reach as select 'large' as cluster_id, "
            "null::date as month_date, 0.55 as reach, 0.4 as low, 0.7 as high, $1 as statement, "
            "null::varchar as note",
            values=[words],
        )
        found = answer(*arguments, root=own_home.root)
        assert [found[f"evidence_reach{end}"] for end in ("", "_low", "_high")] == [0.55, 0.4, 0.7]
        assert found["evidence_note"] == words
        assert words in run(*arguments, root=own_home.root).stdout
        change(own_home, "update estimates.est_evidence_reach set statement = null, note = 'too few to tell'")
        assert answer(*arguments, root=own_home.root)["evidence_note"] is None, "silent, as the report is"

    def test_sizes_beyond_the_cluster_are_said(self, answer):
        notes = " ".join(answer("--gpus", 100_000, "--cluster", "large")["notes"])
        assert "larger than any job seen (1,024 GPUs)" in notes
        assert "larger than the cluster" in notes

    def test_reclaimed_machines_are_said_not_to_be_in_the_rate(self, answer, own_home):
        asked, words = ("--gpus", 64, "--cluster", "large"), "machines that the cloud could not give or took back"
        assert words not in " ".join(answer(*asked)["notes"])
        change(
            own_home,
            "create or replace table estimates.est_lost_gpu_hours as select 'large' as cluster_id, 'capacity' as loss",
        )
        assert words in " ".join(answer(*asked, root=own_home.root)["notes"])

    def test_a_stale_cluster_is_marked_with_the_time_and_the_reason(self, run, answer, own_home):
        asked = ("--gpus", 64, "--cluster", "small")
        assert answer(*asked)["is_stale"] is False and "stale" not in run(*asked).stdout
        change(
            own_home,
            "update marts.dim_clusters set is_stale = true, stale_reason = 'all.psv: empty', "
            "built_at = timestamp '2026-04-20 02:10' where cluster_id = 'small'",
        )
        text = " ".join(run(*asked, root=own_home.root).stdout.split())
        assert "stale, as of 2026-04-20 02:10 UTC. Newer numbers could not be built: all.psv: empty" in text
        found = answer(*asked, root=own_home.root)
        assert (found["is_stale"], found["built_at"]) == (True, "2026-04-20T02:10:00Z")

    def test_the_answer_says_of_which_time_it_is(self, run, answer, own_home):
        change(own_home, "update marts.dim_clusters set data_through_at = '2026-04-20 02:10'")
        text = " ".join(run("--gpus", 64, "--cluster", "small", root=own_home.root).stdout.split())
        assert "as of 2026-04-20 02:10 UTC, the end of its accounting" in text
        assert "old; put newer logs there and run `faultline refresh`" in text
        assert answer("--gpus", 64, "--cluster", "small", root=own_home.root)["is_old"] is True

    def test_only_simulated_clusters_are_called_simulated(self, run, answer):
        assert "simulated" not in run("--gpus", 64, "--cluster", "small").stdout
        assert [answer("--gpus", 64, "--cluster", name)["is_simulated"] for name in ("large", "small")] == [True, False]

    def test_nothing_is_certain(self, run):
        text = run("--gpus", 16_384, "--rate", 6.5).stdout
        assert "0.9 is reached with probability under 0.1%" in text
        assert "no interval leads to an expected ETTR of 0.9" in text
        assert "taken as known" in text

    def test_the_ratio_is_named_by_the_time_it_counts(self, run):
        asked = ("--gpus", 1024, "--rate", 6.5)
        assert "progress over scheduled time, without a queue" in run(*asked).stdout
        assert "progress over queued and scheduled time, as the paper" in run(*asked, "--queue", "60m").stdout

    def test_a_run_that_fails_all_the_time_makes_no_progress(self, run, answer):
        text = run("--gpus", 16_384, "--rate", 300_000).stdout
        assert "under 0.001 with any interval: at this rate the run makes no progress" in text
        rare = run("--gpus", 16_384, "--rate", 6.5, "--checkpoint", "1d").stdout
        assert "under 0.001 with a checkpoint every 1440 min (under 0.001 by the published form)" in rare
        assert answer("--gpus", 16_384, "--rate", 300_000)["probability_ettr_ge_target"] == 0.0


class TestRefusals:
    def test_several_clusters_and_none_named(self, run):
        result = run("--gpus", 64)
        assert result.exit_code == 2
        assert "empty, large, quiet, small, untracked" in said(result)

    def test_a_cluster_that_is_not_there(self, run):
        result = run("--gpus", 64, "--cluster", "nope")
        assert result.exit_code == 2
        assert "no cluster 'nope'; there are: empty, large" in said(result)

    def test_a_cluster_whose_data_cannot_tell(self, run):
        result = run("--gpus", 64, "--cluster", "empty")
        assert (result.exit_code, result.stdout) == (1, "")
        assert said(result) == (
            "faultline: cluster 'empty' has no failure rate: no attempt ran; "
            "`faultline doctor` says which logs are missing, or give --rate"
        )

    def test_a_cluster_of_which_too_little_was_seen(self, own_home, run):
        change(
            own_home,
            "update estimates.est_failure_rates set has_enough_data = false, "
            "note = 'too little to tell: four minutes' where cluster_id = 'large'",
        )
        result = run("--gpus", 64, "--cluster", "large", root=own_home.root)
        assert (result.exit_code, result.stdout) == (1, "")
        assert said(result) == (
            "faultline: cluster 'large': too little to tell: four minutes; --rate plans with a rate that you give"
        )
        assert run("--gpus", 64, "--rate", 6.5, root=own_home.root).exit_code == 0

    def test_unknown_gpus_per_node(self, own_home, run):
        change(own_home, "update marts.dim_clusters set gpus_per_node = null where cluster_id = 'large'")
        result = run("--gpus", 64, "--cluster", "large", root=own_home.root)
        assert result.exit_code == 1
        assert "give --gpus-per-node" in said(result)
        assert run("--gpus", 64, "--cluster", "large", "--gpus-per-node", 8, root=own_home.root).exit_code == 0

    def test_nothing_published(self, run, tmp_path):
        result = run("--gpus", 64, root=tmp_path)
        assert result.exit_code == 1
        assert "run `faultline refresh` first" in said(result)
        assert run("--gpus", 64, "--rate", 6.5, root=tmp_path).exit_code == 0

    def test_a_warehouse_without_clusters(self, own_home, run):
        change(own_home, "delete from estimates.est_failure_rates")
        result = run("--gpus", 64, root=own_home.root)
        assert result.exit_code == 1
        assert "holds no cluster" in said(result)

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            ([], "--gpus"),
            (["--gpus", "0"], "--gpus"),
            *(
                (["--gpus", "64", "--rate", rate], "a rate lies between")
                for rate in ("0", "nan", "inf", "1e-300", "1e300")
            ),
            (["--gpus", "999999999999999999999", "--rate", "6.5"], "--gpus"),
            (["--gpus", "64", "--rate", "6.5", "--days", "1e300"], "longer than 0 days, and at most"),
            (["--gpus", "64", "--rate", "6.5", "--cluster", "large"], "not both"),
            (["--gpus", "64", "--rate", "6.5", "--target", "1.5"], "an ETTR lies between 0 and 1"),
            (["--gpus", "64", "--rate", "6.5", "--days", "0"], "longer than 0 days"),
            (["--gpus", "64", "--rate", "6.5", "--checkpoint", "0m"], "an interval is longer than 0"),
            (["--gpus", "64", "--rate", "6.5", "--write", "5"], "'5' is no duration; write 30s, 5m or 1h"),
            (["--gpus", "64", "--rate", "6.5", "--gpus-per-node", "0"], "--gpus-per-node"),
            (["--gpus", "64", "--rate", "6.5", "--spares", "-1"], "no number of nodes; write 4, or none"),
        ],
    )
    def test_wrong_usage(self, run, arguments, words):
        result = run(*arguments)
        assert (result.exit_code, result.stdout) == (2, "")
        assert words in said(result)
