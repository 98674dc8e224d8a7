"""Turns the ledger's numpy columns into Arrow columns: whole numbers, times, and names as dictionaries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def whole(values: NDArray[Any]) -> pa.Array:
    """Convert whole numbers of any width to 64 bits."""
    return pa.array(values.astype(np.int64, copy=False))


def epochs(first_midnight: int, seconds: NDArray[Any]) -> pa.Array:
    """Convert simulated seconds to epoch seconds, and -1 to null."""
    return pa.array(first_midnight + seconds.astype(np.int64), mask=seconds < 0)


def named(codes: NDArray[Any], names: Sequence[str]) -> pa.Array:
    """Convert numbers of names to a dictionary column. A negative number becomes null."""
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32), mask=codes < 0), pa.array(list(names)))
