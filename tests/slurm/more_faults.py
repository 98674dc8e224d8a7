"""Three more kinds of node failure for the workload of the testbed, which runs this file after its own.

The workload defines the names (`submit`, `fault`, `Episode` ...). In each scenario one node kills a job of two nodes.
Its health check finds the fault and drains the node.
"""

# ruff: noqa: F821 -- names of the workload


def fatal_fault(start, name, kind, detail, break_node, mend_node):
    """Break a node of a running job, let the job die, and repair the node after Slurm has drained it."""
    at(start)
    # No node of another scenario: only this fault may kill the job.
    own = [wait(lambda: idle("train") and claim(idle("train")), "an idle node") for _ in range(2)]
    opts = ["--no-requeue", "--nodelist=" + ",".join(own)]
    job = submit("alice", name, p("etc/ddp.sh"), 90, nodes=2, opts=opts, expect="FAILED", cause=detail)
    running(job)
    other, node = own
    time.sleep(9)
    if JOBS[job]["JobState"] != "RUNNING":
        raise RuntimeError(f"job {job} of {name} ended before its fault")
    episode = Episode(node, kind, detail, [job])
    break_node(node)
    fault(node, "crash", detail)
    inject(kind, node, [job])
    final(job, 40)
    episode.seen("DRAIN", 60)
    time.sleep(20)
    mend_node(node)
    CLAIMED.discard(other)
    repair(episode, node)


def s_nvlink():
    def break_node(node):
        xid(node, 74, "pid=4242, name=python, NVLink: fatal error detected on link 3(0x10000, 0x0, 0x0, 0x0)", 3)

    fatal_fault(210, "nvlink-victim", "nvlink", "Xid 74 NVLink", break_node, lambda node: None)


def s_ib_crash():
    def break_node(node):
        fault(node, "ib_down", "5")
        syslog(node, "mlx5_core 0000:c5:00.0 ibp5: Link down")

    def mend_node(node):
        fault(node, "ib_down")
        syslog(node, "mlx5_core 0000:c5:00.0 ibp5: Link up")

    fatal_fault(212, "ib-victim", "ib_crash", "InfiniBand link down, NCCL aborts", break_node, mend_node)


def s_mount_crash():
    fatal_fault(
        214, "mount-victim", "mount_crash", "/checkpoint lost under a job",
        lambda node: fault(node, "mount_lost", "/checkpoint"), lambda node: fault(node, "mount_lost"),
    )  # fmt: skip


SCENARIOS.extend([s_nvlink, s_ib_crash, s_mount_crash])
