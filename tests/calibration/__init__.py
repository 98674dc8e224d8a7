"""Compares simulated clusters with the paper: each value of the paper, the simulated value, and whether they agree.

`python -m tests.calibration` simulates both clusters and prints the table.
"""

from tests.calibration.clusters import Totals, compare, total
from tests.calibration.observed import Observed
from tests.calibration.rows import Row
from tests.calibration.sheets import calibrate
from tests.calibration.table import render

__all__ = ["Observed", "Row", "Totals", "calibrate", "compare", "render", "total"]
