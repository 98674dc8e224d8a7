"""The version of the methods. Every value has it, so that values of different versions are not mixed."""

from __future__ import annotations

METHOD_VERSION = "8"
"""Increase it whenever the same logs give different numbers.

1: failures by the hard rule of the attribution window, plain Poisson limits, finished attempts only.
2: failures weighted by their posterior probability, limits that allow for incidents and months, running attempts as
   exposure, all inside the study period.
3: posterior probabilities are means over the parameters that the data allow; attempts that maintenance requeues are
   censored.
4: the features of a cause are estimated from the other causes; strata are shrunk towards exposure as far as the data
   show it.
5: the fit of the probabilities converges, and failures of all strata are shrunk towards exposure; every inventory
   snapshot is evidence at its own time; predictions of runs allow for months that differ; lemons, ratios of periods and
   forecasts of nodes use the study period; running runs count their time so far; what never ran breaks no chain.
6: gaps of accounting in the study period add neither exposure nor failures; the second pass of an hour that comes twice
   and the clocks of nodes are separated; the variation of months follows from their counts; lists of lemons end with
   the study period; nodes have the GPUs of the inventory.
7: a cause is counted where a log could have shown it; components of a heterogeneous job fail once; lemons are gated by
   a bootstrap; the variation between months is a posterior.
8: the rate of machines counts every node that an incident took down; a time limit loses the work since the last
   checkpoint; the saving of taking a node out follows from its own jobs.
"""
