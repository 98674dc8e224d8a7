"""The form into which accounting of other shapes is translated: the texts that `sacct -P` prints, in a fixed order."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from assets.sources.intake.read.json_records import Damaged
from assets.sources.reader import SetAside
from assets.sources.sacct.columns import FIELDS
from assets.sources.sacct.layout import Layout

DELIMITER = "\x1f"
TRANSLATED = Layout(DELIMITER, FIELDS)
WITHOUT_NODES = Layout(DELIMITER, tuple(field for field in FIELDS if field != "NodeList"))
"""For exports that do not say which nodes a job had. That differs from a job without nodes."""

_NOTHING = {None: "", True: "1", False: "0"}
_LINE = str.maketrans({DELIMITER: " ", "\n": "\\n", "\r": "\\r", "\0": " "})


def record_line(texts: Mapping[str, Any], layout: Layout = TRANSLATED) -> str:
    r"""Write what is known of a record as a line of a layout; what is not known is empty.

    >>> record_line({"JobIDRaw": 7, "JobName": "a\nb"}, Layout("|", ("JobIDRaw", "JobName", "State")))
    '7|a\\nb|'
    """
    return layout.delimiter.join(_text(texts.get(name)) for name in layout.columns)


def _text(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return _NOTHING[value]
    return str(value).translate(_LINE)


def damaged_line(damaged: Damaged) -> SetAside:
    """Set text aside that is no record."""
    reason = "truncated_record" if damaged.is_cut else "bad_json"
    return SetAside(damaged.text, reason, damaged.detail, has_lost_end=damaged.has_lost_end)


def strange_line(value: Any, detail: str) -> SetAside:
    """Set a record aside that does not say what it should."""
    return SetAside(json.dumps(value), "unsupported_schema", detail)
