"""Turn values of DuckDB and numpy into values of JSON."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import PurePath
from typing import Any
from uuid import UUID


def plain(value: Any) -> Any:
    """Return a value of DuckDB or a number of numpy as a value of JSON; non-finite numbers become None."""
    value = value.item() if hasattr(value, "item") else value
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Decimal):
        return float(value) if value.is_finite() else None
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set):
        return [plain(item) for item in value]
    return text_of(value)


def text_of(value: Any) -> str:
    """Return the text of a value that JSON lacks: times as ISO 8601 in UTC, bytes in hexadecimal digits."""
    if isinstance(value, datetime):
        zoned = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
        return zoned.isoformat().replace("+00:00", "Z")
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return f"PT{value.total_seconds():g}S"
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex()
    return str(value) if isinstance(value, UUID | PurePath) else repr(value)
