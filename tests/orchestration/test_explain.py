"""`faultline explain`: why a job ended, what a node went through, where a number comes from."""

import json

import pytest

from assets.report.explained.failures import NOT_SEEN
from orchestration.read_commands.explain.answering import explained
from orchestration.read_commands.published import ReadingError
from tests.homes import ask, change, copy_of, faultline

KNOWN_TO_A_TABLE = """
    select failures.attempt_id
    from marts.fct_failures as failures
    where
        failures.is_attributed
        or exists (
            select 1 from marts.fct_node_outages as outages
            where
                outages.cluster_id = failures.cluster_id and outages.node_id = failures.culprit_node_id
                and outages.started_at - failures.failed_at between interval '-5 minutes' and interval '1 hour'
        )
        or exists (
            select 1 from marts.fct_health_events as events
            where
                events.cluster_id = failures.cluster_id and events.node_id = failures.culprit_node_id
                and not events.is_repeat
                and events.observed_at - failures.failed_at between interval '-1 hour' and interval '1 hour'
        )
"""


@pytest.fixture
def explain(testbed_home):
    return lambda name, *cluster: explained(testbed_home.published_file, name, *cluster)


@pytest.fixture
def own(testbed_home, tmp_path):
    """A copy to change."""
    return copy_of(testbed_home, tmp_path)


def texts(answer):
    return dict(answer.parts)


def test_every_failure_whose_reason_a_table_knows_has_a_reason(testbed_home, explain):
    failures = [key for (key,) in ask(testbed_home, "select attempt_id from marts.fct_failures")]
    known = {key for (key,) in ask(testbed_home, KNOWN_TO_A_TABLE)}
    assert len(known) >= 8
    for key in failures:
        why = texts(explain(key))["Why"]
        assert (NOT_SEEN in why) == (key not in known), key
        assert "line" in why or key not in known


def test_a_failure_quotes_its_evidence_with_file_and_line(explain):
    answer = explain("testbed:58:1795248229")
    assert answer.kind == "failure"
    said = texts(answer)
    assert "GPU memory error, on node001" in said["What happened"]
    assert 'Double Bit ECC Error" at the end (testbed/kernel/' in said["Why"] and "is 99.4%" in said["Why"]
    assert "Slurm set node001 DOWN 57 s before the end" in said["Seen around the end"]
    assert "--exclude=node001" in said["What to do"]
    assert [event["probability"] for event in answer.rows["evidence"]] == pytest.approx([0.994], abs=0.001)


def test_a_job_has_each_attempt_and_the_nodes_to_keep_off_and_json_the_rows_they_rest_on(testbed_home):
    found = json.loads(faultline(testbed_home, "explain", "58", "--json").stdout)
    assert [(each["kind"], each["title"]) for each in found["attempts"]] == [
        ("failure", "Attempt 1 of job 58: REQUEUED"), ("attempt", "Attempt 2 of job 58: COMPLETED")
    ]  # fmt: skip
    assert "Infrastructure ended 1 of them." in found["explanation"]["In short"]
    assert "--exclude=node001" in found["explanation"]["What to do"]
    first, second = found["attempts"]
    assert first["explanation"]["Also considered"]
    assert second["explanation"]["Why"] == "It ended by itself."
    assert first["rows"]["evidence"][0]["source_path"].startswith("testbed/kernel/")


def test_who_made_room_is_told_on_both_sides_and_an_unknown_loss_is_not_zero(testbed_home, explain, own):
    (victim, _) = explain("59").attempts
    assert "make room for job 63 of user erin, which slurmctld.log names. It lost 0.0356 GPU-" in texts(victim)["Why"]
    assert "preempted for it: 59, 60, 61. They lost" in texts(explain("63"))["Who made room for it"]
    change(
        own,
        "update marts.fct_preemptions set lost_gpu_hours = null where attempt_id like 'testbed:60:%'",
        "update marts.fct_attempts set state = 'REQUEUED' where job_id = '59' and state = 'PREEMPTED'",
    )
    said = texts(explained(own.published_file, "63"))["Who made room for it"]
    assert "They lost at least" in said and said.endswith("of 1 attempt the loss is unknown.")
    assert "make room for job 63" in texts(explained(own.published_file, "59").attempts[0])["Why"]


