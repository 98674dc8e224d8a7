"""Tables that grow row by row during a simulation and are read column by column afterwards.

While a table grows, its columns are typed arrays of the standard library, because appending to them is cheap. A frozen
table has numpy arrays.
"""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np
from numpy.typing import NDArray

CODES = {np.int32: "i", np.int8: "b", np.bool_: "B"}
"""Type code of a growing column, by the numpy type of the frozen one. Booleans grow as bytes."""
DTYPES = {code: dtype for dtype, code in CODES.items()}


class Columns:
    """A table with typed columns.

    Parameters
    ----------
    numbers
        Names of the columns of 32-bit integers, separated by spaces.
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
        """Add a row and return its number. A column that is left out is zero; an unknown name is an error."""
        row = len(self)
        for column in self._data.values():
            column.append(0)
        for name, value in values.items():
            self._data[name][row] = int(value)
        return row

    def __getitem__(self, name: str) -> Any:
        """Return a column, which can be read and written. It is a numpy array once the table is frozen."""
        return self._data[name]

    def appenders(self, names: str) -> tuple[Any, ...]:
        """Return the `append` methods of all columns, to add millions of rows quickly.

        Raises
        ------
        ValueError
            When a column is left out or named twice, because the columns would then differ in length.
        """
        if sorted(names.split()) != sorted(self._data):
            raise ValueError(f"columns are {sorted(self._data)}, got {sorted(names.split())}")
        return tuple(self._data[name].append for name in names.split())

    def freeze(self) -> None:
        """Turn every column into a numpy array. No row can be added after that."""
        lengths = {len(column) for column in self._data.values()}
        if len(lengths) > 1:
            raise RuntimeError(f"columns of one table have lengths {sorted(lengths)}")
        self._data = {name: _frozen(column) for name, column in self._data.items()}


def _frozen(column: Any) -> NDArray[Any]:
    dtype = DTYPES[column.typecode]
    return np.frombuffer(column, dtype) if len(column) else np.zeros(0, dtype)


class Ragged:
    """Lists of integers, stored as one array of values and one of the places where each list begins."""

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
