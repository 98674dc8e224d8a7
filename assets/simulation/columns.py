"""Tables that grow row by row while a cluster is simulated and are read column by column afterwards.

Compact typed arrays of the standard library while they grow, because appending to them is cheap; numpy once frozen.
"""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np
from numpy.typing import NDArray

CODES = {np.int32: "i", np.int8: "b", np.bool_: "B"}
"""Type code of a growing column by the type it has once frozen; flags grow as bytes."""
DTYPES = {code: dtype for dtype, code in CODES.items()}


class Columns:
    """A table with typed columns.

    Parameters
    ----------
    numbers
        Names of the columns of 32-bit integers, separated by blanks.
    small
        Names of the columns of numbers from -128 to 127.
    flags
        Names of the boolean columns.
    """

    def __init__(self, numbers: str, small: str = "", flags: str = "") -> None:
        self._data: dict[str, Any] = {}
        for dtype, names in ((np.int32, numbers), (np.int8, small), (np.bool_, flags)):
            self._data |= {name: array(CODES[dtype]) for name in names.split()}

    def __len__(self) -> int:
        return len(next(iter(self._data.values())))

    def append(self, **values: int) -> int:
        """Add a row and give its number; a column left out is zero, a name that is no column is an error."""
        row = len(self)
        for column in self._data.values():
            column.append(0)
        for name, value in values.items():
            self._data[name][row] = int(value)
        return row

    def __getitem__(self, name: str) -> Any:
        """Give a column: an array to index and to write into, a numpy array once the table is frozen."""
        return self._data[name]

    def appenders(self, names: str) -> tuple[Any, ...]:
        """Give the `append` of each column, for rows that come by the million; every column must be among them.

        Raises
        ------
        ValueError
            When a column is left out or named twice: the table's columns would no longer have the same length.
        """
        if sorted(names.split()) != sorted(self._data):
            raise ValueError(f"columns are {sorted(self._data)}, got {sorted(names.split())}")
        return tuple(self._data[name].append for name in names.split())

    def freeze(self) -> None:
        """Turn every column into a numpy array; nothing can be appended any more."""
        lengths = {len(column) for column in self._data.values()}
        if len(lengths) > 1:
            raise RuntimeError(f"columns of one table have lengths {sorted(lengths)}")
        self._data = {name: _frozen(column) for name, column in self._data.items()}


def _frozen(column: Any) -> NDArray[Any]:
    dtype = DTYPES[column.typecode]
    return np.frombuffer(column, dtype) if len(column) else np.zeros(0, dtype)


class Ragged:
    """Lists of small integers, one after another: values and where each list begins."""

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
        """Turn both parts into numpy arrays; a list is then a view."""
        self.values = _frozen(self.values)
        self.starts = np.frombuffer(self.starts, np.int64)
