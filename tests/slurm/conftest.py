"""The scenarios of the workload are no module: they run inside the testbed's module."""

collect_ignore = ["more_faults.py"]
