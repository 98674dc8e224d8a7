"""Which edition of the methods an estimate was made by, said beside every value, so that editions are not mixed."""

from __future__ import annotations

METHOD_VERSION = "4"
"""Raised whenever the same logs would give other numbers.

1: failures by the hard rule of the attribution window, plain Poisson limits, finished attempts only.
2: failures weighted by their posterior probability, limits that know incidents and months, running attempts as
   exposure, all inside the study period.
3: posterior probabilities are means over the parameters that the data allow; what maintenance requeues is censored.
4: what tells a cause is told by the other causes; strata are struck by exposure as far as they are seen to be.
"""
