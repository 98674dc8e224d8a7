"""The ledger: everything that happened in a simulation, as tables. Logs and truth are written from it alone.

Times are seconds since the first day's midnight. -1 means not yet, never, or none. While a table grows, its columns are
typed arrays of the standard library, because appending to them is cheap; a frozen table has numpy arrays.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

NAME_BITS = 20
"""A run's name consists of a family and a number of this many bits."""
CODES = {np.int32: "i", np.int8: "b", np.bool_: "B"}
"""Type code of a growing column, by the numpy type of the frozen one. Booleans grow as bytes."""


class Columns:
    """A table with columns of 32-bit integers, of numbers from -128 to 127 (`small`) and of booleans (`flags`)."""

    def __init__(self, numbers: str, small: str = "", flags: str = "") -> None:
        self._data: dict[str, Any] = {}
        for dtype, names in ((np.int32, numbers), (np.int8, small), (np.bool_, flags)):
            self._data |= {name: array(CODES[dtype]) for name in names.split()}

    def __len__(self) -> int:
        return len(next(iter(self._data.values())))

    def append(self, **values: int) -> int:
        """Add a row and return its number. A column that is left out is zero; an unknown name is an error."""
        row = len(self)
        for name, column in self._data.items():
            column.append(int(values.pop(name, 0)))
        if values:
            raise KeyError(f"there is no column {next(iter(values))}")
        return row

    def __getitem__(self, name: str) -> Any:
        """Return a column, which can be read and written. It is a numpy array once the table is frozen."""
        return self._data[name]

    def freeze(self) -> None:
        """Turn every column into a numpy array. No row can be added after that."""
        self._data = {name: _frozen(column) for name, column in self._data.items()}


def _frozen(column: Any) -> NDArray[Any]:
    dtype = next(dtype for dtype, code in CODES.items() if code == column.typecode)
    return np.frombuffer(column, dtype) if len(column) else np.zeros(0, dtype)


class Ragged:
    """Lists of integers, stored as an array of values and an array of the start of each list."""

    def __init__(self) -> None:
        self.values: Any = array(CODES[np.int32])
        self.starts: Any = array("q", [0])

    def append(self, values: list[int]) -> None:
        """Add a list."""
        self.values.extend(values)
        self.starts.append(len(self.values))

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, row: int) -> Any:
        return self.values[self.starts[row] : self.starts[row + 1]]

    def freeze(self) -> None:
        """Turn both arrays into numpy arrays. A list is then a view."""
        self.values = _frozen(self.values)
        self.starts = np.frombuffer(self.starts, np.int64)


@dataclass
class Symptoms:
    """What a fault shows: kernel lines with their offset from the fault in seconds, failing checks, and a reason."""

    kernel: list[tuple[float, str]] = field(default_factory=list)
    checks: list[tuple[str, str]] = field(default_factory=list)
    reason: str = "Not responding"
    others: tuple[str, ...] = ()


class Ledger:
    """All tables of a simulation. The writers get it frozen, with numpy arrays as columns."""

    def __init__(self) -> None:
        # Pieces of work; a name is the family's number shifted by NAME_BITS, plus a number.
        self.runs = Columns(
            "user gpus segments_left retries segment_seconds limit name checkpoint",
            "qos",
            "can_requeue failed_by_fault",
        )
        # Job ids, in order of submission, and the nodes that some submissions excluded.
        self.jobs = Columns(
            "job_id run user gpus limit left submit eligible first_submit attempts "
            "array_id array_task app_xid exit_code exit_signal",
            "qos outcome",
            "can_requeue",
        )
        self.excludes: dict[int, tuple[int, ...]] = {}
        # Allocations, and jobs cancelled or waiting without one. `mask` has the GPUs on each node as bits.
        self.attempts = Columns(
            "job submit eligible start end productive requeued_at number exit_code exit_signal app_xid mask",
            "state",
            "backfilled",
        )
        self.nodes = Ragged()  # under the same row number
        self.faults = Columns(
            "at detected cleared incident epilog_job checks_from node cause",
            "mechanism gpu",
            "is_permanent is_shared has_evidence",
        )
        self.symptoms: list[Symptoms] = []  # under the same row number
        # Attempts that a fault or planned work ended, or that a hidden fault ends unless something else does first.
        self.failures = Columns("attempt fault at node")
        self.planned_ends = Columns("attempt at node")
        self.hidden_ends = Columns("attempt fault")
        self.relapses = Columns("fault repaired")
        # Start of each calendar month and the factor on its rate of faults; empty if months do not differ.
        self.month_factors: list[tuple[int, float]] = []
        self.preemptions = Columns("victim instigator at", flags="is_named is_second_order")
        # Intervals of a node out of service with one state and reason; the reasons under the same row number.
        self.outages = Columns("requested start end fault ticket node", flags="is_down is_silent by_slurm is_planned")
        self.reasons: list[str] = []
        self.reboots = Columns("at node")

    def freeze(self) -> None:
        """End the recording: every column becomes a numpy array."""
        for table in vars(self).values():
            if isinstance(table, Columns | Ragged):
                table.freeze()

    def drained_faults(self) -> NDArray[np.int64]:
        """Return the rows of the faults for which a node was taken out of service."""
        faults: NDArray[np.int64] = np.unique(self.outages["fault"]).astype(np.int64)
        return faults[faults >= 0]

    def gpus(self) -> Any:
        """Return the number of GPUs of every attempt of a frozen ledger."""
        return self.jobs["gpus"][self.attempts["job"]]

    def held_seconds(self, horizon: int) -> Any:
        """Return how long every attempt of a frozen ledger held its nodes."""
        starts, ends = self.attempts["start"], self.attempts["end"]
        return np.where(starts >= 0, np.where(ends >= 0, ends, horizon) - starts, 0).clip(0)
