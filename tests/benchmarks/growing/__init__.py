"""The second workload: a made-up cluster of short, small jobs, unlike the simulated ones in what is dense and rare."""

from __future__ import annotations

from pathlib import Path

from tests.benchmarks.made import MadeCluster

CAMPUS = MadeCluster(
    name="growing",
    cluster="campus",
    folder=Path(__file__).parent,
    sacct=(
        "JobID|JobIDRaw|Cluster|User|Account|Partition|QOS|JobName|State|ExitCode|DerivedExitCode|Submit|Eligible|Start"
        "|End|ElapsedRaw|Suspended|NNodes|NodeList|AllocTRES|ReqTRES|TimelimitRaw|Reason|Flags|SubmitLine\n"
    ),
    timezone="Europe/Berlin",
    gpus_per_node=4,
    gpu_model="A30",
    last_day=1_704_067_200 + 86_400 * 364,
    nodes=480,
    min_nodes=12,
    days=365,
    attempts=4_000_000,
    episodes=300_000,
)
"""An episode is a check that fails about nine times and then passes: about 3 million records of checks."""
