"""Runs tasks in forked processes, which share what this process holds without copying it. Linux only.

Elsewhere a fork is not safe once threads run, and to copy what a task reads to a new process costs more than it saves.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from typing import Any

PROCESSES = 2
"""This many tasks run at a time."""

Task = Callable[[Callable[[Any], None]], None]
"""What is run. It gets a function that sends a message to the process that waits."""


def can_run_side_by_side() -> bool:
    """Tell whether processes can be forked here, and a second one has a processor."""
    return sys.platform == "linux" and (os.cpu_count() or 1) > 1


def run_side_by_side(tasks: Mapping[str, Task]) -> Iterator[tuple[str, Any]]:
    """Run the tasks, and yield the name of a task with each message that it sends, and with None when it has ended.

    Raises
    ------
    Exception
        What a task raises. The others are stopped.
    RuntimeError
        When a task ended without an exception, for example because it was killed.
    """
    context, waiting = multiprocessing.get_context("fork"), list(tasks)
    running: dict[Connection, ForkProcess] = {}
    try:
        while waiting or running:
            while waiting and len(running) < PROCESSES:
                name = waiting.pop(0)
                messages, sender = context.Pipe(duplex=False)
                running[messages] = context.Process(target=_run_and_leave, args=(tasks[name], sender), name=name)
                running[messages].start()
                sender.close()
            ready = set(wait(list(running)))
            for messages, process in [pair for pair in running.items() if pair[0] in ready]:
                try:
                    message = messages.recv()
                except EOFError:
                    _require_success(running.pop(messages))
                    message = None
                if isinstance(message, Exception):
                    raise message
                yield process.name, message
    finally:
        for process in running.values():
            process.terminate()


def _require_success(process: ForkProcess) -> None:
    process.join()
    if process.exitcode:
        raise RuntimeError(f"{process.name} ended with exit status {process.exitcode}")


def _run_and_leave(task: Task, sender: Connection) -> None:
    # Ctrl-C reaches all processes at once. Only the one that waits acts on it: it stops this one by SIGTERM, and by its
    # exit this one stops those that it has started.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        task(sender.send)
    except Exception as error:  # noqa: BLE001 -- is raised in the process that waits
        sender.send(error)
    # The exit does not flush the shared streams: a thread of the progress bar may have held their lock at the fork.
    os._exit(0)
