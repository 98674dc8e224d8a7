"""Holds simulated clusters against the paper: each of its values, what the cluster shows, and whether the two agree.

`python -m tests.calibration` simulates both clusters and prints the table.
"""

from tests.calibration.clusters import Totals, compare, total
from tests.calibration.observed import Observed
from tests.calibration.rows import Row
from tests.calibration.sheets import calibrate
from tests.calibration.table import render

__all__ = ["Observed", "Row", "Totals", "calibrate", "compare", "render", "total"]
