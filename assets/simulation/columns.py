"""Tables that grow row by row and are read column by column: numpy underneath, capacity doubled when full."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


class Columns:
    """A table with typed columns.

    Parameters
    ----------
    numbers
        Integer type to the names of its columns, separated by blanks.
    flags
        Names of the boolean columns.
    """

    def __init__(self, numbers: dict[type[np.signedinteger[Any]], str], flags: str = "") -> None:
        self._data: dict[str, NDArray[Any]] = {}
        self._rows = 0
        for dtype, names in numbers.items():
            self._data |= {name: np.zeros(256, dtype) for name in names.split()}
        self._data |= {name: np.zeros(256, np.bool_) for name in flags.split()}

    def __len__(self) -> int:
        return self._rows

    def append(self, **values: int | float | bool) -> int:
        """Add a row and give its number; a column left out is zero, a name that is no column is an error."""
        row = self._rows
        if row == len(next(iter(self._data.values()))):
            self._data = {name: np.concatenate([data, np.zeros_like(data)]) for name, data in self._data.items()}
        for name, value in values.items():
            self._data[name][row] = value
        self._rows += 1
        return row

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Give the column's rows so far as a view: writing into it writes the table."""
        return self._data[name][: self._rows]