@pytest.mark.parametrize(
    ("job", "why"),
    [
        ("39", "Its batch script ended with exit code"),
        ("21", "It reached its time limit of"),
        ("24", "used more memory than it had asked for"),
        ("55", "before its deadline"),
        ("22", "It was put back into the queue."),
    ],
)
def test_an_end_that_is_no_failure_is_explained_by_its_state(explain, job, why):
    assert why in texts(explain(job).attempts[0])["Why"]


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("delete from ops.sight", "No log of its nodes covers the day of its end, so whether a node failed is unknown"),
        ("delete from ops.sight where day_date = (select max(cast(ended_at as date)) from marts.fct_attempts where "
         "job_id = '39')", "No log of its nodes covers the day of its end, so whether a node failed is unknown"),
        ("insert into marts.fct_attempt_nodes select cluster_id, attempt_id, 'dark' from marts.fct_attempts "
         "where job_id = '39'",
         "nodes on the day of its end, so whether one of these failed is unknown. No other shows a critical fault"),
        ("delete from marts.fct_attempt_nodes using marts.fct_attempts where fct_attempts.job_id = '39' "
         "and fct_attempts.attempt_id = fct_attempt_nodes.attempt_id", "Accounting names no node of it"),
    ],
    ids=["no log at all", "no log of the day", "no log of one node", "no node"],
)  # fmt: skip
def test_what_no_log_could_show_is_not_called_a_failure_of_the_program(explain, own, statement, said):
    assert "so it counts as a failure of the program" in texts(explain("39").attempts[0])["Why"]
    change(own, statement)
    why = texts(explained(own.published_file, "39").attempts[0])["Why"]
    assert said in why
    assert "failure of the program" not in why


def test_a_node_has_one_timeline_of_all_that_logs_and_lists_tell(explain, testbed_home, own):
    answer = explain("node002")
    assert texts(answer)["Failures"].startswith("1 incident in all records: GPU unavailable (1), 0.0489 GPU-hours")
    history = answer.rows["history"]
    kinds = {entry["kind"] for entry in history}
    assert kinds >= {"boot", "failed job", "outage", "health check", "kernel", "version"}
    assert history == sorted(history, key=lambda entry: entry["observed_at"], reverse=True)
    shown = faultline(testbed_home, "explain", "node002", "--limit", 6).stdout
    assert f"{len(history) - 6} earlier entries: raise --limit" in shown
    change(
        own,
        "insert into marts.fct_unit_failures by name select 'testbed' as cluster_id, 'one' as failure_id, 'node002' as "
        "node_id, 'gpu-3' as unit_name, timestamp '2026-11-01' as started_at, timestamp '2026-11-02' as ended_at, "
        "'bad riser' as cause, 'testbed/failures/list.csv' as source_path, 4 as source_line_number",
    )
    answer = explained(own.published_file, "node002")
    assert texts(answer)["Failures"].endswith("; 1 recorded failure.")
    (entry,) = [entry for entry in answer.rows["history"] if entry["kind"] == "recorded failure"]
    assert (entry["message"], entry["source_line_number"]) == ("gpu-3: bad riser", 4)
    assert (entry["observed_at"].day, entry["until_at"].day) == (1, 2)


def test_a_number_has_its_meaning_formula_tables_and_files(explain):
    said = texts(explain("est_failure_rates.failures_per_1000_node_days"))
    for part, words in {
        "Unit": "failures per 1,000 node-days", "Method": "garwood: exact two-sided limits",
        "Formula": "weighted_interval (assets/model/incident_counts.py)",
        "Made in": "assets/estimates/est_failure_rates.py", "Tables": "raw: ",
        "Computed from": "inputs.inp_failures_counted.failure_count", "Files": "raw.sacct: 1 file, such as testbed/",
    }.items():  # fmt: skip
        assert words in said[part]
    assert "Formula" not in texts(explain("marts.fct_failures.lost_gpu_hours"))


@pytest.mark.parametrize("name", ["fct_failures", "marts.fct_failures.failure_category", "stg_sacct__records.state"])
def test_a_table_and_its_column_are_followed_to_their_files(testbed_home, name):
    found = json.loads(faultline(testbed_home, "explain", name, "--json").stdout)
    assert found["asked"].endswith(name) and any(edge[2] == "raw.sacct" for edge in found["edges"])
    assert found["files"]["raw.sacct"][0].startswith("testbed/sacct/")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nothing-here", "nothing has the name 'nothing-here'"),
        ("node002 --cluster nosuch", "there is no cluster 'nosuch'; there are: testbed"),
        ("fct_failures.no_such", "marts.fct_failures has no column 'no_such'; it has cluster_id, "),
    ],
)
def test_what_has_no_such_name_is_said_with_what_there_is(testbed_home, name, said):
    done = faultline(testbed_home, "explain", *name.split())
    assert (done.exit_code, done.stdout, said in done.stderr) == (1, "", True)


