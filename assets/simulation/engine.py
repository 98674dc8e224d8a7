"""Connects the parts of the simulation and runs the clock. The result is a ledger of what happened."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from assets.simulation.faults import Faults
from assets.simulation.jobs import Jobs
from assets.simulation.ledger import Ledger
from assets.simulation.nodes import NodePool
from assets.simulation.profiles import Profile
from assets.simulation.recurring import HiddenFaults, Relapses
from assets.simulation.scheduler import Scheduler
from assets.simulation.service import Service
from assets.simulation.strikes import Strikes
from assets.simulation.workload import draw_workload
from assets.simulation.world import Clock, World


def simulate_cluster(profile: Profile, rng: np.random.Generator, progress: Callable[[float], None]) -> Ledger:
    """Simulate a cluster from its first midnight to its last, and report the share of time that has passed.

    The same state of the random generator gives the same ledger.
    """
    workload_rng, events_rng, months_rng, alarms_rng, hidden_rng, relapses_rng = rng.spawn(6)
    world = World(profile, Clock(), NodePool(profile.node_count, profile.gpus_per_node), Ledger(), events_rng)
    jobs = Jobs(world)
    scheduler = Scheduler(world, jobs)
    service = Service(world, wake=scheduler.wake)
    jobs.enqueue, jobs.freed, jobs.emptied = scheduler.enqueue, scheduler.wake, service.emptied
    jobs.kept = scheduler.keep
    workload = draw_workload(workload_rng, profile)
    faults = Faults(world, jobs, service)
    Relapses(world, faults, service, relapses_rng)
    Strikes(world, jobs, faults, service, workload, (months_rng, alarms_rng))
    HiddenFaults(world, jobs, hidden_rng)
    jobs.submissions.book(workload)
    world.clock.run(profile.horizon, progress)
    for job in scheduler.waiting():
        if jobs.waits(job):
            jobs.record_waiting(job)
    world.ledger.freeze()
    return world.ledger
