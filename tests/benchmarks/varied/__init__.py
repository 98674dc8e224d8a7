"""The third workload: a made-up cluster whose checks say much in many words, and whose large jobs hold any free nodes.

Every check that the seeds know reports, with a wording for every rule (`messages.csv`). One user has a third of all
attempts, and one node has ten times the failed checks of others.
"""

from __future__ import annotations

from pathlib import Path

from orchestration.settings.home import DBT_PROJECT
from tests.benchmarks.made import MadeCluster

MESSAGES = Path(__file__).with_name("messages.csv")
FOUNDRY = MadeCluster(
    name="varied",
    cluster="foundry",
    folder=Path(__file__).parent,
    sacct=(
        "Cluster|JobID|JobIDRaw|State|Submit|Eligible|Start|End|ElapsedRaw|NNodes|AllocTRES|ReqTRES|NodeList|Partition"
        "|QOS|User|Account|JobName|ExitCode|TimelimitRaw|Reason|WorkDir\n"
    ),
    timezone="America/Chicago",
    gpus_per_node=8,
    gpu_model="H100",
    last_day=1_736_899_200 + 86_400 * 239,
    nodes=1_600,
    min_nodes=40,
    days=240,
    attempts=4_000_000,
    episodes=350_000,
    variables={"messages": str(MESSAGES), "check_names": str(DBT_PROJECT / "seeds" / "health_checks.csv")},
)
