"""The controller's log: preemptions, drains, requeues."""
