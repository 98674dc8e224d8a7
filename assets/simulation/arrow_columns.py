"""The ledger's numpy columns as columns of Arrow: whole numbers, times, names stored once and referred to by number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def whole(values: NDArray[Any]) -> pa.Array:
    """Give whole numbers of any width as 64-bit ones."""
    return pa.array(values.astype(np.int64, copy=False))


def epochs(first_midnight: int, seconds: NDArray[Any]) -> pa.Array:
    """Turn simulated seconds into epoch seconds, -1 into null."""
    return pa.array(first_midnight + seconds.astype(np.int64), mask=seconds < 0)


def named(codes: NDArray[Any], names: Sequence[str]) -> pa.Array:
    """Refer to names by number; a negative number is null."""
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32), mask=codes < 0), pa.array(list(names)))
