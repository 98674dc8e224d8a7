"""Holds simulated clusters against the paper: each of its values, what the cluster shows, and whether the two agree.

`python -m assets.simulation.calibration` simulates both clusters and prints the table.
"""

from assets.simulation.calibration.clusters import Totals, compare, total
from assets.simulation.calibration.observed import Observed
from assets.simulation.calibration.rows import Row
from assets.simulation.calibration.sheets import calibrate
from assets.simulation.calibration.table import render

__all__ = ["Observed", "Row", "Totals", "calibrate", "compare", "render", "total"]