def test_a_name_of_several_things_lists_them_and_a_cluster_or_a_key_chooses(own):
    change(
        own,
        "insert into marts.dim_nodes select * replace ('other' as cluster_id) from marts.dim_nodes "
        "where node_id = 'node002'",
        "insert into marts.fct_attempts select * replace ('again' as attempt_id, 'again' as run_id) "
        "from marts.fct_attempts where job_id = '58' limit 1",
    )
    with pytest.raises(ReadingError, match="node002 of other, node002 of testbed; choose with --cluster"):
        explained(own.published_file, "node002")
    assert explained(own.published_file, "node002", "testbed").kind == "node"
    with pytest.raises(ReadingError, match=r"job 58 of testbed, .*: `faultline explain again`"):
        explained(own.published_file, "58")


def test_a_column_comes_before_a_failure_a_node_and_a_job(own, explain):
    assert explain("testbed:58:1795248229").kind == "failure"
    assert explain("58.batch").kind == "job"
    change(own, "update marts.dim_nodes set node_id = '58', node_name = '58' where node_id = 'node016'")
    assert explained(own.published_file, "58").kind == "node"


def test_an_older_publication_without_later_tables_is_explained_too(own):
    for table in ("est_repairs", "est_check_scores", "est_hidden_failures"):
        change(own, f"drop table if exists estimates.{table}")
    assert "Why" in texts(explained(own.published_file, "testbed:58:1795248229"))


REPAIRS = """
    create or replace table estimates.est_check_scores as select 'testbed' as cluster_id,
    'nvidia smi gpu_num' as check_name, 8e-1 as true_share, 6e-1 as low, 9e-1 as high, 'tune' as verdict;
    create or replace table estimates.est_location_rates as select 'testbed' as cluster_id, * from (values
    ('position', 'u3', 'both', null, 2e0, null, 3, 5e-1), ('rack', 'r7', 'fails more', 3e0, 15e-1, 6e0, 0, 1e0),
    ('switch', null, 'fails together', null, null, null, 4, 5e-1)) as places
    (place_kind, place, verdict, ratio, low, high, burst_count, expected_burst_count);
    update marts.dim_nodes set rack = 'r7', position = 'u3' where node_id = 'node002';
    create or replace table estimates.est_repairs as select 'testbed' as cluster_id, 'gpu_unavailable' as
    failure_category, 'reset' as repair_action, 'try first' as verdict, 1e-1 as relapse_30d_ratio,
    5e-2 as relapse_30d_ratio_low, 2e-1 as relapse_30d_ratio_high, 15e-1 as repair_hours;
    create or replace table estimates.est_hidden_failures as select cluster_id, 'failed_early' as kind, node_id,
    4e0 as odds_ratio, 2e0 as low, null::double as high, true as is_suspect, true as has_enough_data
    from marts.fct_attempt_nodes inner join marts.fct_attempts using (cluster_id, attempt_id)
    where job_id = '39' limit 1
"""


def test_what_is_known_of_places_repairs_checks_and_suspects_is_told_with_them(own):
    change(own, REPAIRS)
    place = texts(explained(own.published_file, "node002"))["Its place"]
    assert "position u3 fails at least 2.00 times as often as the rest" in place
    assert "lost several nodes at once 3 times, where chance gives 0.500" in place
    assert "rack r7 fails 3.00 times as often as the rest (1.50 to 6.00)" in place
    job = explained(own.published_file, "56")
    assert texts(job)["What to do"] == "Whether to leave out node002 is unknown: too little data."
    (failure,) = job.attempts
    assert texts(failure)["Repair to try first"] == (
        "reset: after it 10.0% (5.00% to 20.0%) come back within 30 days. It takes 1.50 h."
    )
    assert "80.0% of its onsets were true (60.0% to 90.0%); verdict: tune." in texts(failure)["Is the check right?"]
    change(own, "update estimates.est_check_scores set true_share = null, verdict = 'cannot tell'")
    assert ": too few alarms" in texts(explained(own.published_file, "56").attempts[0])["Is the check right?"]
    (attempt,) = explained(own.published_file, "39").attempts
    assert "is a suspect: the same users' jobs end so (failed early) with 4.00 times the odds" in texts(attempt)["Why"]
    # no suspect if the job ran for long, or with too little data
    for changes in (
        ["update marts.fct_attempts set runtime_seconds = 18000 where job_id = '39'"],
        ["update marts.fct_attempts set runtime_seconds = 20 where job_id = '39'",
         "update estimates.est_hidden_failures set has_enough_data = false"],
    ):  # fmt: skip
        change(own, *changes)
        (attempt,) = explained(own.published_file, "39").attempts
        assert "is a suspect" not in texts(attempt)["Why"]
