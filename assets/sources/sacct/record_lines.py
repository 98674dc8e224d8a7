"""Lines into which accounting of other forms is translated: the texts that `sacct -P` prints, in a fixed order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assets.sources.sacct.columns import FIELDS
from assets.sources.sacct.layout import Layout

DELIMITER = "\x1f"
TRANSLATED = Layout(DELIMITER, FIELDS)

_NOTHING = {None: "", True: "1", False: "0"}
_LINE = str.maketrans({DELIMITER: " ", "\n": "\\n", "\r": "\\r", "\0": " "})


def record_line(texts: Mapping[str, Any], layout: Layout = TRANSLATED) -> str:
    r"""Return a record as a line of a layout; unknown fields are empty.

    >>> record_line({"JobIDRaw": 7, "JobName": "a\nb"}, Layout("|", ("JobIDRaw", "JobName", "State")))
    '7|a\\nb|'
    """
    return layout.delimiter.join(_text(texts.get(name)) for name in layout.columns)


def _text(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return _NOTHING[value]
    return str(value).translate(_LINE)
