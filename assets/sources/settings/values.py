"""Types of the values in `cluster.toml`: their bounds, and errors that say what is allowed.

The bounds are far above any sensible value, and below what a 32-bit column or a sum of times can hold.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time
from functools import cache
from typing import Annotated
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, available_timezones

from pydantic import AfterValidator, Field

YEAR_SECONDS = 366 * 86_400
FIRST_YEAR, LAST_YEAR = 1970, 2100


def in_utc(moment: date | datetime, zone: str) -> datetime:
    """Return a date or a moment as naive UTC; without an offset it is in the given zone.

    >>> in_utc(date(2024, 7, 1), "Europe/Berlin")
    datetime.datetime(2024, 6, 30, 22, 0)
    """
    if not isinstance(moment, datetime):
        moment = datetime.combine(moment, time())
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=ZoneInfo(zone))
    return moment.astimezone(UTC).replace(tzinfo=None)


@cache  # listing all zones takes 4 ms
def known_zone(name: str) -> str:
    """Return the name if it is an IANA time zone; refuse any other."""
    if name not in available_timezones():
        raise ValueError("it must be an IANA time zone such as UTC, Europe/Berlin or America/Los_Angeles")
    return name


def no_quote_or_newline(delimiter: str) -> str:
    """Return the delimiter; refuse one that cannot stand between fields."""
    if set(delimiter) & set('"\r\n\0'):
        raise ValueError("it must not be a double quote, a line break or a zero byte")
    return delimiter


def one_character(delimiter: str) -> str:
    """Return the delimiter; refuse anything but one character that can stand between the cells of a CSV."""
    if len(delimiter) != 1:
        raise ValueError('it must be one character, such as ";" or "\\t"')
    return no_quote_or_newline(delimiter)


def strptime_format(text: str) -> str:
    """Return the format; refuse one that Python's strptime does not understand."""
    try:
        datetime.strptime("", text)
    except re.error as error:
        raise ValueError(f"it must be a format of strptime, each directive once ({error})") from error
    except ValueError as error:
        # Any other message says that the empty text does not fit, which is expected.
        if "bad directive" in str(error) or "stray" in str(error):
            raise ValueError(f'it must be a format of strptime, such as "%d.%m.%Y" ({error})') from error
    return text


def in_known_years(moment: date) -> date:
    """Return the date or moment; refuse one outside the years that logs can have."""
    if not FIRST_YEAR <= moment.year <= LAST_YEAR:
        raise ValueError(f"it must lie between {FIRST_YEAR} and {LAST_YEAR}")
    return moment


Finite = Annotated[float, Field(le=1e9, allow_inf_nan=False)]
NotNegative = Annotated[Finite, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Minutes = Annotated[float, Field(ge=0, le=YEAR_SECONDS / 60, allow_inf_nan=False)]
Seconds = Annotated[int, Field(ge=0, le=YEAR_SECONDS)]
Days = Annotated[int, Field(ge=1, le=36_600)]
Name = Annotated[str, Field(max_length=255)]
SlurmCluster = Annotated[Name, Field(pattern=r"^[A-Za-z0-9][^\s,]*$")]
Text = Annotated[str, Field(max_length=1_000)]
TimeZone = Annotated[str, AfterValidator(known_zone)]


def web_address(text: str) -> str:
    """Return the address; refuse one that nothing can be posted to."""
    try:
        parts = urlsplit(text)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("it must be an address that begins with https:// or http://")
    return text
