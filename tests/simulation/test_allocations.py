"""The written logs have no overlaps: GPUs, nodes out of service, run times, limits, identities."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

from tests.simulation.simulated import Row, Simulated, epoch

FAR = 2**60


def test_no_gpu_is_given_twice(demo: Simulated) -> None:
    spans: dict[tuple[str, int], list[tuple[int, int]]] = defaultdict(list)
    for row in demo.truth("attempts"):
        mask = row["gpu_mask"]
        for node in row["nodes"]:
            for gpu in range(8):
                if mask >> gpu & 1:
                    spans[node, gpu].append((row["started_epoch"], row["ended_epoch"] or FAR))
    assert len(spans) == 64 * 8
    for key, held in spans.items():
        held.sort()
        assert all(first[1] <= second[0] for first, second in pairwise(held)), key


def outages(demo: Simulated) -> dict[str, list[tuple[int, int]]]:
    spans: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for row in demo.psv("events/events.psv"):
        if row["NodeName"]:
            start = epoch(row["TimeStart"])
            assert start is not None
            spans[row["NodeName"]].append((start, epoch(row["TimeEnd"]) or FAR))
    return spans


def test_no_job_runs_on_a_node_out_of_service(demo: Simulated) -> None:
    spans = outages(demo)
    assert sum(map(len, spans.values())) > 10
    assert all(first[1] <= second[0] for held in spans.values() for first, second in pairwise(sorted(held)))
    for row in demo.attempts():
        for node in row["nodes"]:
            for low, high in spans.get(node, []):
                assert (row["End"] or FAR) <= low or row["Start"] >= high, (row["JobID"], node)


def test_gangs_have_whole_nodes_and_small_jobs_share_one(demo: Simulated) -> None:
    for row in demo.attempts():
        if row["nodes"]:
            assert len(row["nodes"]) == max(1, row["gpus"] // 8) == int(row["NNodes"])


def test_times_account_for_each_other(demo: Simulated) -> None:
    for row in demo.attempts():
        if row["Start"] is None:
            assert row["state"] in ("PENDING", "CANCELLED")
            assert row["ElapsedRaw"] == "0"
            continue
        assert row["Submit"] <= row["Eligible"] <= row["Start"]
        if row["End"] is not None:
            assert int(row["ElapsedRaw"]) == row["End"] - row["Start"] >= 0
        assert int(row["ElapsedRaw"]) <= int(row["TimelimitRaw"]) * 60 <= 7 * 86_400


def by_job(demo: Simulated) -> dict[str, list[Row]]:
    jobs: dict[str, list[Row]] = defaultdict(list)
    for row in demo.attempts():
        jobs[row["JobIDRaw"]].append(row)
    for rows in jobs.values():
        rows.sort(key=lambda row: row["Submit"])
    return jobs


def test_a_requeue_keeps_the_id_and_resets_the_submit_time(demo: Simulated) -> None:
    requeued = [rows for rows in by_job(demo).values() if len(rows) > 1]
    assert len(requeued) > 50
    for rows in requeued:
        for first, second in pairwise(rows):
            assert first["state"] in ("PREEMPTED", "NODE_FAIL", "REQUEUED")
            assert 1 <= second["Submit"] - first["End"] <= 5
            assert second["Eligible"] - second["Submit"] == 121


def test_every_record_is_an_attempt_of_the_truth(demo: Simulated) -> None:
    logged = {(int(row["JobIDRaw"]), row["Submit"]): row for row in demo.attempts()}
    truth = {(row["job_id_raw"], row["submitted_epoch"]): row for row in demo.truth("attempts")}
    assert logged.keys() == truth.keys()
    assert len(logged) == len(demo.attempts())
    for key, row in logged.items():
        planted = truth[key]
        assert (row["state"], row["Start"], row["End"], row["nodes"], row["gpus"]) == (
            planted["state"], planted["started_epoch"], planted["ended_epoch"], planted["nodes"],
            planted["gpu_count"] if planted["nodes"] else 0,
        )  # fmt: skip
