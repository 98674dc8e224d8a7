"""`faultline plan`: its caveats on a rate that may not hold, its refusals and their exit status."""

import pytest

from tests.homes import change

LARGE = ("--gpus", 64, "--cluster", "large")
GIVEN = ("--gpus", 64, "--rate", 6.5)


def said(result):
    """The message of a refusal, without the frame that wraps it."""
    return " ".join(result.stderr.replace("│", " ").split())


def test_a_rate_that_does_not_hold_for_this_size_says_so(run, answer, own_home):
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
    assert "jobs of this size lasted 8 hours between failures (7 to 9, 40 failures)" in text
    falls = "the failure rate per node falls with the size of the job"
    change(own_home, "update estimates.est_scale_tests set has_enough_data = false")
    assert falls in text and falls not in run(*arguments, root=own_home.root).stdout
    assert answer(*arguments, root=own_home.root)["mttf_hours_measured_high"] == 9
    beyond = " ".join(answer("--gpus", 100_000, "--cluster", "large")["notes"])
    assert "larger than any job seen (1,024 GPUs)" in beyond and "larger than the cluster" in beyond


def test_how_far_the_evidence_reaches_and_what_is_not_in_the_rate_is_said_with_it(answer, own_home):
    words = "checks saw about 55% [40, 70] of what ended jobs: the true rate is likely above"
    change(
        own_home,
        "create or replace table estimates.est_evidence_reach as select 'large' as cluster_id, "
        "null::date as month_date, 0.55 as reach, 0.4 as low, 0.7 as high, $1 as statement, null::varchar as note",
        values=[words],
    )
    found = answer(*LARGE, root=own_home.root)
    assert [found[f"evidence_reach{end}"] for end in ("", "_low", "_high")] == [0.55, 0.4, 0.7]
    assert found["evidence_note"] == words
    reclaimed = "machines that the cloud could not give or took back"
    assert reclaimed not in " ".join(found["notes"])
    change(
        own_home,
        "update estimates.est_evidence_reach set statement = null, note = 'too few failures'",
        "create or replace table estimates.est_lost_gpu_hours as select 'large' as cluster_id, 'capacity' as loss",
    )
    found = answer(*LARGE, root=own_home.root)
    assert found["evidence_note"] is None, "silent, as the report is"
    assert reclaimed in " ".join(found["notes"])


@pytest.mark.parametrize(
    ("changes", "arguments", "words"),
    [
        ((), ("--gpus", 64, "--cluster", "empty"), "no failure rate: no attempt ran; `faultline doctor`"),
        (("update estimates.est_failure_rates set has_enough_data = false, note = 'too little to tell: x'",), LARGE,
         "too little to tell: x; --rate plans with a rate that you give"),
        (("update marts.dim_clusters set gpus_per_node = null",), LARGE, "give --gpus-per-node"),
        (("delete from estimates.est_failure_rates",), ("--gpus", 64), "holds no cluster"),
    ],
)  # fmt: skip
def test_what_the_data_cannot_tell_is_refused_with_what_to_do(own_home, run, changes, arguments, words):
    change(own_home, *changes)
    result = run(*arguments, root=own_home.root)
    assert (result.exit_code, result.stdout) == (1, "")
    assert words in said(result)
    assert run(*GIVEN, root=own_home.root).exit_code == 0, "a given rate needs none of it"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "--gpus"),
        (["--gpus", "0"], "--gpus"),
        (["--gpus", "64"], "empty, large, quiet, small, untracked"),
        (["--gpus", "64", "--cluster", "nope"], "no cluster 'nope'; there are: empty, large"),
        (["--gpus", "999999999999999999999", "--rate", "6.5"], "--gpus"),
        *((["--gpus", "64", "--rate", rate], "a rate lies between") for rate in ("0", "nan", "inf", "1e-300", "1e300")),
        *(([*map(str, GIVEN), *more], words) for *more, words in (
            ("--days", "1e300", "longer than 0 days, and at most"), ("--days", "0", "longer than 0 days"),
            ("--cluster", "large", "not both"), ("--target", "1.5", "an ETTR lies between 0 and 1"),
            ("--checkpoint", "0m", "an interval is longer than 0"), ("--gpus-per-node", "0", "--gpus-per-node"),
            ("--write", "5", "'5' is no duration; write 30s, 5m or 1h"), ("--spares", "-1", "no number of nodes"),
        )),
    ],
)  # fmt: skip
def test_wrong_usage(run, arguments, words):
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert words in said(result)
