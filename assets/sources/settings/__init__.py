"""`cluster.toml`: the settings of a cluster, with defaults; an error on anything else lists what is allowed.

`sections` has a class per table of the file, `cluster` the whole file, `values` the types and bounds of values, and
`reading` reads a file and explains its errors. The text below a key is its documentation.
"""

from assets.sources.settings.cluster import ClusterSettings, Settings
from assets.sources.settings.ownership import Untrusted
from assets.sources.settings.pull import Pull
from assets.sources.settings.reading import MAX_ERRORS, MAX_SETTINGS_BYTES, read_settings, warnings_of
from assets.sources.settings.sections import CAUSE, KINDS, ColumnMap, FailureCategory, Failures, Nodes, Section, Tickets
from assets.sources.settings.values import in_utc

__all__ = [
    "CAUSE",
    "KINDS",
    "MAX_ERRORS",
    "MAX_SETTINGS_BYTES",
    "ClusterSettings",
    "ColumnMap",
    "FailureCategory",
    "Failures",
    "Nodes",
    "Pull",
    "Section",
    "Settings",
    "Tickets",
    "Untrusted",
    "in_utc",
    "read_settings",
    "warnings_of",
]
